package sqlfunc_test

import (
	"database/sql"
	"fmt"

	"github.com/mattn/go-sqlite3"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/contrib/sqlfunc"
	"github.com/sqlflake/sqlflake/snowflake"
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
