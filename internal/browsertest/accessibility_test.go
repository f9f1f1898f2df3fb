package browsertest

import (
	"os"
	"slices"
	"sync"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/chromedp"
)

// checkAppearance checks what a person sees or hears who prefers light or dark pages, holds a phone, or uses a screen
// reader. The page is as it should look, with its content.
func (p *page) checkAppearance() {
	p.t.Helper()
	for _, scheme := range []string{"light", "dark"} {
		p.prefer(scheme)
		if dark := p.backgroundIsDark(); dark != (scheme == "dark") {
			p.t.Errorf("who prefers %s gets a page that is dark: %v", scheme, dark)
		}
		p.checkNames(scheme)
		p.checkWithAxe(scheme)
	}
	p.prefer("light")
	p.resize(360, 740)
	p.checkWidth()
	p.checkWithAxe("360 pixels")
	p.resize(1000, 800)
}

func (p *page) backgroundIsDark() bool {
	p.t.Helper()
	return evaluate[bool](p, `(() => {
		const canvas = document.createElement('canvas').getContext('2d')
		for (const e of [document.documentElement, document.body]) {
			canvas.fillStyle = getComputedStyle(e).backgroundColor
			canvas.fillRect(0, 0, 1, 1)
		}
		const [red, green, blue, alpha] = canvas.getImageData(0, 0, 1, 1).data
		return alpha > 0 && red + green + blue < 3 * 128
	})()`)
}

// checkWidth fails the test if something is wider than the window and can be reached by scrolling sideways only.
func (p *page) checkWidth() {
	p.t.Helper()
	if wide := evaluate[[]string](p, `[...document.querySelectorAll('body *')].filter(e => {
		const box = e.getBoundingClientRect()
		if (box.width === 0 || box.right <= 360.5 && box.left >= -0.5) return false
		for (let outer = e.parentElement; outer; outer = outer.parentElement) {
			if (outer !== document.body && getComputedStyle(outer).overflowX !== 'visible') return false
		}
		return true
	}).map(e => e.outerHTML.slice(0, 200))`); len(wide) > 0 {
		p.t.Errorf("wider than a window of 360 pixels: %q", wide)
	}
	if width := evaluate[int](p, "document.documentElement.scrollWidth"); width > 360 {
		p.t.Errorf("a window of 360 pixels scrolls over %d", width)
	}
}

// interactive are the roles that a person operates.
var interactive = []string{"button", "link", "textbox", "searchbox", "checkbox", "radio", "combobox", "tab", "menuitem", "dialog"}

// checkNames fails the test if a screen reader has no name for a control.
func (p *page) checkNames(when string) {
	p.t.Helper()
	for _, node := range call(p, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{}).Nodes {
		if role := computed(node.Role); !node.Ignored && slices.Contains(interactive, role) && computed(node.Name) == "" {
			p.t.Errorf("%s: a %s has no name (node %d)", when, role, node.BackendDOMNodeID)
		}
	}
}

var axe = sync.OnceValues(func() (string, error) {
	file := os.Getenv(axeVariable)
	if file == "" {
		return "", nil
	}
	script, err := os.ReadFile(file)
	return string(script), err
})

// checkWithAxe fails the test if a rule of axe-core is violated. Without SNOWFLAKE_TEST_AXE it does nothing.
func (p *page) checkWithAxe(when string) {
	p.t.Helper()
	script, err := axe()
	if err != nil {
		p.t.Fatal(err)
	}
	if script == "" {
		return
	}
	if evaluate[bool](p, "!window.axe") {
		evaluate[chromedp.Void](p, script)
	}
	type violation struct {
		ID, Help string
		Nodes    []struct{ HTML, FailureSummary string }
	}
	for _, v := range evaluate[[]violation](p, "axe.run({ resultTypes: ['violations'] }).then(r => r.violations)") {
		for _, node := range v.Nodes {
			p.t.Errorf("%s: %s (axe rule %s)\n%s\n%s", when, v.Help, v.ID, node.HTML, node.FailureSummary)
		}
	}
}
