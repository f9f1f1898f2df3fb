//go:build !race

package rulestest

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasetest"
	"github.com/sqlflake/sqlflake/snowflake/promsnowflake"
	"github.com/sqlflake/sqlflake/sqltypes/partition"
)

func alerts(tb testing.TB) []rulefmt.Rule {
	tb.Helper()
	groups, errs := rulefmt.ParseFile("../../alerts.yml", false, model.UTF8Validation) // checks queries and templates, too
	if len(errs) > 0 || len(groups.Groups) != 1 {
		tb.Fatal(groups, errs)
	}
	return groups.Groups[0].Rules
}

// system is a lease with its store and clocks, under one test.
type system struct {
	tb    testing.TB
	store *store
	lease *lease.Lease

	covered, overdue time.Time // of a table's partitions; the lock is that of store
	problems         []error
}

// plan is that of a table in which nothing is left to do, unless a test says so.
func (s *system) plan(context.Context) (*partition.Plan, error) {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	return &partition.Plan{Now: time.Now(), Covered: s.covered, Overdue: s.overdue, Problems: s.problems}, nil
}

// store has an own clock, and answers late or not at all.
type store struct {
	lease.Store
	mu     sync.Mutex
	delay  time.Duration
	behind time.Duration
	down   bool
}

func (s *store) now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Now().Add(-s.behind)
}

func (s *store) change(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

func (s *store) Extend(ctx context.Context, c lease.Claim, horizon int64, ttl time.Duration) (time.Time, error) {
	s.mu.Lock()
	delay, down := s.delay, s.down
	s.mu.Unlock()
	time.Sleep(delay)
	if down {
		return time.Time{}, errors.New("down")
	}
	return s.Store.Extend(ctx, c, horizon, ttl)
}

// clock steps by a jump.
type clock struct {
	mu   sync.Mutex
	jump time.Duration
}

var origin = time.Now()

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.jump)
}

func (c *clock) Elapsed() time.Duration { return time.Since(origin) }

