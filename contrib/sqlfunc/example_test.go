package sqlfunc_test

import (
	"database/sql"
	"fmt"
	"log"
	"strings"

	"github.com/mattn/go-sqlite3"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/contrib/sqlfunc"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// The script for a migration. It may be run again.
func ExampleFunctions_Script() {
	functions, err := sqlfunc.New(snowflake.Default(), sqlfunc.WithWorker(1023)) // reserved for the server
	if err != nil {
		log.Fatal(err)
	}
	script, err := functions.Script(sqldb.Postgres)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(strings.Count(script, "CREATE OR REPLACE FUNCTION")) // with four for keys in other columns than bigint
	// Then, in the database:
	//
	//	CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT snowflake_next(), note text);
	//	INSERT INTO orders (note) VALUES ('by hand');
	//	SELECT o.*, p.time, p.worker FROM orders AS o, snowflake_parts(o.id) AS p;
	//	SELECT * FROM orders WHERE id >= snowflake_min(now() - interval '1 day');

	// Output: 9
}

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

	db, err := gorm.Open(sqlite.Dialector{DriverName: "sqlite3_snowflake", DSN: "file:visits?mode=memory&cache=shared"})
	if err != nil {
		panic(err)
	}
	type Visit struct {
		ID   snowflake.ID `gorm:"primaryKey;default:(snowflake_next())"`
		Page string
	}
	if err := db.AutoMigrate(&Visit{}); err != nil {
		panic(err)
	}
	home := Visit{Page: "home"}
	if err := db.Create(&home).Error; err != nil {
		panic(err)
	}
	if err := db.Exec("INSERT INTO visits (page) VALUES ('docs')").Error; err != nil {
		panic(err)
	}
	var pages []string
	query := "SELECT page FROM visits WHERE id >= snowflake_min(datetime('now', '-1 hour')) ORDER BY id"
	if err := db.Raw(query).Scan(&pages).Error; err != nil {
		panic(err)
	}
	fmt.Println(pages, snowflake.Default().Validate(home.ID))
	// Output: [home docs] <nil>
}
