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

// system is a lease, its store, and the partitions of a table, under one test.
type system struct {
	lease.Store
	tb     testing.TB
	layout snowflake.Layout
	lease  *lease.Lease

	mu            sync.Mutex     // guards what follows
	delay, behind time.Duration  // of the store's answers, and of its clock
	down          bool           // the store
	plan          partition.Plan // one in which nothing is left to do, unless a test says so
}

func (s *system) Extend(ctx context.Context, c lease.Claim, horizon int64, ttl time.Duration) (time.Time, error) {
	s.mu.Lock()
	delay, down := s.delay, s.down
	s.mu.Unlock()
	time.Sleep(delay)
	if down {
		return time.Time{}, errors.New("down")
	}
	return s.Store.Extend(ctx, c, horizon, ttl)
}

func (s *system) storeTime() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Now().Add(-s.behind)
}

func (s *system) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

func (s *system) outage(d time.Duration) {
	s.set(func() { s.down = true })
	time.Sleep(d)
	s.set(func() { s.down = false })
}

// open opens a lease that is closed at the end.
func (s *system) open(store lease.Store, more ...lease.Option) *lease.Lease {
	l, err := lease.Open(s.tb.Context(), store, append([]lease.Option{
		lease.WithLogger(slog.New(slog.DiscardHandler)), lease.WithPatience(0), lease.WithGenerator(snowflake.WithLayout(s.layout)),
	}, more...)...)
	if err != nil {
		s.tb.Error(err)
		return s.lease
	}
	s.tb.Cleanup(func() { _ = l.Close(context.Background()) })
	return l
}

func (s *system) openMore(leases int) {
	for range leases {
		s.open(s.Store)
	}
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
	var jumping clock
	covered := func(d time.Duration) func(*system) {
		return func(s *system) { s.set(func() { s.plan.Covered = time.Now().Add(d) }) }
	}
	overdue := func(d time.Duration) func(*system) {
		return func(s *system) { s.set(func() { s.plan.Overdue = time.Now().Add(-d) }) }
	}
	slow := func(d time.Duration) func(*system) { return func(s *system) { s.set(func() { s.delay = d }) } }
	behind := func(d time.Duration) func(*system) { return func(s *system) { s.set(func() { s.behind = d }) } }
	tests := []struct {
		name, want string
		layout     string // the bits of the time and the tick
		opt        lease.Option
		run        func(s *system) // what happens after ten minutes
	}{
		{name: "calm"},
		{
			name: "calls fail for 20 s in five minutes", opt: lease.WithWindow(time.Minute),
			run: func(s *system) { s.outage(20 * time.Second) },
		},
		{
			name: "calls fail for five minutes", want: "SnowflakeIssuesNoIDs SnowflakeLeaseCallsFail",
			run: func(s *system) { s.outage(5 * time.Minute) },
		},
		{
			name: "calls fail for four of ten minutes", want: "SnowflakeLeaseCallsFail", opt: lease.WithWindow(10 * time.Minute),
			run: func(s *system) {
				s.set(func() { s.down = true })
				for s.lease.Status().Failures == 0 {
					time.Sleep(time.Second)
				}
				s.outage(4 * time.Minute)
			},
		},
		{name: "calls of 0.9 s", run: slow(900 * time.Millisecond)},
		{name: "calls of 1.1 s", want: "SnowflakeLeaseCallsSlow", run: slow(1100 * time.Millisecond)},
		{name: "another process takes the worker", want: "SnowflakeLeaseLost", run: func(s *system) {
			s.set(func() { s.down = true })
			time.Sleep(21 * time.Second)
			s.open(s.Store, lease.WithWorkers(0, 0))
			s.set(func() { s.down = false })
		}},
		{name: "3 of 4 workers are held", run: func(s *system) { s.openMore(2) }},
		{name: "4 of 4 workers are held", want: "SnowflakeWorkersShort", run: func(s *system) { s.openMore(3) }},
		{name: "the store's clock is off by 4 s", run: behind(4 * time.Second)},
		{name: "the store's clock is off by 6 s", want: "SnowflakeClockSkewed", run: behind(6 * time.Second)},
		{
			name: "the wall clock is set back by a minute", want: "SnowflakeClockDrifts SnowflakeClockSkewed",
			opt: lease.WithClock(&jumping), run: func(*system) { jumping.ahead.Store(int64(-time.Minute)) },
		},
		{name: "one call waits half of the time", run: func(s *system) { s.load(1, 500*time.Millisecond) }},
		{name: "three calls wait", want: "SnowflakeRateExceeded", run: func(s *system) { s.load(3, 0) }},
		{name: "partitions end in three hours", run: covered(3 * time.Hour)},
		{name: "partitions end in two hours", want: "SnowflakePartitionsEnd", run: covered(2 * time.Hour)},
		{name: "rows have no partition", want: "SnowflakePartitionsEnd", run: func(s *system) {
			s.set(func() { s.plan.Covered = time.Time{} })
		}},
		{name: "no Maintain for two hours", run: overdue(2 * time.Hour)},
		{name: "no Maintain for three hours", want: "SnowflakePartitionsOverdue", run: overdue(3 * time.Hour)},
		{name: "a problem of a partition", want: "SnowflakePartitionsNeedAttention", run: func(s *system) {
			s.set(func() { s.plan.Problems = []error{partition.ErrBlocked} })
		}},
		{name: "the layout ends in 17 months", want: "SnowflakeLayoutEnds", layout: "tick=1ms time:36"}, // in March 2001
		{name: "the layout ends in 3 years", layout: "tick=2ms time:36"},                                // in May 2003
	}
	rules, untested := alerts(t), map[string]bool{}
	for _, rule := range rules {
		untested[rule.Alert] = true
	}
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
			delete(untested, alert)
		}
	}
	if len(untested) > 0 {
		t.Errorf("nothing fires %v", untested)
	}
}

