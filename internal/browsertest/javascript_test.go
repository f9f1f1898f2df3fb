package browsertest

import (
	"encoding/json"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

func openJavaScript(t *testing.T) *page {
	t.Helper()
	p := open(t, start(t, "javascript", nil, "-serve", "127.0.0.1:0"))
	p.waitText("#status", "2 of 6 links are dead: Ada's as numbers, Grace's as numbers.")
	return p
}

func TestJavaScriptNumbersLeadNowhereAndStringsOpen(t *testing.T) {
	t.Parallel()
	p := openJavaScript(t)
	for card, found := range map[string]bool{"JSON numbers": false, "JSON strings": true, "JavaScriptSafe numbers": true} {
		for _, user := range []string{"Ada", "Grace"} {
			p.click(control{role: "link", name: user + "'s page"}.in(control{role: "article", name: card}))
			p.wait("location.pathname.startsWith('/api/') && document.readyState === 'complete'")
			shown, status := p.text("body"), p.answered(evaluate[string](p, "location.href"))
			want := `"name":"` + user + `"`
			if !found {
				want = `{"error":"not found"}`
			}
			if status == 200 != found || !strings.Contains(shown, want) {
				t.Errorf("%s of %s: status %d, shows %s", user, card, status, shown)
			}
			evaluate[chromedp.Void](p, "history.back()")
			p.waitText("#status", "2 of 6 links are dead")
		}
	}
}

func TestJavaScriptBrowserComputesWhatGoSays(t *testing.T) {
	t.Parallel()
	p := openJavaScript(t)
	if got := p.texts("[data-kind=numbers] .read"); len(got) != 2 || got[0] != got[1] {
		t.Errorf("the numbers are %q, want one number twice", got)
	}

	inGo := exec.Command(build(t, "javascript"), "-json")
	inGo.Env = []string{"PATH=" + t.TempDir()} // without node
	text, err := inGo.Output()
	if err != nil {
		t.Fatal(err)
	}
	var result struct {
		Counts []struct {
			Layout, Since string
			IDs, Numbers  int
		}
	}
	if err := json.Unmarshal(text, &result); err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, c := range result.Counts {
		want = append(want, c.Layout, strconv.Itoa(c.IDs), strconv.Itoa(c.Numbers), c.Since)
	}
	got := p.texts("#counts th, #counts td")
	for i := range got {
		got[i] = strings.ReplaceAll(got[i], ",", "")
	}
	if len(want) != 12 || !slices.Equal(got, want) {
		t.Errorf("the table has %q, want %q", got, want)
	}
}

func TestJavaScriptPageWorksWithTheKeyboard(t *testing.T) {
	t.Parallel()
	p := openJavaScript(t)
	before := p.text(".sent")
	p.tabTo(button("Make two more users"))
	p.press(kb.Enter)
	p.wait("document.querySelector('.sent').innerText !== " + quoted(before))
	p.waitText("#status", "2 of 6 links are dead")
	for range 6 {
		p.press(kb.Tab)
		if c := p.focused(); c.role != "link" {
			t.Errorf("the next one is the %s, want six links", c)
		}
	}
	p.press(kb.Enter)
	p.waitText("body", `"name":"Grace"`)
}

func TestJavaScriptPageSuitsEveryReader(t *testing.T) {
	t.Parallel()
	p := openJavaScript(t)
	p.checkAppearance()
	p.screenshot("javascript/docs/page.png", "footer")
}
