package partition

import (
	"context"
	"database/sql"
	"os"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/internal/testdb"
)

// WithNow sets the clock of this process.
func WithNow(now func() time.Time) Option {
	return func(c *config) error {
		c.now = now
		return nil
	}
}

// WithStalls sets how long the server lets a step's transaction be idle, and how long a statement of Adopt's swap may
// take, on PostgreSQL.
func WithStalls(idle, swap time.Duration) Option {
	return func(c *config) error {
		c.abandoned, c.swap = idle, swap
		return nil
	}
}

// Alone calls f in the transaction of a step.
func (s *Set) Alone(ctx context.Context, db *sql.DB, f func() error) error {
	return s.engine.connect(ctx, db, s, true, func(*Set, querier) error { return f() })
}

// FinishAfter plans, calls between, and then finishes the first step.
func (s *Set) FinishAfter(ctx context.Context, db *sql.DB, between func()) error {
	var p *planner
	err := s.engine.connect(ctx, db, s, false, func(s *Set, q querier) (err error) {
		p, err = s.survey(ctx, q, func(Step) bool { return true })
		return err
	})
	if err != nil {
		return err
	}
	between()
	return s.engine.finish(ctx, db, p.Set, p.state, *p.chosen)
}

// Session calls f on a connection with the lock of Archive, on PostgreSQL.
func (s *Set) Session(ctx context.Context, db *sql.DB, f func(*sql.Conn) error) error {
	return postgres{}.session(ctx, db, s, archiveLock, f)
}

func TestMain(m *testing.M) {
	os.Exit(testdb.Main(m))
}
