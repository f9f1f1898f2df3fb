package main

import (
	"context"
	"fmt"
	"io"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/engine"
)

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
