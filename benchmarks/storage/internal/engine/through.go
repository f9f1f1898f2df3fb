package engine

import (
	"context"
	"database/sql"
	"fmt"
	"net"
	"strconv"
	"sync/atomic"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
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

func (e *postgres) Through(ctx context.Context, dial Dial) (*sql.DB, func() error, error) {
	conn, err := e.db.Conn(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = conn.Close() }()
	var config *pgx.ConnConfig
	err = conn.Raw(func(driver any) error {
		std, ok := driver.(*stdlib.Conn)
		if !ok {
			return fmt.Errorf("the connection is of the driver %T, not of pgx", driver)
		}
		config = std.Conn().Config()
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		return dial(ctx, network, address)
	}
	db := stdlib.OpenDB(*config)
	return db, db.Close, nil
}

// networks numbers the networks of Through. The driver keeps their names for the life of the process.
var networks atomic.Int64

func (e *mariadb) Through(_ context.Context, dial Dial) (*sql.DB, func() error, error) {
	config := e.config.Clone()
	config.DBName, config.MultiStatements, config.InterpolateParams = e.name, true, true
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