func (c *clock) Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func TestEachAlertFiresForItsCauseAndNotBefore(t *testing.T) {
	const (
		four   = "epoch=1999-01-01T00:00:00Z tick=1ms time:41 worker:2 sequence:2" // IDs a millisecond
		ending = "epoch=1999-01-01T00:00:00Z tick=1ms time:36 worker:2 sequence:2" // in March 2001
		ends3  = "epoch=1999-01-01T00:00:00Z tick=2ms time:36 worker:2 sequence:2" // in May 2003
	)
	var jumping clock
	tests := []struct {
		name   string
		layout string
		opts   []lease.Option
		run    func(s *system) // what happens after ten minutes
		want   string
	}{
		{"calm", four, nil, func(*system) {}, ""},
		{"calls fail for 20 s in five minutes", four, []lease.Option{lease.WithWindow(time.Minute)}, func(s *system) {
			s.outage(20 * time.Second)
		}, ""},
		{"calls fail for five minutes", four, nil, func(s *system) {
			s.outage(5 * time.Minute)
		}, "SnowflakeIssuesNoIDs SnowflakeLeaseCallsFail"},
		{"calls fail for four of ten minutes", four, []lease.Option{lease.WithWindow(10 * time.Minute)}, func(s *system) {
			s.store.change(func() { s.store.down = true })
			for s.lease.Status().Failures == 0 {
				time.Sleep(time.Second)
			}
			s.outage(4 * time.Minute)
		}, "SnowflakeLeaseCallsFail"},
		{"calls of 0.9 s", four, nil, func(s *system) {
			s.store.change(func() { s.store.delay = 900 * time.Millisecond })
		}, ""},
		{"calls of 1.1 s", four, nil, func(s *system) {
			s.store.change(func() { s.store.delay = 1100 * time.Millisecond })
		}, "SnowflakeLeaseCallsSlow"},
		{"another process takes the worker", four, nil, func(s *system) {
			s.store.change(func() { s.store.down = true })
			time.Sleep(21 * time.Second)
			s.open(s.store.Store, lease.WithWorkers(0, 0))
			s.store.change(func() { s.store.down = false })
		}, "SnowflakeLeaseLost"},
		{"3 of 4 workers are held", four, nil, func(s *system) {
			s.open(s.store.Store)
			s.open(s.store.Store)
		}, ""},
		{"4 of 4 workers are held", four, nil, func(s *system) {
			s.open(s.store.Store)
			s.open(s.store.Store)
			s.open(s.store.Store)
		}, "SnowflakeWorkersShort"},
		{"the store's clock is off by 4 s", four, nil, func(s *system) {
			s.store.change(func() { s.store.behind = 4 * time.Second })
		}, ""},
		{"the store's clock is off by 6 s", four, nil, func(s *system) {
			s.store.change(func() { s.store.behind = 6 * time.Second })
		}, "SnowflakeClockSkewed"},
		{"the wall clock is set back by a minute", four, []lease.Option{lease.WithClock(&jumping)}, func(*system) {
			jumping.mu.Lock()
			defer jumping.mu.Unlock()
			jumping.jump = -time.Minute
		}, "SnowflakeClockDrifts SnowflakeClockSkewed"},
		{"one call waits half of the time", four, nil, func(s *system) {
			s.load(1, 500*time.Millisecond)
		}, ""},
		{"three calls wait", four, nil, func(s *system) {
			s.load(3, 0)
		}, "SnowflakeRateExceeded"},
		{"partitions end in three hours", four, nil, func(s *system) {
			s.store.change(func() { s.covered = time.Now().Add(3 * time.Hour) })
		}, ""},
		{"partitions end in two hours", four, nil, func(s *system) {
			s.store.change(func() { s.covered = time.Now().Add(2 * time.Hour) })
		}, "SnowflakePartitionsEnd"},
		{"rows have no partition", four, nil, func(s *system) {
			s.store.change(func() { s.covered = time.Time{} })
		}, "SnowflakePartitionsEnd"},
		{"no Maintain for two hours", four, nil, func(s *system) {
			s.store.change(func() { s.overdue = time.Now().Add(-2 * time.Hour) })
		}, ""},
		{"no Maintain for three hours", four, nil, func(s *system) {
			s.store.change(func() { s.overdue = time.Now().Add(-3 * time.Hour) })
		}, "SnowflakePartitionsOverdue"},
		{"a problem of a partition", four, nil, func(s *system) {
			s.store.change(func() { s.problems = []error{partition.ErrBlocked} })
		}, "SnowflakePartitionsNeedAttention"},
		{"the layout ends in 17 months", ending, nil, func(*system) {}, "SnowflakeLayoutEnds"},
		{"the layout ends in 3 years", ends3, nil, func(*system) {}, ""},
	}
	rules := alerts(t)
	covered := map[string]bool{}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			db := newDatabase()
			synctest.Test(t, func(t *testing.T) { run(t, db, test.layout, test.opts, test.run) })
			fired, atEnd := db.firing(t, rules)
			if got := strings.Join(fired, " "); got != test.want {
				t.Errorf("fired: %q, want %q", got, test.want)
			}
			if strings.HasPrefix(test.name, "calls fail") && atEnd {
				t.Error("an alert fires long after the store has come back")
			}
		})
		for name := range strings.FieldsSeq(test.want) {
			covered[name] = true
		}
	}
	for _, rule := range rules {
		if !covered[rule.Alert] {
			t.Errorf("nothing fires %s", rule.Alert)
		}
	}
}

// run scrapes a system for 45 minutes.
func run(t *testing.T, db *database, layout string, opts []lease.Option, happen func(*system)) {
	parsed, err := snowflake.ParseLayout(layout)
	if err != nil {
		t.Fatal(err)
	}
	s := &system{tb: t, store: new(store), covered: time.Now().AddDate(0, 0, 3)}
	s.store.Store = leasetest.NewMemory(s.store.now)
	s.lease = s.open(s.store, append([]lease.Option{lease.WithGenerator(snowflake.WithLayout(parsed))}, opts...)...)
	collector, registry := promsnowflake.New(), prometheus.NewPedanticRegistry()
	collector.AddLease("orders", s.lease)
	collector.QueryWorkers(time.Minute)
	registry.MustRegister(collector, promsnowflake.Partitions("events", s.plan))
	go func() {
		time.Sleep(10 * time.Minute)
		happen(s)
	}()
	for range int(45 * time.Minute / scrapeInterval) {
		_, _ = s.lease.Generator().NextContext(t.Context()) // so that the clocks are compared
		db.scrape(t, registry)
		time.Sleep(scrapeInterval)
	}
	collector.Remove("orders")
}

