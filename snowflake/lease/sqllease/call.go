package sqllease

import (
	"context"
	"database/sql"
	"fmt"
	"io"

	"github.com/sqlflake/sqlflake/snowflake/lease/internal/attempt"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// await makes a call, and returns when it or its context ends.
func await[T any](ctx context.Context, s *Store, what string, call func(ctx context.Context) (T, error)) (T, error) {
	if s.dialect == sqlite {
		return abandon(ctx, s, what, call)
	}

	ctx, done, err := s.connect(ctx)
	if err != nil {
		var none T
		return none, s.failed(what, fmt.Errorf("no connection: %w", err))
	}
	defer done()
	return call(ctx)
}

// abandon returns when the context ends, even if the call does not: SQLite drivers check the context only after the
// busy timeout, when another process has locked the file. Whatever such a call still does counts as done without a
// reply. If the context has ended before, database/sql returns at once, and says whether it is closed.
func abandon[T any](ctx context.Context, s *Store, what string, call func(ctx context.Context) (T, error)) (T, error) {
	if ctx.Err() != nil {
		return call(ctx)
	}

	type result struct {
		value T
		err   error
	}

	done := make(chan result, 1)
	go func() {
		value, err := call(ctx)
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, s.failed(what, ctx.Err())
	}
}

// connect returns the context for the statements of a call, and what ends it. If the pool has no idle connection, the
// call of a lease waits for one that may outlive it. database/sql would stop connecting with the call, and give up its
// place in the pool's queue: where either takes longer than a call, no call would ever get a connection.
func (s *Store) connect(ctx context.Context) (context.Context, func(), error) {
	pool, ok := s.db.(*sql.DB)
	if !ok {
		return ctx, func() {}, nil
	}
	open := func(ctx context.Context) (io.Closer, error) { return pool.Conn(ctx) }
	return attempt.Connect(ctx, pool.Stats().Idle > 0, open)
}

// on returns the connection of the call, or the pool.
func (s *Store) on(ctx context.Context) sqldb.DB {
	if conn, ok := attempt.Conn(ctx).(*sql.Conn); ok {
		return conn
	}
	return s.db
}
