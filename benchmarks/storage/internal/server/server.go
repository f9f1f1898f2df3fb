// Package server starts throwaway database servers with small caches from the binaries that are installed: in a temporary
// folder, reachable through a socket in it only, and removed at the end.
package server

import (
	"context"
	"errors"
	"fmt"
)

// CacheMiB is the cache of the servers: shared_buffers, innodb_buffer_pool_size.
const CacheMiB = 16

// ErrNotInstalled is returned by Start if the binaries of a server are not there.
var ErrNotInstalled = errors.New("the server is not installed")

// Server is a running server.
type Server struct {
	// DSN is how to reach it: for pgx or for github.com/go-sql-driver/mysql.
	DSN string
	// Dir is its folder.
	Dir string

	stop func() error
}

// Stop ends the server and removes its folder. It need not be called after an error of Start.
func (s *Server) Stop() error { return s.stop() }

// Start starts a server, "postgres" or "mariadb", and returns when it answers. If ctx ends before, all is removed again. The
// server does not end with ctx but with Stop, and on Linux with this process.
func Start(ctx context.Context, name string) (*Server, error) {
	switch name {
	case "postgres":
		return start(ctx, postgres{})
	case "mariadb":
		return start(ctx, mariadb{})
	default:
		return nil, fmt.Errorf("no server is called %q; there are postgres, mariadb", name)
	}
}
