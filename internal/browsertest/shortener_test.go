package browsertest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

var longLink = control{role: "textbox", name: "Long link"}

func link(name string) control { return control{role: "link", name: name} }

// startShortener starts the service and another one that links may lead to.
func startShortener(t *testing.T, kind string) (base, target string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "<!doctype html><title>target</title>This is the target %s", r.URL.Path)
	}))
	t.Cleanup(server.Close)
	env := []string{"URLSHORTENER_KEYS=2026a:000102030405060708090a0b0c0d0e0f"}
	return start(t, "urlshortener", env, "-addr", "127.0.0.1:0", "-codes", kind), server.URL
}

// shorten uses the form and returns the code of the link.
func (p *page) shorten(url string) (code string) {
	p.t.Helper()
	p.fill(longLink, url)
	p.click(button("Shorten"))
	return p.shortened()
}

// shortened waits for the answer and returns the code.
func (p *page) shortened() (code string) {
	p.t.Helper()
	p.wait("!document.querySelector('#result').hidden && document.activeElement.id === 'copy'")
	shown := p.text("#short-link")
	code = shown[strings.LastIndex(shown, "/")+1:]
	p.find(button("Delete " + code)) // the list is there
	return code
}

func TestShortenerFromLinkToDeletion(t *testing.T) {
	t.Parallel()
	for kind, form := range map[string]string{"id": `^[0-9A-Za-z]{11}$`, "short": `^[0-9A-Za-z]{1,7}$`, "opaque": `^[0-9A-Za-z]{22}$`} {
		t.Run(kind, func(t *testing.T) {
			base, target := startShortener(t, kind)
			p := open(t, base)
			p.waitText("#status", "There are no links yet.")
			if used := evaluate[[]string](p, "[...document.querySelectorAll('#kinds [aria-current=true]')].map(e => e.id)"); len(used) != 1 || used[0] != "kind-"+kind {
				t.Errorf("the page says that %q is in use, want kind-%s", used, kind)
			}

			code := p.shorten(target + "/first")
			if !regexp.MustCompile(form).MatchString(code) {
				t.Errorf("the code is %q, want %s", code, form)
			}
			p.waitText("#note", "A new link to "+target+"/first")
			if again := p.shorten(target + "/first"); again != code {
				t.Errorf("the same address has the codes %s and %s", code, again)
			}
			p.waitText("#note", "This address has a link already")
			if other := p.shorten(target + "/second"); other == code {
				t.Errorf("two addresses have the code %s", code)
			}

			p.click(link(code))
			p.waitText("body", "This is the target /first")
			evaluate[chromedp.Void](p, "history.back()")
			p.click(button("Visits of " + code))
			p.wait("document.activeElement.id === 'visits-title'")
			today, yesterday := "1"+strings.Repeat("0", 13), "01"+strings.Repeat("0", 12) // at midnight
			if days := strings.Join(p.texts("#days tbody td.number"), ""); days != today && days != yesterday {
				t.Errorf("the visits of the last days are %s, want %s", days, today)
			}

			p.click(button("Delete " + code))
			p.click(button("Keep"))
			p.wait("!document.querySelector('#confirm').open")
			if rows := p.texts("#links tbody tr"); len(rows) != 2 {
				t.Errorf("%d links after Keep, want 2", len(rows))
			}
			p.click(button("Delete " + code))
			p.click(button("Delete"))
			p.waitText("#status", code+" is deleted.")
			if rows := p.texts("#links tbody tr"); len(rows) != 1 {
				t.Errorf("%d links after Delete, want 1", len(rows))
			}
			if status := evaluate[int](p, "fetch('/"+code+"', {redirect: 'manual'}).then(r => r.status)"); status != http.StatusNotFound {
				t.Errorf("the deleted link answers %d, want 404", status)
			}
		})
	}
}

func TestShortenerPagesThroughTheList(t *testing.T) {
	t.Parallel()
	base, target := startShortener(t, "short")
	p := open(t, base)
	p.waitText("#status", "There are no links yet.")
	evaluate[chromedp.Void](p, `(async () => {
		for (let i = 1; i <= 25; i++) {
			const body = JSON.stringify({ url: '`+target+`/' + i })
			await fetch('/api/links', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body })
		}
		location.reload()
	})()`)
	p.wait("document.querySelectorAll('#links tbody tr').length === 20")
	p.click(button("Older links"))
	p.wait("document.querySelectorAll('#links tbody tr').length === 25 && document.querySelector('#more').hidden")
	for i, shown := range p.texts("#links td.url") {
		if want := fmt.Sprintf("%s/%d", target, 25-i); shown != want {
			t.Errorf("link %d leads to %s, want %s", i, shown, want)
		}
	}
	if at := evaluate[int](p, "[...document.querySelectorAll('#links tbody tr')].indexOf(document.activeElement.closest('tr'))"); at != 20 {
		t.Errorf("the focus is on row %d, want the first older one, 20", at)
	}
}