// open opens a lease that is closed at the end.
func (s *system) open(store lease.Store, opts ...lease.Option) *lease.Lease {
	opts = append([]lease.Option{lease.WithLogger(slog.New(slog.DiscardHandler)), lease.WithPatience(0)}, opts...)
	if s.lease != nil {
		opts = append(opts, lease.WithGenerator(snowflake.WithLayout(s.lease.Generator().Layout())))
	}
	l, err := lease.Open(s.tb.Context(), store, opts...)
	if err != nil {
		s.tb.Error(err)
		return s.lease
	}
	s.tb.Cleanup(func() { _ = l.Close(context.Background()) })
	return l
}

func (s *system) outage(d time.Duration) {
	s.store.change(func() { s.store.down = true })
	time.Sleep(d)
	s.store.change(func() { s.store.down = false })
}

// load asks for more IDs than there are, for 20 minutes.
func (s *system) load(calls int, pause time.Duration) {
	end := time.Now().Add(20 * time.Minute)
	for range calls {
		go func() {
			for time.Now().Before(end) && s.tb.Context().Err() == nil {
				_ = s.lease.Generator().Fill(s.tb.Context(), make([]snowflake.ID, 4*2000)) // as many as in 2 s
				time.Sleep(pause * 4)
			}
		}()
	}
}

func TestEveryQueryNamesMetricsThatExist(t *testing.T) {
	known := map[string]bool{}
	descriptions := make(chan *prometheus.Desc, 100)
	promsnowflake.New().Describe(descriptions)
	promsnowflake.Partitions("", nil).Describe(descriptions)
	close(descriptions)
	for d := range descriptions {
		name := strings.Split(d.String(), `"`)[1]
		known[name] = false
		if strings.HasSuffix(name, "_seconds") {
			for _, suffix := range []string{"_bucket", "_sum", "_count"} {
				known[name+suffix] = false
			}
		}
	}
	var queries []string
	for _, rule := range alerts(t) {
		queries = append(queries, rule.Expr)
		if len(rule.Annotations) == 0 || rule.Labels["severity"] == "" {
			t.Errorf("%s has no annotation or no severity", rule.Alert)
		}
	}
	for _, panel := range dashboard(t) {
		if panel.Title == "" || panel.Description == "" || len(panel.Targets) == 0 || panel.FieldConfig.Defaults.Unit == "" {
			t.Errorf("panel %q lacks a title, a description, a query or a unit", panel.Title)
		}
		for _, target := range panel.Targets {
			queries = append(queries, strings.ReplaceAll(target.Expr, "$__rate_interval", "1m"))
		}
	}
	for _, query := range queries {
		for _, name := range metricsOf(t, query) {
			if _, ok := known[name]; !ok {
				t.Errorf("%s: there is no metric %s", query, name)
			}
			known[name] = true
		}
	}
	doc, err := os.ReadFile("../../doc.go")
	if err != nil {
		t.Fatal(err)
	}
	for name, used := range known {
		base := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_sum"), "_count")
		if base == name && !strings.Contains(string(doc), "//	"+name+" ") {
			t.Errorf("doc.go does not explain %s", name)
		}
		shown := used || known[base+"_bucket"] || known[base+"_sum"] || known[base+"_count"]
		if base == name && !shown {
			t.Errorf("no alert and no panel shows %s", name)
		}
	}
}

type panel struct {
	Title, Description string
	FieldConfig        struct{ Defaults struct{ Unit string } }
	Targets            []struct{ Expr string }
}

func dashboard(tb testing.TB) []panel {
	tb.Helper()
	text, err := os.ReadFile("../../dashboard.json")
	if err != nil {
		tb.Fatal(err)
	}
	var d struct {
		Title  string
		Panels []panel
	}
	if err := json.Unmarshal(text, &d); err != nil {
		tb.Fatal(err)
	}
	titles := make([]string, 0, len(d.Panels))
	for _, p := range d.Panels {
		titles = append(titles, p.Title)
	}
	slices.Sort(titles)
	if d.Title == "" || len(titles) == 0 || len(slices.Compact(titles)) != len(d.Panels) {
		tb.Fatalf("%q has panels %v", d.Title, titles)
	}
	return d.Panels
}
