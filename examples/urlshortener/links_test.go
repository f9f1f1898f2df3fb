package main

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
)

func TestALinkHasOneCodeUntilItIsDeletedAndAnotherOneAfterwards(t *testing.T) {
	lengths := map[string]int{"id": 11, "short": 1, "opaque": 22}
	onEach(t, func(t *testing.T, target testdb.Target, kind string) {
		c := start(t, target, kind)
		const long = "https://example.com/a?b=c%20d#e"
		first := c.want("new", c.post(long), 201)
		again := c.want("again", c.post("HTTPS://EXAMPLE.com/a?b=c d#e"), 200)
		if !first.Created || again.Created || first.Code != again.Code || len(first.Code) != lengths[kind] || again.URL != long {
			t.Errorf("first %s, then %s", first.body, again.body)
		}
		for range 3 {
			a := c.want("visit", c.get("/"+first.Code), 302)
			if a.header.Get("Location") != long || a.header.Get("Cache-Control") != "no-store" {
				t.Errorf("redirect with %v", a.header)
			}
		}
		c.want("HEAD", c.send("HEAD", "/"+first.Code, nil), 302)
		other := c.want("another", c.post("https://example.com/b"), 201)
		if n, m := c.visitsOf(first.Code), c.visitsOf(other.Code); n != 3 || m != 0 {
			t.Errorf("%d and %d visits, want 3 and 0", n, m)
		}

		c.want("delete", c.remove("/api/links/"+first.Code), 204)
		c.want("deleted", c.get("/"+first.Code), 404)
		c.want("deleted twice", c.remove("/api/links/"+first.Code), 404)
		c.want("visits of a deleted link", c.get("/api/links/"+first.Code+"/visits"), 404)
		anew := c.want("anew", c.post(long), 201)
		if anew.Code == first.Code {
			t.Errorf("the code %s was issued twice", anew.Code)
		}
		c.want("deleted, and made anew", c.get("/"+first.Code), 404)
		if n := c.visitsOf(anew.Code); n != 0 {
			t.Errorf("the new link has %d visits of the old one", n)
		}
		var visits int64
		if err := c.db.Model(&Visit{}).Count(&visits).Error; err != nil || visits != 0 || c.rows() != 2 {
			t.Errorf("%d links and %d visits, want 2 and 0; %v", c.rows(), visits, err)
		}
	})
}

func TestClientsThatShortenOneURLAtOnceGetOneCode(t *testing.T) {
	onEach(t, func(t *testing.T, target testdb.Target, kind string) {
		copies := []*client{start(t, target, kind), start(t, target, kind)}
		for round := range 5 {
			answers := make([]answer, 24)
			var wg sync.WaitGroup
			for i := range answers {
				wg.Go(func() { answers[i] = copies[i%2].post(fmt.Sprintf("https://example.com/%d", round)) })
			}
			wg.Wait()
			created := 0
			for _, a := range answers {
				if a.status == 201 {
					created++
				}
				if a.status != 200 && a.status != 201 || a.Code != answers[0].Code {
					t.Errorf("status %d, %s; another got %s", a.status, a.body, answers[0].body)
				}
			}
			if created != 1 || copies[0].rows() != int64(round+1) {
				t.Errorf("%d answers say created, and there are %d rows", created, copies[0].rows())
			}
			copies[0].want("redirect", copies[0].get("/"+answers[0].Code), 302)
		}
	})
}

func TestEachLinkIsDeletedOnceHoweverManyClientsMakeAndDeleteIt(t *testing.T) {
	onEach(t, func(t *testing.T, target testdb.Target, kind string) {
		c := start(t, target, kind)
		var made, deleted atomic.Int64
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 10 {
					a := c.post("https://example.com/")
					if a.status != 200 && a.status != 201 || a.Code == "" {
						t.Errorf("shorten: %d %s", a.status, a.body)
						return
					}
					if a.Created {
						made.Add(1)
					}
					switch gone := c.remove("/api/links/" + a.Code); gone.status {
					case 204:
						deleted.Add(1)
					case 404:
					default:
						t.Errorf("delete: %d %s", gone.status, gone.body)
					}
				}
			})
		}
		wg.Wait()
		if made.Load() != deleted.Load()+c.rows() {
			t.Errorf("%d made, %d deleted, %d rows", made.Load(), deleted.Load(), c.rows())
		}
	})
}

