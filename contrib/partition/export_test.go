package partition

import (
	"context"
	"database/sql"
	"os"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/contrib/partition/internal/engine"
	"github.com/sqlflake/sqlflake/contrib/partition/internal/postgres"
	"github.com/sqlflake/sqlflake/internal/testdb"
)

// WithNow sets the clock of this process.
func WithNow(now func() time.Time) Option {
	return func(c *config) error {
		c.now = now
		return nil
	}
}

// WithPatience sets for how long a call repeats steps that do not get their locks, 0 for one attempt.
func WithPatience(d time.Duration) Option {
	return func(c *config) error {
		c.patience = d
		return nil
	}
}

// WithStalls sets how long the server lets a step's transaction be idle, and how long a statement of Adopt's swap may
// take, on PostgreSQL.
func WithStalls(idle, swap time.Duration) Option {
	return func(c *config) error {
		c.table.IdleTimeout, c.table.SwapTimeout = idle, swap
		return nil
	}
}

// Alone calls f in the transaction of a step.
func (s *Set) Alone(ctx context.Context, db *sql.DB, f func() error) error {
	return s.connect(ctx, db, true, func(*Set, engine.Querier) error { return f() })
}

// ArchiveAfter plans, calls between, and then archives the table of the first step.
func (s *Set) ArchiveAfter(ctx context.Context, db *sql.DB, between func()) error {
	var p *planner
	err := s.connect(ctx, db, false, func(s *Set, q engine.Querier) (err error) {
		p, err = s.survey(ctx, q, func(Step) bool { return true })
		return err
	})
	if err != nil {
		return err
	}
	between()
	return s.engine.Archive(ctx, db, &p.table, p.State, p.chosen.change.Part)
}

// Session calls f on a connection with the lock of Archive, on PostgreSQL.
func (s *Set) Session(ctx context.Context, db *sql.DB, f func(*sql.Conn) error) error {
	return postgres.Engine{}.WithSession(ctx, db, &s.table, engine.ArchiveLock, f)
}

func TestMain(m *testing.M) {
	os.Exit(testdb.Main(m))
}
