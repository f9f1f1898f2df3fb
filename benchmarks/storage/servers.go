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

// folderOf returns the folder of programs in the value of a flag, and whether the value asks for a temporary server.
func folderOf(dsn string) (folder string, ok bool) {
	rest, ok := strings.CutPrefix(dsn, newServer)
	if rest == "" {
		return "", ok
	}
	folder, colon := strings.CutPrefix(rest, ":")
	return folder, ok && colon && folder != ""
}

// startServers starts the servers that the flags ask for and sets their DSNs. stop is never nil and ends them; close
// the engines before.
func (s *settings) startServers(ctx context.Context, progress io.Writer) (stop func() error, err error) {
	var running []*dbserver.Server
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
		if dsn == nil {
			continue
		}
		folder, ok := folderOf(*dsn)
		if !ok {
			continue
		}
		fmt.Fprintf(progress, "Starting a %s server with a cache of %d MB.\n", name, cacheMiB)
		program := strings.TrimSuffix(name, "18")
		one, err := dbserver.Start(ctx, dbserver.Config{Name: program, Folder: folder, CacheMiB: cacheMiB})
		if errors.Is(err, dbserver.ErrNotInstalled) {
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
		if dsn := s.dsn(name); dsn != nil {
			if _, ok := folderOf(*dsn); ok {
				continue // such a server removes old folders when it starts
			}
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
	case "postgres18":
		return &s.config.Postgres18
	case "mariadb":
		return &s.config.MariaDB
	}
	return nil
}
