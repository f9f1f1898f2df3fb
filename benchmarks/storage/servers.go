package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/server"
)

// newServer is the value of -postgres and -mariadb for a temporary server.
const newServer = "new"

// startServers starts the servers that the flags ask for and sets their DSNs. stop is never nil and ends them; close
// the engines before.
func (s *settings) startServers(ctx context.Context, progress io.Writer) (stop func() error, err error) {
	var running []*server.Server
	stop = func() error {
		var errs []error
		for _, one := range running {
			errs = append(errs, one.Stop())
		}
		running = nil
		return errors.Join(errs...)
	}
	for _, name := range s.engines {
		dsn := s.dsn(name)
		if dsn == nil || *dsn != newServer {
			continue
		}
		fmt.Fprintf(progress, "Starting a %s server with a cache of %d MB.\n", name, server.CacheMiB)
		one, err := server.Start(ctx, name)
		if errors.Is(err, server.ErrNotInstalled) {
			err = fmt.Errorf("%w; install it, or set the DSN of a running one", err)
		}
		if err != nil {
			return stop, errors.Join(fmt.Errorf("-%s %s: %w", name, newServer, err), stop())
		}
		running = append(running, one)
		*dsn = one.DSN
	}
	return stop, nil
}
