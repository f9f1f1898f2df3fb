//go:build !race

package prometheus

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
)

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
