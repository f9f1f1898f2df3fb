package testdb

import (
	"github.com/sqlflake/sqlflake/internal/dbserver"
)

// SetFallbacks replaces the default addresses. Call it before the first use of a server.
func SetFallbacks(postgres, mariadb string) {
	postgresServer.fallback, mariadbServer.fallback = postgres, mariadb
}

// HideBinaries makes PostgreSQL appear as not installed.
func HideBinaries() {
	postgresServer.start = func() (string, error) { return "", dbserver.ErrNotInstalled }
}