func TestShortenerExplainsWhatItRejects(t *testing.T) {
	t.Parallel()
	base, _ := startShortener(t, "id")
	p := open(t, base)
	for text, want := range map[string]string{
		"":                    "There is no URL",
		"javascript:alert(1)": "Only URLs that begin with",
		"data:,5":             "Only URLs that begin with",
		"not a link":          "This is not a URL",
		base + "/":            "leads to this service",
		"localhost" + base[strings.LastIndex(base, ":"):] + "/x": "leads to this service", // so it got a scheme
		"https://a.example/" + strings.Repeat("x", 5000):         "the limit is 4096",
	} {
		p.fill(longLink, text)
		p.click(button("Shorten"))
		p.wait("document.querySelector('#error').innerText !== ''")
		if shown := p.text("#error"); !strings.Contains(shown, want) || p.focused() != longLink || !evaluate[bool](p, "document.querySelector('#result').hidden") {
			t.Errorf("%.30q: shows %q, want %q; the focus is on the %s", text, shown, want, p.focused())
		}
	}
	p.waitText("#status", "There are no links yet.")
}

// The IDs of the page are above 2^53. If a script took one as a number, the decoder would get another one.
func TestShortenerDecodesTheIDOfTheList(t *testing.T) {
	t.Parallel()
	base, target := startShortener(t, "id")
	p := open(t, base)
	code := p.shorten(target)
	text := evaluate[string](p, "document.querySelector('#links tbody tr').dataset.id")
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 1<<53 {
		t.Fatalf("ID %s, error %v", text, err)
	}
	p.click(link(text))
	p.waitText("#verdict", text+" is an ID that this service can have issued. As a code: "+code)
	if bits := strings.Join(p.texts("#bits .bit"), ""); bits != fmt.Sprintf("%064b", id) {
		t.Errorf("the picture shows %s, want %064b", bits, id)
	}
	sequence := strconv.FormatInt(id&(1<<12-1), 10)
	if fields := p.texts("#fields dd"); len(fields) != 4 || fields[3] != sequence {
		t.Errorf("the fields are %q, want the sequence %s", fields, sequence)
	}

	p.fill(control{role: "textbox", name: "ID or code"}, code)
	p.click(button("Decode"))
	p.waitText("#verdict", text)
	for _, text := range []string{"no ID", "100%"} {
		p.fill(control{role: "textbox", name: "ID or code"}, text)
		p.click(button("Decode"))
		p.waitText("#error", "not an ID: \""+text)
		p.wait("document.querySelector('#decoded').hidden")
	}
	evaluate[chromedp.Void](p, "location.hash = '%zz'")
	p.waitText("#error", "URI")
	p.waitText("#workers", "held by this copy")
}

func TestShortenerWorksWithTheKeyboard(t *testing.T) {
	t.Parallel()
	base, target := startShortener(t, "short")
	p := open(t, base)
	p.waitText("#status", "There are no links yet.")
	p.tabTo(longLink)
	p.press(target + "/typed" + kb.Enter)
	code := p.shortened()
	p.tabTo(button("Visits of " + code))
	p.press(kb.Enter)
	p.wait("document.activeElement.id === 'visits-title'")
	evaluate[chromedp.Void](p, "document.activeElement.blur()")
	p.tabTo(button("Delete " + code))
	p.press(kb.Enter)
	p.wait("document.querySelector('#confirm').open")
	if c := p.focused(); c != button("Keep") {
		t.Errorf("the dialog opens on the %s, want Keep", c)
	}
	p.press(kb.Escape)
	p.wait("!document.querySelector('#confirm').open")
	if c := p.focused(); c != button("Delete "+code) {
		t.Errorf("after Escape the focus is on the %s", c)
	}
	p.press(kb.Enter)
	p.wait("document.querySelector('#confirm').open")
	p.tabTo(button("Delete"))
	p.press(kb.Enter)
	p.waitText("#status", code+" is deleted.")
}

func TestShortenerPagesSuitEveryReader(t *testing.T) {
	t.Parallel()
	base, target := startShortener(t, "id")
	p := open(t, base)
	p.waitText("#status", "There are no links yet.")
	p.checkAppearance()
	for _, url := range []string{"https://go.dev/doc/effective_go", "https://www.postgresql.org/docs/current/indexes-intro.html", "https://developer.mozilla.org/en-US/docs/Web/JavaScript/Reference/Global_Objects/Number"} {
		p.shorten(url)
	}
	code := p.shorten("https://www.rfc-editor.org/rfc/rfc9562.html")
	p.screenshot("urlshortener/docs/page.png", "#links")

	evaluate[chromedp.Void](p, "Promise.all([1, 2, 3].map(() => fetch('/"+code+"', { redirect: 'manual' })))")
	p.click(button("Visits of " + code))
	p.wait("document.activeElement.id === 'visits-title'")
	p.shorten(target + "/a-long-path-without-spaces-that-a-phone-has-no-room-for/" + strings.Repeat("x", 100))
	p.checkAppearance()

	id := evaluate[string](p, "document.querySelector('#links tbody tr').dataset.id")
	p.click(link(id))
	p.waitText("#verdict", id)
	p.waitText("#workers", "held by this copy")
	p.checkAppearance()
	p.screenshot("urlshortener/docs/decoder.png", "#decoded")
}
