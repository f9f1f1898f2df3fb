//go:build !race

package prometheus

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"

	"github.com/sqlflake/sqlflake/contrib/promsnowflake"
)

func alerts(tb testing.TB) []rulefmt.Rule {
	tb.Helper()
	// checks queries and templates, too
	groups, errs := rulefmt.ParseFile("../../../contrib/promsnowflake/alerts.yml", false, model.UTF8Validation)
	if len(errs) > 0 || len(groups.Groups) != 1 {
		tb.Fatal(groups, errs)
	}
	return groups.Groups[0].Rules
}

// always is a gauge, or a counter of what does not happen.
func always(value float64) course { return func(time.Duration) float64 { return value } }

// during is a gauge that has a value from the tenth minute on for d, and another one before and after.
func during(d time.Duration, value, otherwise float64) course {
	return func(at time.Duration) float64 {
		if at >= 10*time.Minute && at < 10*time.Minute+d {
			return value
		}
		return otherwise
	}
}

// counts is a counter that rises by so much a second from the tenth minute on for d.
func counts(d time.Duration, perSecond float64) course {
	return func(at time.Duration) float64 { return perSecond * min(max(at-10*time.Minute, 0), d).Seconds() }
}

const day = 86400

// calm is a system with a lease of which each process extends its own every 5 s, in 10 ms.
var calm = map[string]course{
	"snowflake_lease_horizon_seconds":                    always(9),
	`snowflake_lease_call_errors_total{call="extend"}`:   always(0),
	`snowflake_lease_call_seconds_count{call="extend"}`:  func(at time.Duration) float64 { return at.Seconds() / 5 },
	`snowflake_lease_call_seconds_sum{call="extend"}`:    func(at time.Duration) float64 { return at.Seconds() / 500 },
	`snowflake_lease_call_errors_total{call="release"}`:  func(at time.Duration) float64 { return at.Seconds() },
	`snowflake_lease_call_seconds_sum{call="acquire"}`:   func(at time.Duration) float64 { return at.Seconds() },
	`snowflake_lease_call_seconds_count{call="acquire"}`: always(0),
	`snowflake_lease_call_errors_total{call="acquire"}`:  always(0),
	`snowflake_lease_call_seconds_count{call="release"}`: func(at time.Duration) float64 { return at.Seconds() },
	"snowflake_lease_losses_total":                       always(0),
	`snowflake_lease_held{instance="a"}`:                 always(2),
	`snowflake_lease_held{instance="b"}`:                 always(1),
	`snowflake_lease_workers{instance="b"}`:              always(4),
	"snowflake_lease_clock_skew_seconds":                 always(-4.9),
	"snowflake_clock_drift_seconds":                      always(0.9),
	`snowflake_wait_seconds_sum{reason="clock"}`:         always(0),
	`snowflake_wait_seconds_sum{reason="lease"}`:         func(at time.Duration) float64 { return 50 * at.Seconds() },
	"snowflake_layout_remaining_seconds":                 always(731 * day),
	"snowflake_partition_covered_seconds":                always(2 * 3600),
	"snowflake_partition_overdue_seconds":                always(3 * 3600),
	"snowflake_partition_problems":                       always(0),
}

