package sqlfunc_test

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/mattn/go-sqlite3"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes/sqlfunc"
)

// Register the functions on each connection, under a new driver name, which GORM takes too.
func ExampleFunctions_RegisterSQLite() {
	functions, err := sqlfunc.New(snowflake.Default())
	if err != nil {
		panic(err)
	}
	gen, err := snowflake.New(1)
	if err != nil {
		panic(err)
	}
	sql.Register("sqlite3_snowflake", &sqlite3.SQLiteDriver{
		ConnectHook: func(conn *sqlite3.SQLiteConn) error { return functions.RegisterSQLite(conn, gen) },
	})

	db, err := sql.Open("sqlite3_snowflake", ":memory:")
	if err != nil {
		panic(err)
	}
	defer func() { _ = db.Close() }()
	db.SetMaxOpenConns(1) // each connection has its own :memory:
	ctx := context.Background()
	for _, statement := range []string{
		"CREATE TABLE visits (id BIGINT PRIMARY KEY NOT NULL DEFAULT (snowflake_next()), page TEXT)",
		"INSERT INTO visits (page) VALUES ('home'), ('docs')",
	} {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			panic(err)
		}
	}
	var today int
	query := "SELECT count(*) FROM visits WHERE id >= snowflake_min(datetime('now', '-1 hour'))"
	if err := db.QueryRowContext(ctx, query).Scan(&today); err != nil {
		panic(err)
	}
	fmt.Println("in the last hour:", today)

	orm, err := gorm.Open(sqlite.Dialector{DriverName: "sqlite3_snowflake", DSN: ":memory:"}, &gorm.Config{})
	if err != nil {
		panic(err)
	}
	var at string
	if err := orm.Raw("SELECT snowflake_time(?)", snowflake.ID(153652455014400000)).Scan(&at).Error; err != nil {
		panic(err)
	}
	fmt.Println(at)
	// Output:
	// in the last hour: 2
	// 2026-03-01 00:00:00.000
}