// run scrapes a system for 45 minutes.
func run(t *testing.T, db *database, layout string, opt lease.Option, happen func(*system)) {
	if layout == "" {
		layout = "tick=1ms time:41"
	}
	parsed, err := snowflake.ParseLayout("epoch=1999-01-01T00:00:00Z " + layout + " worker:2 sequence:2") // 4 IDs a tick
	if err != nil {
		t.Fatal(err)
	}
	s := &system{tb: t, layout: parsed, plan: partition.Plan{Covered: time.Now().AddDate(0, 0, 3)}}
	s.Store = leasetest.NewMemory(s.storeTime)
	var opts []lease.Option
	if opt != nil {
		opts = []lease.Option{opt}
	}
	s.lease = s.open(s, opts...)
	collector, registry := promsnowflake.New(), prometheus.NewPedanticRegistry()
	collector.AddLease("orders", s.lease)
	collector.QueryWorkers(time.Minute)
	registry.MustRegister(collector, promsnowflake.Partitions("events", func(context.Context) (*partition.Plan, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		plan := s.plan
		plan.Now = time.Now()
		return &plan, nil
	}))
	if happen != nil {
		time.AfterFunc(10*time.Minute, func() { happen(s) })
	}
	for range int(45 * time.Minute / scrapeInterval) {
		_, _ = s.lease.Generator().NextContext(t.Context()) // so that the clocks are compared
		db.scrape(t, registry)
		time.Sleep(scrapeInterval)
	}
	collector.Remove("orders")
}

func TestEveryQueryNamesMetricsThatExist(t *testing.T) {
	shown := map[string]bool{} // by the metric
	descriptions := make(chan *prometheus.Desc, 100)
	promsnowflake.New().Describe(descriptions)
	promsnowflake.Partitions("", nil).Describe(descriptions)
	close(descriptions)
	for d := range descriptions {
		shown[strings.Split(d.String(), `"`)[1]] = false
	}
	var queries []string
	for _, rule := range alerts(t) {
		queries = append(queries, rule.Expr)
		if len(rule.Annotations) == 0 || rule.Labels["severity"] == "" {
			t.Errorf("%s has no annotation or no severity", rule.Alert)
		}
	}
	var dashboard struct {
		Title  string
		Panels []struct {
			Title, Description string
			FieldConfig        struct{ Defaults struct{ Unit string } }
			Targets            []struct{ Expr string }
		}
	}
	text, err := os.ReadFile("../../dashboard.json")
	if err != nil || json.Unmarshal(text, &dashboard) != nil || dashboard.Title == "" || len(dashboard.Panels) == 0 {
		t.Fatalf("%v, %+v", err, dashboard)
	}
	for _, panel := range dashboard.Panels {
		if panel.Title == "" || panel.Description == "" || len(panel.Targets) == 0 || panel.FieldConfig.Defaults.Unit == "" {
			t.Errorf("panel %q lacks a title, a description, a query or a unit", panel.Title)
		}
		for _, target := range panel.Targets {
			queries = append(queries, strings.ReplaceAll(target.Expr, "$__rate_interval", "1m"))
		}
	}
	for _, query := range queries {
		for _, name := range metricsOf(t, query) {
			for _, of := range []string{"_bucket", "_sum", "_count"} {
				if histogram := strings.TrimSuffix(name, of); strings.HasSuffix(histogram, "wait_seconds") || strings.HasSuffix(histogram, "call_seconds") {
					name = histogram
				}
			}
			if _, ok := shown[name]; !ok {
				t.Errorf("%s: there is no metric %s", query, name)
			}
			shown[name] = true
		}
	}
	doc, err := os.ReadFile("../../doc.go")
	if err != nil {
		t.Fatal(err)
	}
	for name, is := range shown {
		if !strings.Contains(string(doc), "//	"+name+" ") {
			t.Errorf("doc.go does not explain %s", name)
		}
		if !is {
			t.Errorf("no alert and no panel shows %s", name)
		}
	}
}