func TestEachAlertFiresForItsCauseAndNotBefore(t *testing.T) {
	const (
		horizon = "snowflake_lease_horizon_seconds"
		failed  = `snowflake_lease_call_errors_total{call="extend"}`
		took    = `snowflake_lease_call_seconds_sum{call="extend"}`
		losses  = "snowflake_lease_losses_total"
		held    = `snowflake_lease_held{instance="a"}`
		skew    = "snowflake_lease_clock_skew_seconds"
		drift   = "snowflake_clock_drift_seconds"
		waited  = `snowflake_wait_seconds_sum{reason="clock"}`
		ends    = "snowflake_layout_remaining_seconds"
		covered = "snowflake_partition_covered_seconds"
		overdue = "snowflake_partition_overdue_seconds"
		problem = "snowflake_partition_problems"
		minute  = time.Minute
	)
	tests := []struct {
		name, series string
		value        course
		want         string
	}{
		{"calm", horizon, always(9), ""},
		{"no ID at one scrape", horizon, during(30*time.Second, -1, 9), ""},
		{"no ID for a minute", horizon, during(minute, 0, 9), "SnowflakeIssuesNoIDs"},
		{"calls fail for 20 s", failed, counts(20*time.Second, 0.2), ""},
		{"half of the calls fail", failed, counts(time.Hour, 0.1), ""},
		{"two of three calls fail", failed, counts(time.Hour, 0.13), "SnowflakeLeaseCallsFail"},
		{"calls fail for two minutes", failed, counts(2*minute, 0.2), ""},
		{"calls fail for three minutes", failed, counts(3*minute, 0.2), "SnowflakeLeaseCallsFail"},
		{"calls of 0.9 s", took, counts(time.Hour, 0.9/5), ""},
		{"calls of 1.1 s", took, counts(24*minute, 1.1/5), "SnowflakeLeaseCallsSlow"},
		{"calls of 1.1 s for a while", took, counts(15*minute, 1.1/5), ""},
		{"another process takes the worker", losses, counts(time.Second, 1), "SnowflakeLeaseLost"},
		{"all workers are held", held, during(11*minute, 3, 2), "SnowflakeWorkersShort"},
		{"all workers are held during a rollout", held, during(10*minute, 3, 2), ""},
		{"the store's clock is off by 5.1 s", skew, during(6*minute, -5.1, 0), "SnowflakeClockSkewed"},
		{"the store's clock is off by 5.1 s for 5 minutes", skew, during(5*minute, -5.1, 0), ""},
		{"times are off by 1.1 s", drift, during(11*minute, -1.1, 0), "SnowflakeClockDrifts"},
		{"times are off by 1.1 s for 10 minutes", drift, during(10*minute, -1.1, 0), ""},
		{"0.9 calls wait", waited, counts(time.Hour, 0.9), ""},
		{"1.1 calls wait", waited, counts(20*minute, 1.1), "SnowflakeRateExceeded"},
		{"1.1 calls wait for a while", waited, counts(12*minute, 1.1), ""},
		{"the layout ends in 2 years", ends, always(729 * day), "SnowflakeLayoutEnds"},
		{"the layout ends in 2 years by mistake", ends, during(10*minute, 729*day, 731*day), ""},
		{"partitions end in less than 2 hours", covered, during(90*time.Second, 7199, 7200), "SnowflakePartitionsEnd"},
		{"rows have no partition for a minute", covered, during(minute, 0, 7200), ""},
		{"no Maintain for three hours", overdue, during(16*minute, 10801, 0), "SnowflakePartitionsOverdue"},
		{"Maintain is late", overdue, during(15*minute, 10801, 0), ""},
		{"a problem of a partition", problem, during(31*minute, 1, 0), "SnowflakePartitionsNeedAttention"},
		{"a problem that passes", problem, during(30*minute, 1, 0), ""},
	}
	rules, untested := alerts(t), map[string]bool{}

	for _, rule := range rules {
		untested[rule.Alert] = true
	}

	for _, test := range tests {
		series := maps.Clone(calm)
		series[test.series] = test.value
		fired, atEnd := newDatabase(t, series).firing(t, rules)
		if got := strings.Join(fired, " "); got != test.want {
			t.Errorf("%s: fired %q, want %q", test.name, got, test.want)
		}
		if strings.HasPrefix(test.name, "calls fail") && atEnd {
			t.Errorf("%s: an alert fires long after the store has come back", test.name)
		}

		delete(untested, test.want)
	}

	if len(untested) > 0 {
		t.Errorf("nothing fires %v", untested)
	}
}

// ofHistogram is a series of a histogram, whose name comes first.
var ofHistogram = regexp.MustCompile(`(.*_(?:wait|call)_seconds)_(?:bucket|sum|count)$`)

