package partition_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/contrib/partition"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
)

// clustered inserts a row of the first and one of the last worker at each time.
func (e *events) clustered(times ...time.Time) {
	e.Helper()
	for _, at := range times {
		for _, worker := range []int64{0, snowflake.Clustered().MaxWorker()} {
			id, err := snowflake.Clustered().Compose(snowflake.Parts{Time: at, Worker: worker})
			e.must(err)
			e.exec(fmt.Sprintf("INSERT INTO events (id, body) VALUES (%d, '')", id))
		}
	}
}

// Midnight is inside a period of the layout, whose IDs are all in the partition of the day that begins.
func TestTimeInTwoParts(t *testing.T) {
	layout := snowflake.Clustered()
	in := partition.WithLayout(layout)
	for _, target := range []func(testing.TB) testdb.Target{testdb.Postgres, testdb.MariaDB} {
		e := newEvents(t, target(t), "")
		s := e.set(in, partition.WithStart(day(-5)))
		options, err := s.TableOptions()
		e.must(err)
		e.exec("CREATE TABLE events (" + plainColumns + ") " + options)
		e.maintain(s)
		var times []time.Time
		for at := day(-5).Add(time.Minute); at.Before(day(1)); at = at.Add(30 * time.Minute) {
			times = append(times, at)
		}
		e.clustered(times...)
		retain := e.set(in, partition.WithRetain(3))
		e.does(retain, "drop "+dayName(-5), "drop "+dayName(-4))
		e.does(retain)
		ranges, mask, since, err := layout.MaskedRanges(day(-3), day(1))
		e.must(err)
		kept, own := 0, 0
		for _, at := range times {
			if !at.Before(day(-3)) {
				own += 2
			}
			if !at.Before(layout.Time(ranges[0].Lo)) {
				kept += 2
			}
		}
		e.rows("events", kept)
		e.rows(fmt.Sprintf("events WHERE id >= %d AND id & %d >= %d", ranges[0].Lo, mask, since.Lo), own)
	}
}

func TestAdoptWithATimeInTwoParts(t *testing.T) {
	e := onPostgres(t, "CREATE TABLE events ("+plainColumns+")")
	e.clustered(time.Now().Add(-24*time.Hour), time.Now())
	s := e.set(partition.WithLayout(snowflake.Clustered()))
	plan, err := s.PlanAdopt(t.Context(), e.DB)
	e.must(err)
	for _, step := range plan.Steps {
		if to := step.To.In(noon.Location()); !step.To.IsZero() && to != day(int(to.Sub(day(0))/(24*time.Hour))) {
			t.Errorf("%s %s ends at %v, want the start of a day", step.Action, step.Partition, to)
		}
	}
	e.adopt(s)
	e.clustered(time.Now(), time.Now().Add(26*time.Hour))
	e.rows("events", 8)
	e.does(s)
	e.same(kinds(e.adopt(s)))
}

// A partition may begin most of a day before its time. Too close a cut would be dropped, and chosen again.
func TestTheCutOfAdoptIsADayAhead(t *testing.T) {
	layout, err := snowflake.ParseLayout("epoch=2005-05-05T00:00:00Z tick=1s time:20 worker:3 time:16 sequence:9")
	if err != nil {
		t.Fatal(err)
	}
	e := onPostgres(t, ordinaryTable)
	for n := range 20 {
		now := day(n).Add(23 * time.Hour)
		s := e.set(partition.WithLayout(layout), partition.WithNow(func() time.Time { return now }))
		plan, err := s.PlanAdopt(t.Context(), e.DB)
		e.must(err)
		cut := plan.Steps[0].Hi
		for _, step := range plan.Steps {
			cut = min(cut, step.Hi)
		}
		if ahead := layout.Time(cut).Sub(now); ahead < 24*time.Hour || ahead > 3*24*time.Hour {
			t.Errorf("at %v the cut is %v ahead", now, ahead)
		}
	}
}
