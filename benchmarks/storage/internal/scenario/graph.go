package scenario

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync/atomic"
	"time"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/engine"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/key"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/measure"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/proxy"
)

var graph = Scenario{
	Name:  "graph",
	Title: "Saving an order with its lines and their tags",
	Question: "How often does a program wait for the database while it saves rows that refer to each other, " +
		"and how long, if the network takes a millisecond?",
	Kinds: []string{"auto", "snowflake", "uuidv7", "uuidv4"},
	Cases: func(o Options, e engine.Engine) []measure.Params {
		n := min(max(o.Rows/1000, 5), 200)
		if e.Dialect() == "sqlite" { // there is no network
			return []measure.Params{measure.P("style", "rows", "graphs", n), measure.P("style", "statements", "graphs", n)}
		}
		var cases []measure.Params
		for _, delay := range []string{"0ms", "1ms"} {
			for _, style := range []string{"rows", "statements", "pipelined"} {
				cases = append(cases, measure.P("delay", delay, "style", style, "graphs", n))
			}
		}
		return cases
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

// saver saves graphs on one connection.
type saver struct {
	b      *Bench
	conn   *sql.Conn
	source key.Source // nil: the database makes the keys
	levels [3]level
}

// level is a table of a graph.
type level struct {
	table  engine.Table
	rows   int // of a graph
	parent int // of row i is row i/parent of the level above
}

// styles are the ways to save a graph. rows: a statement for each row, as object-relational mappers do that read keys
// back row by row. statements: a statement for each level. pipelined: all statements together whose keys are known.
// Keys made by the client are all known; those of auto-increment are known when the level above has been returned.
var styles = map[string]func(s *saver, ctx context.Context) error{
	"rows": (*saver).byRow, "statements": (*saver).byLevel, "pipelined": (*saver).pipelined,
}

func runGraph(ctx context.Context, b *Bench) (values map[string]float64, err error) {
	save, ok := styles[b.Params.Get("style")]
	if !ok {
		return nil, fmt.Errorf("unknown style %q", b.Params.Get("style"))
	}
	if err := b.readsBack(); err != nil {
		return nil, err
	}
	s, err := b.saver(ctx)
	if err != nil {
		return nil, err
	}
	db, trips, done, err := b.network(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, done()) }()
	if s.conn, err = db.Conn(ctx); err != nil {
		return nil, err
	}
	defer func() { _ = s.conn.Close() }()
	values = map[string]float64{}
	if b.Dialect() != "sqlite" {
		if values["ping"], err = s.ping(ctx); err != nil {
			return nil, err
		}
	}
	n := b.Number("graphs")
	var took []time.Duration
	before := trips()
	for i := range graphWarm + n {
		if i == graphWarm {
			before = trips()
		}
		start := time.Now()
		if err := save(s, ctx); err != nil {
			return nil, fmt.Errorf("save a graph: %w", err)
		}
		if i >= graphWarm {
			took = append(took, time.Since(start))
			b.Progress(1 + graphLines + graphLines*graphTags)
		}
	}
	if b.Dialect() != "sqlite" {
		values["round_trips"] = float64(trips()-before) / float64(n)
	}
	slices.Sort(took)
	values["time"] = milliseconds(took[len(took)/2])
	return values, s.check(ctx, graphWarm+n)
}

// saver creates the tables.
func (b *Bench) saver(ctx context.Context) (*saver, error) {
	s := &saver{b: b}
	order := b.Table("graph_order", []engine.Column{{Name: "amount"}})
	line := b.Table("graph_line", []engine.Column{
		{Name: "order_id", Type: engine.Key, References: order.Name}, {Name: "amount"},
	}, []string{"order_id"})
	tag := b.Table("graph_tag", []engine.Column{
		{Name: "line_id", Type: engine.Key, References: line.Name}, {Name: "amount"},
	}, []string{"line_id"})
	s.levels = [3]level{{order, 1, 1}, {line, graphLines, graphLines}, {tag, graphLines * graphTags, graphTags}}
	var err error
	s.source, err = b.Kind.New(key.Config{Seed: b.Options.Seed + uint64(b.Round), Clients: 1})
	if err != nil {
		return nil, err
	}
	return s, b.Create(ctx, order, line, tag)
}

// network returns a pool on a network with the given delay, and a counter of its round trips.
func (b *Bench) network(ctx context.Context) (db *sql.DB, trips func() int64, done func() error, err error) {
	remote, ok := b.Engine.(engine.Remote)
	if !ok {
		return b.DB(), func() int64 { return 0 }, func() error { return nil }, nil
	}
	delay, err := time.ParseDuration(b.Params.Get("delay"))
	if err != nil {
		return nil, nil, nil, err
	}
	// The server's address is known when the driver dials it. It is the same for all connections.
	type place struct{ network, address string }
	var server atomic.Pointer[place]
	p, err := proxy.Listen(delay, func(ctx context.Context) (net.Conn, error) {
		var d net.Dialer
		at := server.Load()
		return d.DialContext(ctx, at.network, at.address)
	})
	if err != nil {
		return nil, nil, nil, fmt.Errorf("a network to the server: %w", err)
	}
	db, closeDB, err := remote.Through(ctx, func(ctx context.Context, network, address string) (net.Conn, error) {
		server.Store(&place{network, address})
		return p.Dial(ctx)
	})
	if err != nil {
		return nil, nil, nil, errors.Join(err, p.Close())
	}
	db.SetMaxOpenConns(1) // so that all trips are on the measured connection
	return db, p.Trips, func() error { return errors.Join(closeDB(), p.Close()) }, nil
}

// ping returns the median time of a round trip, in ms.
func (s *saver) ping(ctx context.Context) (float64, error) {
	const n = 50
	took := make([]time.Duration, n)
	for i := range took {
		start := time.Now()
		if err := s.conn.PingContext(ctx); err != nil {
			return 0, err
		}
		took[i] = time.Since(start)
	}
	slices.Sort(took)
	return milliseconds(took[n/2]), nil
}

// check verifies that all graphs are stored.
func (s *saver) check(ctx context.Context, graphs int) error {
	text := fmt.Sprintf("SELECT count(*), count(DISTINCT t.line_id) FROM %s t JOIN %s l ON l.id = t.line_id JOIN %s o ON "+
		"o.id = l.order_id",
		s.levels[2].table.Name, s.levels[1].table.Name, s.levels[0].table.Name)
	var tags, lines int
	if err := s.conn.QueryRowContext(ctx, text).Scan(&tags, &lines); err != nil {
		return err
	}
	if lines != graphs*graphLines || tags != lines*graphTags {
		return fmt.Errorf("there are %d tags of %d lines, want %d of %d", tags, lines, graphs*graphLines*graphTags,
			graphs*graphLines)
	}
	return nil
}