func TestPagesShowEachLinkOnceAndTheNewestFirst(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		c := start(t, target, "id")
		if a := c.want("empty", c.get("/api/links"), 200); a.body != `{"kind":"id","links":[]}` {
			t.Errorf("an empty list is %s", a.body)
		}
		for i := range 23 {
			c.want("new", c.post(fmt.Sprintf("https://example.com/%d", i)), 201)
		}
		seen, path := []string{}, "/api/links?limit=10"
		for pages := 0; path != "" && pages < 5; pages++ {
			a := c.want("page", c.get(path), 200)
			for _, l := range a.Links {
				seen = append(seen, l.URL)
				if id, err := snowflake.Parse(l.ID); err != nil || id.Base62() != l.Code || !strings.Contains(a.body, `"id":"`+l.ID+`"`) {
					t.Errorf("%+v in %s", l, a.body)
				}
			}
			c.want("delete", c.remove("/api/links/"+a.Links[0].Code), 204) // moves no row to another page
			if path = ""; a.Next != "" {
				path = "/api/links?limit=10&after=" + a.Next
			}
		}
		for i, u := range seen {
			if want := fmt.Sprintf("https://example.com/%d", 22-i); u != want || len(seen) != 23 {
				t.Fatalf("link %d of %d is %s, want %s of 23", i, len(seen), u, want)
			}
		}
	})
}

func TestVisitsCountOnTheDayInTheirKey(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		c := start(t, target, "id")
		made := c.want("new", c.post("https://example.com/"), 201)
		link, err := c.find(t.Context(), made.Code)
		if err != nil {
			t.Fatal(err)
		}
		today := time.Now().UTC().Truncate(24 * time.Hour)
		for i, at := range []time.Time{
			today.AddDate(0, 0, -days).Add(-time.Millisecond), // too old
			today.AddDate(0, 0, 1-days), today, today.Add(-time.Millisecond),
		} {
			id, err := c.layout().Compose(snowflake.Parts{Time: at, Worker: 1000, Sequence: int64(i)})
			if err != nil {
				t.Fatal(err)
			}
			if err := c.db.Create(&Visit{ID: id, LinkID: link.ID}).Error; err != nil {
				t.Fatal(err)
			}
		}
		a := c.get("/api/links/" + made.Code + "/visits")
		for i, day := range a.Days {
			want := 0
			if i == 0 || i >= days-2 {
				want = 1
			}
			if at := today.AddDate(0, 0, 1-days+i).Format(time.DateOnly); day.Day != at || day.Visits != want {
				t.Errorf("%+v, want %d visits on %s", day, want, at)
			}
		}
	})
}

func TestLinksGetCodesOfTheKindThatIsInUse(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		old := start(t, target, "id")
		made := old.want("new", old.post("https://example.com/"), 201)
		for _, kind := range []string{"short", "opaque", "short"} {
			c := start(t, target, kind)
			lists := make([]answer, 8)
			var wg sync.WaitGroup
			for i := range lists {
				wg.Go(func() { lists[i] = c.get("/api/links") })
			}
			wg.Wait()
			again := c.want("again", c.post("https://example.com/"), 200)
			for _, listed := range lists {
				if again.Code == made.Code || len(listed.Links) != 1 || listed.Links[0].Code != again.Code {
					t.Errorf("%s: %s and %s, with id %s", kind, again.body, listed.body, made.Code)
				}
			}
			c.want("redirect", c.get("/"+again.Code), 302)
			c.want("the code of another kind", c.get("/"+made.Code), 404)
		}
		old.want("the old kind again", old.get("/"+made.Code), 302)

		// A copy with codes of another kind still runs.
		c := start(t, target, "short")
		late := old.want("new", old.post("https://example.com/late"), 201)
		listed := c.want("list", c.get("/api/links"), 200)
		link, err := old.find(t.Context(), late.Code)
		if err != nil || link.Number != 0 || listed.Links[0].Code != "" || listed.Links[1].Code == "" {
			t.Errorf("%+v %v: a list has changed a link, %s", link, err, listed.body)
		}
		again := c.want("again", c.post("https://example.com/late"), 200)
		if a := c.want("redirect", c.get("/"+again.Code), 302); a.header.Get("Location") != late.URL {
			t.Errorf("%s leads to %v", again.body, a.header)
		}
	})
}
