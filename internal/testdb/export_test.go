package testdb

import "github.com/sqlflake/sqlflake/internal/dbserver"

// HideServers makes all servers appear as not installed, and the default addresses closed.
func HideServers() {
	postgresServer.fallback = "postgres://postgres:secret@127.0.0.1:1/test"
	mariadbServer.fallback = "root:secret@tcp(127.0.0.1:1)/"
	none := func(string, string) (string, error) { return "", dbserver.ErrNotInstalled }
	postgresServer.start, mariadbServer.start = none, none
}
