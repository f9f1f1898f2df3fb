// Package progress shows the progress of a comparison on standard error: a bar on a terminal, lines elsewhere.
package progress

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/measure"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/run"
)

const (
	redrawEvery = 100 * time.Millisecond
	tickEvery   = time.Second // a bar is also redrawn without new rows
	lineEvery   = 5 * time.Second
)

// Progress implements run.Progress. It is safe for concurrent use.
type Progress struct {
	w     io.Writer
	width func() int // of the terminal; nil: not a terminal
	now   func() time.Time

	mu       sync.Mutex
	estimate *estimate
	steps    int
	done     int
	measured int // finished in this run
	step     run.Step
	began    time.Time // start of the step
	rows     int       // of the step
	shown    time.Time
	stop     chan struct{}
	stopped  sync.WaitGroup
}

// New returns a progress display for the given steps. If width is not nil it draws a bar with that many columns.
func New(w io.Writer, ahead []run.Step, width func() int) *Progress {
	return &Progress{w: w, width: width, now: time.Now, estimate: newEstimate(ahead), stop: make(chan struct{})}
}

// Start sets the number of runs.
func (p *Progress) Start(steps, done int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.steps, p.done, p.shown = steps, done, p.now()
	if done > 0 {
		p.print(fmt.Sprintf("%d runs, %d of them done before", steps, done))
	} else {
		p.print(fmt.Sprintf("%d runs", steps))
	}
	if p.width != nil {
		p.stopped.Go(p.tick)
	}
}

// tick redraws the bar to update its time.
func (p *Progress) tick() {
	ticker := time.NewTicker(tickEvery)
	defer ticker.Stop()
	for {
		select {
		case <-p.stop:
			return
		case <-ticker.C:
			p.mu.Lock()
			p.draw()
			p.mu.Unlock()
		}
	}
}

// Step begins a step.
func (p *Progress) Step(s run.Step) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.step, p.began, p.rows = s, p.now(), 0
	if p.width != nil {
		p.draw()
	}
}

// Rows adds rows to the step.
func (p *Progress) Rows(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rows += n
	p.show()
}

// Finished ends a step.
func (p *Progress) Finished(measure.Record) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
	p.measured++
	p.estimate.finished(p.step, p.now().Sub(p.began))
	p.step, p.rows = run.Step{}, 0
	p.show()
}

// Stop ends the display.
func (p *Progress) Stop() {
	if p.width != nil {
		close(p.stop)
		p.stopped.Wait()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.width != nil {
		_, _ = fmt.Fprint(p.w, "\r\x1b[K")
	}
	p.print(fmt.Sprintf("%d of %d runs are done", p.done, p.steps))
}

// show writes the state if enough time has passed since the last write.
func (p *Progress) show() {
	every := lineEvery
	if p.width != nil {
		every = redrawEvery
	}
	if p.now().Sub(p.shown) < every {
		return
	}
	if p.width != nil {
		p.draw()
		return
	}
	p.shown = p.now()
	p.print(strings.Join(p.parts(), ", "))
}

func (p *Progress) print(line string) { _, _ = fmt.Fprintln(p.w, line) }

// parts returns the displayed texts: runs, rows of the step, time left, the step's name.
func (p *Progress) parts() []string {
	parts := []string{fmt.Sprintf("%d of %d", p.done, p.steps)}
	if left, ok := p.left(); ok {
		parts = append(parts, duration(left)+" left")
	}
	if p.step.Engine != nil {
		parts = append(parts, fmt.Sprintf("%s %s %s %s", p.step.Engine.Name(), p.step.Scenario.Name, p.step.Params,
			p.step.Kind.Name))
	}
	if p.rows > 0 {
		parts = append(parts, count(p.rows)+" rows")
	}
	return parts
}

// left returns the time until the end.
func (p *Progress) left() (time.Duration, bool) {
	var spent time.Duration
	if p.step.Engine != nil {
		spent = p.now().Sub(p.began)
	}
	return p.estimate.left(spent)
}

const barWidth = 24

// draw draws the bar over the previous one.
func (p *Progress) draw() {
	p.shown = p.now()
	share := 0.0
	if p.steps > 0 {
		share = (float64(p.done) + p.shareOfStep()) / float64(p.steps)
	}
	full := min(int(share*barWidth), barWidth)
	line := "[" + strings.Repeat("#", full) + strings.Repeat(".", barWidth-full) + "] " + strings.Join(p.parts(), "  ")
	_, _ = fmt.Fprint(p.w, "\r"+cut(line, p.width()-1)+"\x1b[K")
}

func (p *Progress) shareOfStep() float64 {
	if rows, _ := strconv.Atoi(p.step.Params.Get("rows")); rows > 0 {
		return min(float64(p.rows)/float64(rows), 1)
	}
	return 0
}

func cut(line string, width int) string {
	if width < 1 || utf8.RuneCountInString(line) <= width {
		return line
	}
	return string([]rune(line)[:width])
}

// duration rounds to the precision of an estimate.
func duration(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Round(time.Second).Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Round(time.Minute).Minutes()))
	}
	return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
}

// count writes a number with commas between thousands.
func count(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
