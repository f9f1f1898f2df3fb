package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/engine"
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

// clean removes what killed runs left on the databases, and prints what it kept.
func (s settings) clean(ctx context.Context, out io.Writer) error {
	n := 0
	for _, name := range s.engines {
		if dsn := s.dsn(name); dsn != nil && *dsn == newServer {
			continue // such a server removes old folders when it starts
		}
		removed, kept, err := engine.Cleanup(ctx, name, s.config)
		for _, place := range removed {
			n++
			fmt.Fprintf(out, "Removed on %s: %s.\n", name, place)
		}
		for _, one := range kept {
			n++
			fmt.Fprintf(out, "Kept on %s: %s; %s.\n", name, one.Place, one.Why)
		}
		if err != nil {
			return err
		}
	}
	if n == 0 {
		fmt.Fprintln(out, "There is nothing to remove.")
	}
	return nil
}

// dsn returns the setting of a server's DSN; nil for SQLite.
func (s *settings) dsn(name string) *string {
	switch name {
	case "postgres":
		return &s.config.Postgres
	case "mariadb":
		return &s.config.MariaDB
	}
	return nil
}
