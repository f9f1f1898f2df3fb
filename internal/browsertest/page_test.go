package browsertest

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

const (
	patience = 2 * time.Minute // for what a page should show at once
	pause    = 20 * time.Millisecond
)

// page is a tab of the browser, with cookies and storage of its own.
type page struct {
	t   *testing.T
	ctx context.Context

	mu     sync.Mutex
	status map[string]int64 // of the last answer, by URL
}

// open opens the URL in a new tab. An error of a script, and anything that the page's Content-Security-Policy refuses,
// fails the test.
func open(t *testing.T, url string) *page {
	t.Helper()
	tab, end := chromedp.NewContext(needBrowser(t), chromedp.WithNewBrowserContext())
	t.Cleanup(end)
	if err := chromedp.Do(tab); err != nil { // the tab lives as long as the context of the first call
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(tab, 8*time.Minute)
	t.Cleanup(stop)
	p := &page{t: t, ctx: ctx, status: map[string]int64{}}
	err := chromedp.Listen(ctx, func(event any) {
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			t.Errorf("the page threw %v", &chromedp.ExceptionError{ExceptionDetails: e.ExceptionDetails})
		case *log.EventEntryAdded:
			if e.Entry.Level == log.EntryLevelError && e.Entry.Source != log.EntrySourceNetwork { // that is a status such as 404
				t.Errorf("the page reported %s: %s", e.Entry.Source, e.Entry.Text)
			}
		case *network.EventResponseReceived:
			p.mu.Lock()
			p.status[e.Response.URL] = e.Response.Status
			p.mu.Unlock()
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	call(p, log.Enable, cdp.Empty{})
	call(p, network.Enable, network.EnableParams{})
	call(p, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true}) // beside other tabs
	p.resize(1000, 800)
	run(p, chromedp.Navigate(url))
	return p
}

func run[T any](p *page, action chromedp.Action[T]) T {
	p.t.Helper()
	value, err := chromedp.Run(p.ctx, action)
	if err != nil {
		p.t.Fatal(err)
	}
	return value
}

// call runs a command of the protocol.
func call[P, R any](p *page, command cdp.Command[P, R], params P) R {
	p.t.Helper()
	result, err := chromedp.Call(p.ctx, command, params)
	if err != nil {
		p.t.Fatal(err)
	}
	return result
}

// answered returns the status of the last answer for the URL, or 0.
func (p *page) answered(url string) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.status[url]
}

// evaluate returns the value of a JavaScript expression, which may be a promise.
func evaluate[T any](p *page, expression string) T {
	p.t.Helper()
	return run(p, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
}

// wait waits until a JavaScript expression is true. While a page changes to another one, it has errors.
func (p *page) wait(expression string) {
	p.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(pause) {
		is, err := chromedp.Run(p.ctx, chromedp.Evaluate[bool]("Boolean("+expression+")"))
		if is {
			return
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("waited for %s (error %v). The page shows:\n%s", expression, err, p.text("body"))
		}
	}
}

// waitText waits until an element shows the text.
func (p *page) waitText(selector, text string) {
	p.t.Helper()
	p.wait(fmt.Sprintf("document.querySelector(%s)?.innerText.includes(%s)", quoted(selector), quoted(text)))
}

// text returns what an element shows.
func (p *page) text(selector string) string {
	p.t.Helper()
	return evaluate[string](p, fmt.Sprintf("document.querySelector(%s).innerText", quoted(selector)))
}

// texts returns what all elements of a selector show.
func (p *page) texts(selector string) []string {
	p.t.Helper()
	return evaluate[[]string](p, fmt.Sprintf("[...document.querySelectorAll(%s)].map(e => e.innerText)", quoted(selector)))
}

func quoted(text string) string {
	literal, _ := json.Marshal(text) // a string cannot fail
	return string(literal)
}

// control is something that a person finds by what it is and by what it is called, also with a screen reader.
type control struct {
	role, name string
	within     *control // or nil
}

func button(name string) control { return control{role: "button", name: name} }

func (c control) in(outer control) control {
	c.within = &outer
	return c
}

func (c control) String() string {
	text := fmt.Sprintf("%s %q", c.role, c.name)
	if c.within != nil {
		text += " in " + c.within.String()
	}
	return text
}

// find waits for the control and returns its node. There has to be exactly one.
func (p *page) find(c control) cdp.BackendNodeID {
	p.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(pause) {
		found := p.lookUp(c)
		if len(found) == 1 {
			return found[0]
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("there are %d of the %s, want 1. The page shows:\n%s", len(found), c, p.text("body"))
		}
	}
}

// lookUp returns the nodes of the controls that are not hidden.
func (p *page) lookUp(c control) (nodes []cdp.BackendNodeID) {
	p.t.Helper()
	query := accessibility.QueryAXTreeParams{Role: c.role, AccessibleName: c.name}
	if c.within == nil {
		query.ObjectID = p.object("document")
	} else if outer := p.lookUp(*c.within); len(outer) == 1 {
		query.BackendNodeID = outer[0]
	} else {
		return nil
	}
	for _, node := range call(p, accessibility.QueryAXTree, query).Nodes {
		if !node.Ignored {
			nodes = append(nodes, node.BackendDOMNodeID)
		}
	}
	return nodes
}

func (p *page) object(expression string) runtime.RemoteObjectID {
	p.t.Helper()
	return run(p, chromedp.Evaluate[*runtime.RemoteObject](expression)).ObjectID
}

// click moves the mouse to the control and clicks. The control must be in sight, enabled and not covered.
func (p *page) click(c control) {
	p.t.Helper()
	object := call(p, dom.ResolveNode, dom.ResolveNodeParams{BackendNodeID: p.find(c)}).Object
	type place struct {
		X, Y  float64
		Fault string
	}
	at := run(p, chromedp.CallFunctionOn[place](`function() {
		this.scrollIntoView({ block: 'center', behavior: 'instant' })
		const box = this.getClientRects()[0], X = box.x + box.width / 2, Y = box.y + box.height / 2
		const hit = document.elementFromPoint(X, Y)
		return { X, Y, Fault: this.disabled ? 'is disabled' : this.contains(hit) ? '' : 'is covered by ' + hit?.outerHTML }
	}`, func(params *runtime.CallFunctionOnParams) { params.ObjectID = object.ObjectID }))
	if at.Fault != "" {
		p.t.Fatalf("the %s %s", c, at.Fault)
	}
	run(p, chromedp.MouseClickXY(at.X, at.Y))
}

// fill replaces the text of a field.
func (p *page) fill(c control, text string) {
	p.t.Helper()
	p.click(c)
	evaluate[chromedp.Void](p, "document.activeElement.select()")
	call(p, input.InsertText, input.InsertTextParams{Text: text})
}

// press presses keys, such as kb.Tab.
func (p *page) press(keys string) {
	p.t.Helper()
	run(p, chromedp.KeyEvent(keys))
}

// focused returns the control that has the focus.
func (p *page) focused() control {
	p.t.Helper()
	nodes := call(p, accessibility.GetPartialAXTree, accessibility.GetPartialAXTreeParams{ObjectID: p.object("document.activeElement")}).Nodes
	return control{role: computed(nodes[0].Role), name: computed(nodes[0].Name)}
}

// computed returns the text of a role or name, which may be missing.
func computed(value *accessibility.Value) (text string) {
	if value != nil {
		_ = json.Unmarshal(value.Value, &text)
	}
	return text
}

// tabTo presses the Tab key until the control has the focus, as a person without a mouse does.
func (p *page) tabTo(c control) {
	p.t.Helper()
	var passed []string
	for range 60 {
		p.press(kb.Tab)
		now := p.focused()
		if now == c {
			return
		}
		passed = append(passed, now.String())
	}
	p.t.Fatalf("Tab does not reach the %s, only %q", c, passed)
}

// resize sets the size of the window in CSS pixels. Below 500 it is a phone.
func (p *page) resize(width, height int64) {
	p.t.Helper()
	call(p, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: width, Height: height, DeviceScaleFactor: 1, Mobile: width < 500,
	})
}

// prefer sets the colour scheme that the system prefers, light or dark.
func (p *page) prefer(scheme string) {
	p.t.Helper()
	call(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
}
