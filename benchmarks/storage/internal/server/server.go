// Package server starts temporary database servers with small caches from installed binaries. A server's files and its
// socket are in a temporary folder, which is removed at the end.
package server

import (
	"context"
	"errors"
	"fmt"
)

// CacheMiB is the size of shared_buffers or innodb_buffer_pool_size.
const CacheMiB = 16

// ErrNotInstalled is returned by Start if the binaries of a server are missing.
var ErrNotInstalled = errors.New("the server is not installed")

// Server is a running server.
type Server struct {
	// DSN is for pgx or github.com/go-sql-driver/mysql.
	DSN string
	// Dir is its folder.
	Dir string

	stop func() error
}

// Stop ends the server and removes its folder. After an error of Start it need not be called.
func (s *Server) Stop() error { return s.stop() }

// Start starts a server, "postgres" or "mariadb", and returns when it accepts connections. If ctx ends before,
// everything is removed. Later the server ends with Stop, and on Linux also with this process, but not with ctx.
func Start(ctx context.Context, name string) (*Server, error) {
	switch name {
	case "postgres":
		return start(ctx, postgres{})
	case "mariadb":
		return start(ctx, mariadb{})
	default:
		return nil, fmt.Errorf("unknown server %q; there are postgres, mariadb", name)
	}
}
