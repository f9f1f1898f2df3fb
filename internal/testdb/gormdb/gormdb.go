// Package gormdb opens the databases of package testdb with GORM. It is apart so that modules without GORM can use
// testdb.
package gormdb

import (
	"fmt"

	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/internal/testdb"
)

// Dialector returns the argument of gorm.Open. It panics if the target does not come from package testdb.
func Dialector(t testdb.Target) gorm.Dialector {
	switch t.Name {
	case "sqlite":
		return sqlite.Open(t.DSN)
	case "postgres":
		return postgres.Open(t.DSN)
	case "mariadb":
		return mysql.Open(t.DSN)
	}

	panic(fmt.Sprintf("gormdb: no GORM driver for the target %q", t.Name))
}
