// Package progress shows how far a measurement is.
package progress

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// lineEvery is how often a line is written.
const lineEvery = 3 * time.Second

// Progress writes lines with the step that runs and the time left, some seconds apart. It is safe for concurrent use.
type Progress struct {
	mu           sync.Mutex
	out          io.Writer
	start, wrote time.Time
	done, of     int // steps that have begun, and all
	count, end   int // units of work that are done, and those at the end of this step
	total        int
}

// New shows progress on w: total is the work of all steps, in any unit.
func New(w io.Writer, steps, total int) *Progress {
	return &Progress{out: w, start: time.Now(), of: steps, total: total}
}

// Step begins a step of some work.
func (p *Progress) Step(description string, work int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
	p.count, p.end = p.end, p.end+work
	now := time.Now()
	if p.done > 1 && now.Sub(p.wrote) < lineEvery {
		return
	}
	p.wrote = now
	left := ""
	if p.count > 0 {
		each := float64(now.Sub(p.start)) / float64(p.count)
		left = fmt.Sprintf(", about %v left", time.Duration(each*float64(p.total-p.count)).Round(time.Second))
	}
	_, _ = fmt.Fprintf(p.out, "%d/%d %s%s\n", p.done, p.of, description, left)
}

// Add counts work of the step that is done.
func (p *Progress) Add(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count = min(p.count+n, p.end)
}

// Close writes how long all steps took.
func (p *Progress) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, _ = fmt.Fprintf(p.out, "%d of %d steps in %v\n", p.done, p.of, time.Since(p.start).Round(time.Second/10))
}
