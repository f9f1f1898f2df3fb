package main

import (
	"context"
	"fmt"
	"io"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/engine"
)

// clean removes what killed runs have left on the databases, and says what it has left alone.
func (s settings) clean(ctx context.Context, out io.Writer) error {
	n := 0
	for _, name := range s.engines {
		if dsn := s.dsn(name); dsn != nil && *dsn == newServer {
			continue // the next start of such a server removes what others have left
		}
		removed, kept, err := engine.Cleanup(ctx, name, s.config)
		for _, place := range removed {
			n++
			fmt.Fprintf(out, "Removed on %s: %s.\n", name, place)
		}
		for _, one := range kept {
			n++
			fmt.Fprintf(out, "Left alone on %s: %s, since %s.\n", name, one.Place, one.Why)
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

// dsn is the setting of a server's DSN; nil for SQLite.
func (s *settings) dsn(name string) *string {
	switch name {
	case "postgres":
		return &s.config.Postgres
	case "mariadb":
		return &s.config.MariaDB
	}
	return nil
}
