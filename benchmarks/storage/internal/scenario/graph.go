package scenario

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
	"gorm.io/gorm/schema"

	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/engine"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/key"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/proxy"
	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/snowflake"
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

	db, trips, done := b.network()
	defer func() { err = errors.Join(err, done()) }()

	save := s.save
	if b.Params.Get("by") == "GORM" {
		save, err = b.gormSave(db)
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
func (b *Bench) network() (db *sql.DB, trips func() int64, done func() error) {
	n := &proxy.Network{}
	n.Delay, _ = time.ParseDuration(b.Params.Get("delay")) // of one of the cases
	db, done = b.Engine.(engine.Remote).Through(func(ctx context.Context, network, address string) (net.Conn, error) {
		server, err := new(net.Dialer).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return n.Connect(server), nil
	})

	db.SetMaxOpenConns(1) // so that all trips are on the measured connection
	return db, n.Trips, done
}

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
	rows   int   // of a graph
	parent int   // of row i is row i/parent of the level above
	keys   []any // of the graph that is being saved
}

// saver creates the tables.
func (b *Bench) saver(ctx context.Context) (*saver, error) {
	s := &saver{b: b}
	order := b.Table("graph_order", []engine.Column{{Name: "amount"}})
	line := b.Table("graph_line", []engine.Column{
		{Name: "order_id", References: order.Name}, {Name: "amount"},
	}, "order_id")
	tag := b.Table("graph_tag", []engine.Column{
		{Name: "line_id", References: line.Name}, {Name: "amount"},
	}, "line_id")

	for i, l := range []level{
		{order, 1, 1, nil}, {line, graphLines, graphLines, nil}, {tag, graphLines * graphTags, graphTags, nil},
	} {
		l.keys = make([]any, l.rows)
		s.levels[i] = l
	}

	var err error
	if s.source, err = b.source(0, 1); err != nil {
		return nil, err
	}

	return s, b.Create(ctx, order, line, tag)
}

// readsBack reports whether the keys of a level are read from the database. Nothing refers to the last level.
func (s *saver) readsBack(at int) bool { return s.source == nil && at < len(s.levels)-1 }

// insert returns the statement for the rows of a level, and its values.
func (s *saver) insert(at int) (text string, args []any) {
	l := s.levels[at]
	for i := range l.rows {
		if s.source != nil {
			args = append(args, s.b.Value(l.keys[i]))
		}
		if at > 0 {
			args = append(args, s.b.Value(s.levels[at-1].keys[i/l.parent]))
		}
		args = append(args, int64(i))
	}

	return s.b.insertText(l.table, l.rows, s.source != nil, s.readsBack(at)), args
}

// save sends as many statements together as have known keys. Keys of the client are all known. A key of
// auto-increment is known when the database has returned it.
func (s *saver) save(ctx context.Context) error {
	for _, l := range s.levels {
		if s.source == nil {
			break
		}
		if err := s.source(l.keys); err != nil {
			return err
		}
	}

	if s.b.Dialect() == "mariadb" {
		return s.inOneText(ctx)
	}

	return s.conn.Raw(func(driver any) error { return s.inBatches(ctx, driver.(*stdlib.Conn).Conn()) })
}

// inBatches sends batches to PostgreSQL: one, or one for each level whose keys are read back.
func (s *saver) inBatches(ctx context.Context, conn *pgx.Conn) error {
	batch := &pgx.Batch{}
	batch.Queue("BEGIN")
	for at, l := range s.levels {
		text, args := s.insert(at)
		queued := batch.Queue(text, args...)
		if !s.readsBack(at) {
			continue
		}

		queued.Query(func(rows pgx.Rows) error {
			ids, err := pgx.CollectRows(rows, pgx.RowTo[int64])
			for i, id := range ids {
				l.keys[i] = id
			}
			return err
		})

		if err := conn.SendBatch(ctx, batch).Close(); err != nil {
			return err
		}

		batch = &pgx.Batch{}
	}

	batch.Queue("COMMIT")
	return conn.SendBatch(ctx, batch).Close()
}

