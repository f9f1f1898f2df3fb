package scenario

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/engine"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/proxy"
)

var graph = Scenario{
	Name:     "graph",
	Title:    "Saving an order with its lines",
	Question: "How long does it take to save an order with its lines, if the database is a network away?",
	Kinds:    []string{"auto", "snowflake", "uuidv7"},
	Cases: func(o Options, e engine.Engine) []measure.Params {
		if e.Dialect() == "sqlite" {
			return nil // there is no network
		}

		n := min(max(o.Rows/1000, 5), 100)
		return []measure.Params{
			measure.P("delay", "1ms", "graphs", n),
			measure.P("delay", "0ms", "graphs", n),
			measure.P("delay", "1ms", "graphs", n, "by", "GORM"),
		}
	},
	Run: runGraph,
}

// An order has lines, and each line has tags.
const (
	graphLines = 10
	graphTags  = 2
)

// graphWarm is the number of graphs that are saved first, so that all statements are prepared.
const graphWarm = 3

func runGraph(ctx context.Context, b *Bench) (values map[string]float64, err error) {
	if err := b.readsBack(); err != nil {
		return nil, err
	}

	s, err := b.saver(ctx)
	if err != nil {
		return nil, err
	}

	db, trips, done, err := b.network()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, done()) }()

	save, ping := s.save, s.ping
	if b.Params.Get("by") == "GORM" {
		save, err = b.gormSave(db)
		ping = db.PingContext
	} else {
		s.conn, err = db.Conn(ctx)
		defer func() { _ = s.conn.Close() }()
	}
	if err != nil {
		return nil, err
	}

	run := func(n int) (float64, error) { return median(n, func() error { return save(ctx) }) }
	if _, err := run(graphWarm); err != nil {
		return nil, fmt.Errorf("save a graph: %w", err)
	}

	values = map[string]float64{}
	n, before := b.Number("graphs"), trips()
	if values["time"], err = run(n); err != nil {
		return nil, fmt.Errorf("save a graph: %w", err)
	}
	values["round_trips"] = float64(trips()-before) / float64(n)

	if values["ping"], err = median(50, func() error { return ping(ctx) }); err != nil {
		return nil, fmt.Errorf("ping: %w", err)
	}
	return values, nil
}

// median calls f n times and returns the median duration in ms.
func median(n int, f func() error) (float64, error) {
	took := make([]time.Duration, n)
	for i := range took {
		start := time.Now()
		if err := f(); err != nil {
			return 0, err
		}
		took[i] = time.Since(start)
	}
	slices.Sort(took)
	return float64(took[n/2].Nanoseconds()) / 1e6, nil
}

// network returns a pool on a network with the given delay, and a counter of its round trips.
func (b *Bench) network() (db *sql.DB, trips func() int64, done func() error, err error) {
	remote, ok := b.Engine.(engine.Remote)
	if !ok {
		return nil, nil, nil, engine.Unsupported("%s is in no network", b.Name())
	}
	delay, err := time.ParseDuration(b.Params.Get("delay"))
	if err != nil {
		return nil, nil, nil, err
	}
	n := &proxy.Network{Delay: delay}
	db, done, err = remote.Through(func(ctx context.Context, network, address string) (net.Conn, error) {
		server, err := new(net.Dialer).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return n.Connect(server), nil
	})
	if err != nil {
		return nil, nil, nil, err
	}
	db.SetMaxOpenConns(1) // so that all trips are on the measured connection
	return db, n.Trips, done, nil
}
