package testdb

import "github.com/sqlflake/sqlflake/internal/dbserver"

// HideServers makes PostgreSQL appear as not installed, and the default addresses closed.
func HideServers() {
	postgresServer.fallback, mariadbServer.fallback = "postgres://postgres:secret@127.0.0.1:1/test", "root:secret@tcp(127.0.0.1:1)/"
	postgresServer.start = func() (string, error) { return "", dbserver.ErrNotInstalled }
}