func TestEveryQueryNamesMetricsThatExist(t *testing.T) {
	shown := map[string]bool{} // by the metric
	descriptions := make(chan *prometheus.Desc, 100)
	promsnowflake.New().Describe(descriptions)
	close(descriptions)

	for d := range descriptions {
		shown[strings.Split(d.String(), `"`)[1]] = false
	}
	for _, name := range []string{"covered_seconds", "overdue_seconds", "problems"} { // of the example Partitions
		shown["snowflake_partition_"+name] = false
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
	text, err := os.ReadFile("../../../contrib/promsnowflake/dashboard.json")
	if err != nil || json.Unmarshal(text, &dashboard) != nil || dashboard.Title == "" || len(dashboard.Panels) == 0 {
		t.Fatalf("%v, %+v", err, dashboard)
	}

	for _, panel := range dashboard.Panels {
		if panel.Title == "" || panel.Description == "" || len(panel.Targets) == 0 ||
			panel.FieldConfig.Defaults.Unit == "" {
			t.Errorf("panel %q lacks a title, a description, a query or a unit", panel.Title)
		}
		for _, target := range panel.Targets {
			queries = append(queries, strings.ReplaceAll(target.Expr, "$__rate_interval", "1m"))
		}
	}

	for _, query := range queries {
		for _, name := range metricsOf(t, query) {
			name = ofHistogram.ReplaceAllString(name, "$1")
			if _, ok := shown[name]; !ok {
				t.Errorf("%s: there is no metric %s", query, name)
			}

			shown[name] = true
		}
	}

	doc, err := os.ReadFile("../../../contrib/promsnowflake/doc.go")
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

const (
	scrapeInterval = 30 * time.Second
	length         = 45 * time.Minute
)

// course is the value of a series at a time since the start.
type course func(at time.Duration) float64

// database has a scrape every 30 s, for 45 minutes.
type database []promql.Series

func newDatabase(tb testing.TB, series map[string]course) (db database) {
	tb.Helper()
	for name, value := range series {
		metric, err := parser.ParseMetric(name)
		if err != nil {
			tb.Fatal(err)
		}

		s := promql.Series{Metric: metric}
		for at := time.Duration(0); at <= length; at += scrapeInterval {
			s.Floats = append(s.Floats, promql.FPoint{T: at.Milliseconds(), F: value(at)})
		}

		db = append(db, s)
	}

	return db
}

// Querier makes it a storage.Queryable.
func (d database) Querier(int64, int64) (storage.Querier, error) {
	return &storage.MockQuerier{SelectMockFunction: d.find}, nil
}

func (d database) find(_ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	found := &seriesSet{SeriesSet: storage.EmptySeriesSet()}
	for _, s := range d {
		if !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(s.Metric.Get(m.Name)) }) {
			found.rest = append(found.rest, promql.NewStorageSeries(s))
		}
	}
	return found
}

// seriesSet ends, other than storage.TestSeriesSet.
type seriesSet struct {
	storage.SeriesSet
	current storage.Series
	rest    []storage.Series
}

func (s *seriesSet) At() storage.Series { return s.current }

func (s *seriesSet) Next() bool {
	if len(s.rest) == 0 {
		return false
	}
	s.current, s.rest = s.rest[0], s.rest[1:]
	return true
}

// firing returns the alerts that fire at some time, in the order of their names, and whether one fires at the end.
func (d database) firing(tb testing.TB, rules []rulefmt.Rule) (fired []string, atEnd bool) {
	tb.Helper()
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 1e6, Timeout: time.Minute, LookbackDelta: 5 * time.Minute})
	defer func() { _ = engine.Close() }()

	for _, rule := range rules {
		since := map[string]time.Duration{} // when each alert became active
		fires, last := false, false
		for now := time.Duration(0); now <= length; now += scrapeInterval {
			query, err := engine.NewInstantQuery(context.Background(), d, nil, rule.Expr,
				time.UnixMilli(now.Milliseconds()))
			if err != nil {
				tb.Fatal(err)
			}

			vector, err := query.Exec(context.Background()).Vector()
			if err != nil {
				tb.Fatalf("%s: %v", rule.Alert, err)
			}

			active := map[string]time.Duration{}
			last = false
			for _, sample := range vector {
				key := sample.Metric.String()
				active[key] = now
				if before, ok := since[key]; ok {
					active[key] = before
				}
				last = last || now-active[key] >= time.Duration(rule.For)
			}

			since, fires = active, fires || last
			query.Close()
		}

		if fires {
			fired = append(fired, rule.Alert)
		}

		atEnd = atEnd || last
	}

	slices.Sort(fired)
	return fired, atEnd
}

// metricsOf returns the names of the metrics in a query.
func metricsOf(tb testing.TB, query string) (names []string) {
	tb.Helper()
	expr, err := parser.ParseExpr(query)
	if err != nil {
		tb.Fatalf("%s: %v", query, err)
	}

	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		if selector, ok := node.(*parser.VectorSelector); ok {
			names = append(names, selector.Name)
		}
		return nil
	})

	return names
}
