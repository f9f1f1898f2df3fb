package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/engine"
	"github.com/sqlflake/sqlflake/internal/dbserver"
)

// newServer is the value of -postgres, -postgres18 and -mariadb for a temporary server. A colon and a folder of programs
// may follow.
const newServer = "new"

const cacheMiB = 16 // of such a server

// server returns the DSN of a database, nil for SQLite; whether it asks for a temporary server, and of which programs.
func (s *settings) server(name string) (dsn *string, folder string, temporary bool) {
	dsn = map[string]*string{
		"postgres": &s.config.Postgres, "postgres18": &s.config.Postgres18, "mariadb": &s.config.MariaDB,
	}[name]
	if dsn == nil {
		return nil, "", false
	}
	if *dsn == newServer {
		return dsn, "", true
	}
	folder, colon := strings.CutPrefix(*dsn, newServer+":")
	return dsn, folder, colon && folder != ""
}

// startServers starts the servers that the flags ask for and sets their DSNs. stop is never nil and ends them; close
// the engines before.
func (s *settings) startServers(ctx context.Context, progress io.Writer) (stop func() error, err error) {
	stop = func() error { return nil }
	for _, name := range s.engines {
		dsn, folder, temporary := s.server(name)
		if !temporary {
			continue
		}
		fmt.Fprintf(progress, "Starting a %s server with a cache of %d MB.\n", name, cacheMiB)
		program := strings.TrimSuffix(name, "18")
		one, err := dbserver.Start(ctx, dbserver.Config{Name: program, Folder: folder, CacheMiB: cacheMiB})
		if errors.Is(err, dbserver.ErrNotInstalled) {
			err = fmt.Errorf("%w; install it, or set the DSN of a running one", err)
		}
		if err != nil {
			return stop, errors.Join(fmt.Errorf("-%s %s: %w", name, *dsn, err), stop())
		}
		others := stop
		stop = func() error { return errors.Join(one.Stop(), others()) }
		*dsn = one.DSN
	}
	return stop, nil
}

// clean removes what killed runs left on the databases, and prints what it kept.
func (s settings) clean(ctx context.Context, out io.Writer) error {
	n := 0
	for _, name := range s.engines {
		if _, _, temporary := s.server(name); temporary {
			continue // such a server removes old folders when it starts
		}
		removed, kept, err := engine.Cleanup(ctx, name, s.config)
		for _, place := range removed {
			fmt.Fprintf(out, "Removed on %s: %s.\n", name, place)
		}
		for _, one := range kept {
			fmt.Fprintf(out, "Kept on %s: %s; %s.\n", name, one.Place, one.Why)
		}
		if n += len(removed) + len(kept); err != nil {
			return err
		}
	}
	if n == 0 {
		fmt.Fprintln(out, "There is nothing to remove.")
	}
	return nil
}
