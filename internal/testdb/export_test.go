package testdb

// HideServers makes all servers appear as not installed, and the default addresses closed.
func HideServers() {
	postgresServer.fallback = "postgres://postgres:secret@127.0.0.1:1/test"
	mariadbServer.fallback = "root:secret@tcp(127.0.0.1:1)/"
	postgresServer.program, mariadbServer.program = "none", "none"
}
