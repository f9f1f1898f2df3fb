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
	bar   *progressbar.ProgressBar
	began time.Time
	total int // rows
	of    int // runs
	stop  chan struct{}
	wait  sync.WaitGroup

	mu    sync.Mutex // of all below
	done  int        // runs
	title string
	begin int // rows before this run
	size  int // rows of this run
	count int // rows of this run that are done
}

// weight returns the rows of a run. Many runs use statements of one row or write twice, so it is an estimate.
func weight(s plan.Step) int {
	rows, _ := strconv.Atoi(s.Params.Get("rows"))
	return max(rows, 1000)
}

func start(w io.Writer, terminal bool, steps []plan.Step) *progress {
	p := &progress{began: time.Now(), of: len(steps), stop: make(chan struct{})}
	for _, s := range steps {
		p.total += weight(s)
	}
	p.bar = progressbar.NewOptions(p.total, progressbar.OptionSetWriter(w), progressbar.OptionSetVisibility(terminal),
		progressbar.OptionClearOnFinish(), progressbar.OptionFullWidth(), progressbar.OptionThrottle(100*time.Millisecond))
	if !terminal {
		p.wait.Go(func() { p.lines(w) })
	}
	return p
}

// lines writes what runs and the time left, until end.
func (p *progress) lines(w io.Writer) {
	ticker := time.NewTicker(lineEvery)
	defer ticker.Stop()
	for {
		select {
		case <-p.stop:
			return
		case <-ticker.C:
			p.mu.Lock()
			share := float64(p.begin+p.count) / float64(p.total)
			left := time.Duration(float64(time.Since(p.began)) * (1 - share) / max(share, 1e-6)).Round(time.Second)
			_, _ = fmt.Fprintf(w, "%d of %d runs, about %s left, %s\n", p.done, p.of, left, p.title)
			p.mu.Unlock()
		}
	}
}

// step begins a run.
func (p *progress) step(s plan.Step) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.begin, p.size, p.count = p.begin+p.size, weight(s), 0
	p.title = fmt.Sprintf("%s %s %s %s", s.Engine.Name(), s.Scenario.Name, s.Params, s.As)
	p.bar.Describe(fmt.Sprintf("%d/%d %s %s %s", p.done, p.of, s.Engine.Name(), s.Scenario.Name, s.As)) // fits on a line
}

// rows adds rows of the run, from any goroutine.
func (p *progress) rows(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count = min(p.count+n, p.size)
	_ = p.bar.Set(p.begin + p.count) // display only
}

// finished ends a run.
func (p *progress) finished() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
	_ = p.bar.Set(p.begin + p.size)
}

func (p *progress) end() {
	close(p.stop)
	p.wait.Wait()
	_ = p.bar.Clear()
}
