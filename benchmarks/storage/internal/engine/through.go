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

// Dial connects to a server, which the engine finds at that address.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// Remote is an engine behind a network.
type Remote interface {
	Engine
	// Through returns another pool in the engine's place that connects by dial, and what closes it. MariaDB's sends the
	// parameters of statements that are not prepared within their text, which may be several statements.
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

// networks numbers the networks of Through, whose names the driver keeps for the whole process.
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
