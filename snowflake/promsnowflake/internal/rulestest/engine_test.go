//go:build !race

package rulestest

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
)

const scrapeInterval = 30 * time.Second

// database has the samples of scrapes.
type database struct {
	samples    map[string]*promql.Series // by its labels
	start, end time.Time
}

func newDatabase() *database { return &database{samples: map[string]*promql.Series{}} }

// scrape adds the metrics of now.
func (d *database) scrape(tb testing.TB, from prometheus.Gatherer) {
	tb.Helper()
	families, err := from.Gather()
	if err != nil {
		tb.Fatal(err)
	}
	d.end = time.Now()
	if d.start.IsZero() {
		d.start = d.end
	}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			switch name := family.GetName(); {
			case m.GetCounter() != nil:
				d.add(name, m, m.GetCounter().GetValue())
			case m.GetGauge() != nil:
				d.add(name, m, m.GetGauge().GetValue())
			default: // the buckets are only drawn
				d.add(name+"_sum", m, m.GetHistogram().GetSampleSum())
				d.add(name+"_count", m, float64(m.GetHistogram().GetSampleCount()))
			}
		}
	}
}

func (d *database) add(name string, m *dto.Metric, value float64) {
	all := []string{model.MetricNameLabel, name, "instance", "here"}
	for _, l := range m.GetLabel() {
		all = append(all, l.GetName(), l.GetValue())
	}
	set := labels.FromStrings(all...)
	s := d.samples[set.String()]
	if s == nil {
		s = &promql.Series{Metric: set}
		d.samples[set.String()] = s
	}
	s.Floats = append(s.Floats, promql.FPoint{T: d.end.UnixMilli(), F: value})
}

// Querier makes it a storage.Queryable.
func (d *database) Querier(int64, int64) (storage.Querier, error) {
	return &storage.MockQuerier{SelectMockFunction: d.find}, nil
}

func (d *database) find(_ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	found := &seriesSet{SeriesSet: storage.EmptySeriesSet()}
	for _, s := range d.samples {
		if !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(s.Metric.Get(m.Name)) }) {
			found.rest = append(found.rest, promql.NewStorageSeries(*s))
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
func (d *database) firing(tb testing.TB, rules []rulefmt.Rule) (fired []string, atEnd bool) {
	tb.Helper()
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 1e6, Timeout: time.Minute, LookbackDelta: 5 * time.Minute})
	defer func() { _ = engine.Close() }()
	for _, rule := range rules {
		since := map[string]time.Time{} // when each alert became active
		fires, last := false, false
		for now := d.start; !now.After(d.end); now = now.Add(scrapeInterval) {
			query, err := engine.NewInstantQuery(context.Background(), d, nil, rule.Expr, now)
			if err != nil {
				tb.Fatal(err)
			}
			vector, err := query.Exec(context.Background()).Vector()
			if err != nil {
				tb.Fatalf("%s: %v", rule.Alert, err)
			}
			active := map[string]time.Time{}
			last = false
			for _, sample := range vector {
				key := sample.Metric.String()
				active[key] = now
				if before, ok := since[key]; ok {
					active[key] = before
				}
				last = last || now.Sub(active[key]) >= time.Duration(rule.For)
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
