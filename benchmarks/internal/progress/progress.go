// Package progress shows how far a measurement is.
package progress

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// lineEvery is how often a line is written if there is no terminal.
const lineEvery = 5 * time.Second

// Progress shows a bar, or lines where there is no terminal. Its methods are safe for concurrent use, except Step and
// Close.
type Progress struct {
	bar      *progressbar.ProgressBar
	done, of int // steps
	stop     chan struct{}
	wait     sync.WaitGroup

	mu         sync.Mutex
	count, end int // units of work that are done, and those at the end of this step
}

// New shows progress on w until Close: total is the work of all steps, in any unit.
func New(w io.Writer, steps, total int) *Progress {
	p := &Progress{of: steps, stop: make(chan struct{})}
	terminal, bar := isTerminal(w), w
	if !terminal {
		bar = io.Discard
	}
	p.bar = progressbar.NewOptions(total, progressbar.OptionSetWriter(bar), progressbar.OptionClearOnFinish(),
		progressbar.OptionFullWidth(), progressbar.OptionThrottle(100*time.Millisecond))
	if !terminal {
		p.wait.Go(func() { p.lines(w) })
	}
	return p
}

// isTerminal reports whether w can redraw a line.
func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd())) && os.Getenv("TERM") != "dumb"
}

// lines writes what runs and the time left, until Close.
func (p *Progress) lines(w io.Writer) {
	ticker := time.NewTicker(lineEvery)
	defer ticker.Stop()
	for {
		select {
		case <-p.stop:
			return
		case <-ticker.C:
			state := p.bar.State()
			left := time.Duration(state.SecondsLeft) * time.Second
			_, _ = fmt.Fprintf(w, "%s, about %s left\n", state.Description, left)
		}
	}
}

// Step begins a step of some work.
func (p *Progress) Step(description string, work int) {
	p.done++
	p.bar.Describe(fmt.Sprintf("%d/%d %s", p.done, p.of, description)) // fits on a line
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count, p.end = p.end, p.end+work
	_ = p.bar.Set(p.count) // display only
}

// Add adds work of the step that is done.
func (p *Progress) Add(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count = min(p.count+n, p.end)
	_ = p.bar.Set(p.count)
}

// Close removes the bar.
func (p *Progress) Close() {
	close(p.stop)
	p.wait.Wait()
	_ = p.bar.Clear()
}
