//go:build !race

package rulestest

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
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

// system is a lease and the partitions of a table, under one test.
type system struct {
	tb    testing.TB
	store *store
	lease *lease.Lease
	plan  partition.Plan // guarded by the store's lock; one in which nothing is left to do, unless a test says so
}

// store has its own clock, and answers late or not at all.
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

// clock is that of a bubble, with a wall clock that a test sets.
type clock struct{ ahead atomic.Int64 }

var origin = time.Now()

func (c *clock) Now() time.Time       { return time.Now().Add(time.Duration(c.ahead.Load())) }
func (*clock) Elapsed() time.Duration { return time.Since(origin) }

func (*clock) Sleep(ctx context.Context, d time.Duration) error {
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
		name, layout, want string
		opt                lease.Option
		run                func(s *system) // what happens after ten minutes
	}{
		{"calm", four, "", nil, func(*system) {}},
		{
			"calls fail for 20 s in five minutes", four, "", lease.WithWindow(time.Minute),
			func(s *system) { s.outage(20 * time.Second) },
		},
		{
			"calls fail for five minutes", four, "SnowflakeIssuesNoIDs SnowflakeLeaseCallsFail", nil,
			func(s *system) { s.outage(5 * time.Minute) },
		},
		{
			"calls fail for four of ten minutes", four, "SnowflakeLeaseCallsFail", lease.WithWindow(10 * time.Minute),
			func(s *system) {
				s.set(func() { s.store.down = true })
				for s.lease.Status().Failures == 0 {
					time.Sleep(time.Second)
				}
				s.outage(4 * time.Minute)
			},
		},
		{"calls of 0.9 s", four, "", nil, func(s *system) { s.set(func() { s.store.delay = 900 * time.Millisecond }) }},
		{
			"calls of 1.1 s", four, "SnowflakeLeaseCallsSlow", nil,
			func(s *system) { s.set(func() { s.store.delay = 1100 * time.Millisecond }) },
		},
		{"another process takes the worker", four, "SnowflakeLeaseLost", nil, func(s *system) {
			s.set(func() { s.store.down = true })
			time.Sleep(21 * time.Second)
			s.open(s.store.Store, lease.WithWorkers(0, 0))
			s.set(func() { s.store.down = false })
		}},
		{"3 of 4 workers are held", four, "", nil, func(s *system) { s.openMore(2) }},
		{"4 of 4 workers are held", four, "SnowflakeWorkersShort", nil, func(s *system) { s.openMore(3) }},
		{
			"the store's clock is off by 4 s", four, "", nil,
			func(s *system) { s.set(func() { s.store.behind = 4 * time.Second }) },
		},
		{
			"the store's clock is off by 6 s", four, "SnowflakeClockSkewed", nil,
			func(s *system) { s.set(func() { s.store.behind = 6 * time.Second }) },
		},
		{
			"the wall clock is set back by a minute", four, "SnowflakeClockDrifts SnowflakeClockSkewed",
			lease.WithClock(&jumping), func(*system) { jumping.ahead.Store(int64(-time.Minute)) },
		},
		{"one call waits half of the time", four, "", nil, func(s *system) { s.load(1, 500*time.Millisecond) }},
		{"three calls wait", four, "SnowflakeRateExceeded", nil, func(s *system) { s.load(3, 0) }},
		{
			"partitions end in three hours", four, "", nil,
			func(s *system) { s.set(func() { s.plan.Covered = time.Now().Add(3 * time.Hour) }) },
		},
		{
			"partitions end in two hours", four, "SnowflakePartitionsEnd", nil,
			func(s *system) { s.set(func() { s.plan.Covered = time.Now().Add(2 * time.Hour) }) },
		},
		{
			"rows have no partition", four, "SnowflakePartitionsEnd", nil,
			func(s *system) { s.set(func() { s.plan.Covered = time.Time{} }) },
		},
		{
			"no Maintain for two hours", four, "", nil,
			func(s *system) { s.set(func() { s.plan.Overdue = time.Now().Add(-2 * time.Hour) }) },
		},
		{
			"no Maintain for three hours", four, "SnowflakePartitionsOverdue", nil,
			func(s *system) { s.set(func() { s.plan.Overdue = time.Now().Add(-3 * time.Hour) }) },
		},
		{
			"a problem of a partition", four, "SnowflakePartitionsNeedAttention", nil,
			func(s *system) { s.set(func() { s.plan.Problems = []error{partition.ErrBlocked} }) },
		},
		{"the layout ends in 17 months", ending, "SnowflakeLayoutEnds", nil, func(*system) {}},
		{"the layout ends in 3 years", ends3, "", nil, func(*system) {}},
	}
	rules, tested := alerts(t), map[string]bool{}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			db := newDatabase()
			synctest.Test(t, func(t *testing.T) { run(t, db, test.layout, test.opt, test.run) })
			fired, atEnd := db.firing(t, rules)
			if got := strings.Join(fired, " "); got != test.want {
				t.Errorf("fired: %q, want %q", got, test.want)
			}
			if strings.HasPrefix(test.name, "calls fail") && atEnd {
				t.Error("an alert fires long after the store has come back")
			}
		})
		for alert := range strings.FieldsSeq(test.want) {
			tested[alert] = true
		}
	}
	for _, rule := range rules {
		if !tested[rule.Alert] {
			t.Errorf("nothing fires %s", rule.Alert)
		}
	}
}

// run scrapes a system for 45 minutes.
func run(t *testing.T, db *database, layout string, opt lease.Option, happen func(*system)) {
	parsed, err := snowflake.ParseLayout(layout)
	if err != nil {
		t.Fatal(err)
	}
	s := &system{tb: t, store: new(store), plan: partition.Plan{Covered: time.Now().AddDate(0, 0, 3)}}
	s.store.Store = leasetest.NewMemory(s.store.now)
	opts := []lease.Option{lease.WithGenerator(snowflake.WithLayout(parsed))}
	if opt != nil {
		opts = append(opts, opt)
	}
	s.lease = s.open(s.store, opts...)
	collector, registry := promsnowflake.New(), prometheus.NewPedanticRegistry()
	collector.AddLease("orders", s.lease)
	collector.QueryWorkers(time.Minute)
	registry.MustRegister(collector, promsnowflake.Partitions("events", func(context.Context) (*partition.Plan, error) {
		s.store.mu.Lock()
		defer s.store.mu.Unlock()
		plan := s.plan
		plan.Now = time.Now()
		return &plan, nil
	}))
	time.AfterFunc(10*time.Minute, func() { happen(s) })
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

func (s *system) openMore(leases int) {
	for range leases {
		s.open(s.store.Store)
	}
}

func (s *system) set(change func()) {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	change()
}

func (s *system) outage(d time.Duration) {
	s.set(func() { s.store.down = true })
	time.Sleep(d)
	s.set(func() { s.store.down = false })
}

// load takes more IDs than there are, for 20 minutes.
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
	if d.Title == "" || len(d.Panels) == 0 {
		tb.Fatalf("%q has panels %v", d.Title, d.Panels)
	}
	return d.Panels
}
