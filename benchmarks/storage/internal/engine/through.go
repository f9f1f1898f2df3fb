package engine

import (
	"context"
	"database/sql"
	"errors"
	"net"
	"strconv"
	"sync/atomic"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// Dial connects to a server at the address that the engine expects.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// Remote is an engine on a network.
type Remote interface {
	Engine
	// Through returns another pool for the engine's place that connects with dial, and a function that closes it.
	// MariaDB's sends parameters of unprepared statements in the statement's text, which may contain several
	// statements.
	Through(ctx context.Context, dial Dial) (db *sql.DB, done func() error, err error)
}

// Replicated is an engine that sends its log to replicas: PostgreSQL.
type Replicated interface {
	Engine
	// Replication connects as a physical replica does. The error is errors.ErrUnsupported if the server refuses.
	Replication(ctx context.Context) (*pgconn.PgConn, error)
}

func (e *postgres) Through(_ context.Context, dial Dial) (*sql.DB, func() error, error) {
	config := e.config.Copy()
	config.DialFunc = pgconn.DialFunc(dial)
	db := stdlib.OpenDB(*config)
	return db, db.Close, nil
}

func (e *postgres) Replication(ctx context.Context) (*pgconn.PgConn, error) {
	config := e.config.Config.Copy()
	config.RuntimeParams["replication"] = "true"
	conn, err := pgconn.ConnectConfig(ctx, config)
	var refusal *pgconn.PgError
	if errors.As(err, &refusal) {
		err = Unsupported("the server sends its log to no replica: %s", refusal.Message)
	}
	return conn, err
}

// networks numbers the networks of Through. The driver keeps their names for the life of the process.
var networks atomic.Int64

func (e *mariadb) Through(_ context.Context, dial Dial) (*sql.DB, func() error, error) {
	config := e.config.Clone()
	config.DBName, config.MultiStatements, config.InterpolateParams = e.place, true, true
	network := config.Net
	config.Net = "sqlflake" + strconv.FormatInt(networks.Add(1), 10)
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, nil, err
	}
	mysql.RegisterDialContext(config.Net, func(ctx context.Context, address string) (net.Conn, error) {
		return dial(ctx, network, address)
	})
	db := sql.OpenDB(connector)
	return db, func() error {
		defer mysql.DeregisterDialContext(config.Net)
		return db.Close()
	}, nil
}
