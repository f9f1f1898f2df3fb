package run

import (
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/plan"
)

// lineEvery is how often a line is written if there is no terminal.
const lineEvery = 5 * time.Second

// progress shows a bar, or lines where there is no terminal. Its unit is a row, because runs take different times.
type progress struct {
	bar      *progressbar.ProgressBar
	done, of int // runs
	stop     chan struct{}
	wait     sync.WaitGroup

	mu         sync.Mutex
	count, end int // rows that are done, and those at the end of this run
}

// weight returns the rows of a run. Many runs use statements of one row or write twice, so it is an estimate.
func weight(s plan.Step) int {
	rows, _ := strconv.Atoi(s.Params.Get("rows"))
	return max(rows, 1000)
}

func start(w io.Writer, terminal bool, steps []plan.Step) *progress {
	p := &progress{of: len(steps), stop: make(chan struct{})}
	total, bar := 0, w
	for _, s := range steps {
		total += weight(s)
	}
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

// lines writes what runs and the time left, until close.
func (p *progress) lines(w io.Writer) {
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

// step begins a run.
func (p *progress) step(s plan.Step) {
	p.done++
	p.bar.Describe(fmt.Sprintf("%d/%d %s %s %s", p.done, p.of, s.Engine.Name(), s.Scenario.Name, s.As)) // fits on a line
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count, p.end = p.end, p.end+weight(s)
	_ = p.bar.Set(p.count) // display only
}

// rows adds rows of the run, from any goroutine.
func (p *progress) rows(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count = min(p.count+n, p.end)
	_ = p.bar.Set(p.count)
}

func (p *progress) close() {
	close(p.stop)
	p.wait.Wait()
	_ = p.bar.Clear()
}
