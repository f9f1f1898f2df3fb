// Package gormdb opens the databases of package testdb with GORM. It is apart so that modules without GORM can use
// testdb.
package gormdb

import (
	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/internal/testdb"
)

// Dialector returns the argument of gorm.Open. It panics if the target does not come from package testdb.
func Dialector(t testdb.Target) gorm.Dialector { return dialectors[t.Name](t.DSN) }

var dialectors = map[string]func(dsn string) gorm.Dialector{
	"sqlite": sqlite.Open, "postgres": postgres.Open, "mariadb": mysql.Open,
}