// inOneText sends texts of several statements to MariaDB: one, or one for each level whose keys are read back.
func (s *saver) inOneText(ctx context.Context) error {
	all, allArgs := "BEGIN; ", []any(nil)
	for at, l := range s.levels {
		text, args := s.insert(at)
		all, allArgs = all+text, append(allArgs, args...)
		if !s.readsBack(at) {
			all += "; "
			continue
		}

		rows, err := s.conn.QueryContext(ctx, all, allArgs...)
		if err != nil {
			return err
		}

		keys := l.keys[:0]
		err = eachKey(rows, func(id any) { keys = append(keys, id) })
		if err == nil && len(keys) != len(l.keys) {
			err = fmt.Errorf("%d keys were returned, want %d", len(keys), len(l.keys))
		}
		if err != nil {
			return err
		}

		all, allArgs = "", nil
	}

	_, err := s.conn.ExecContext(ctx, all+"COMMIT", allArgs...)
	return err
}

// gormSave returns a function that saves a graph with GORM, as an application does: one Create of an order with its
// lines and their tags. GORM sends BEGIN, a statement for each table and COMMIT, and waits for each of them.
func (b *Bench) gormSave(pool *sql.DB) (func(ctx context.Context) error, error) {
	dialector := mysql.New(mysql.Config{Conn: pool})
	if b.Dialect() == "postgres" {
		dialector = postgres.New(postgres.Config{Conn: pool})
	}

	db, err := gorm.Open(dialector, &gorm.Config{Logger: logger.Discard, NamingStrategy: namer{kind: b.Kind.Name}})
	if err != nil {
		return nil, fmt.Errorf("open GORM: %w", err)
	}

	switch b.Kind.Name {
	case "auto":
		return graphCreator[int64](db), nil

	case "snowflake":
		generator, err := snowflake.New(1)
		if err != nil {
			return nil, err
		}
		return graphCreator[snowflake.ID](db), db.Use(gormplugin.New(generator))

	case "uuidv7":
		return graphCreator[bytesUUID](db), nil
	}

	return nil, engine.Unsupported("there is no GORM model for keys of the kind %s", b.Kind.Name)
}

func graphCreator[K comparable](db *gorm.DB) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		order := gormOrder[K]{Lines: make([]gormLine[K], graphLines)}
		for i := range order.Lines {
			order.Lines[i].Amount = int64(i)
			order.Lines[i].Tags = make([]gormTag[K], graphTags)
		}
		return db.WithContext(ctx).Create(&order).Error
	}
}

// gormOrder, gormLine and gormTag are the tables of a saver, with keys of the type K.
type gormOrder[K comparable] struct {
	ID     K `gorm:"primaryKey"`
	Amount int64
	Lines  []gormLine[K] `gorm:"foreignKey:OrderID"`
}

type gormLine[K comparable] struct {
	ID      K `gorm:"primaryKey"`
	OrderID K
	Amount  int64
	Tags    []gormTag[K] `gorm:"foreignKey:LineID"`
}

type gormTag[K comparable] struct {
	ID     K `gorm:"primaryKey"`
	LineID K
	Amount int64
}

// namer names the tables of a kind of key as a saver does.
type namer struct {
	schema.NamingStrategy
	kind string
}

// TableName returns the table of a type, such as gormOrder[int64].
func (n namer) TableName(name string) string {
	name, _, _ = strings.Cut(name, "[")
	return "graph_" + strings.ToLower(strings.TrimPrefix(name, "gorm")) + "_" + n.kind
}

func (o *gormOrder[K]) BeforeCreate(*gorm.DB) error { return makeUUID(&o.ID) }
func (l *gormLine[K]) BeforeCreate(*gorm.DB) error  { return makeUUID(&l.ID) }
func (t *gormTag[K]) BeforeCreate(*gorm.DB) error   { return makeUUID(&t.ID) }

// bytesUUID is a UUID in 16 bytes. MariaDB has no other.
type bytesUUID struct{ uuid.UUID }

// Value returns the 16 bytes.
func (u bytesUUID) Value() (driver.Value, error) { return u.UUID[:], nil }

// makeUUID sets a key that the application makes in a hook. The others are made by the plugin or the database.
func makeUUID(key any) (err error) {
	if k, ok := key.(*bytesUUID); ok {
		k.UUID, err = uuid.NewV7()
	}
	return err
}
