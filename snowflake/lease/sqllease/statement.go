package sqllease

import (
	"context"

	"github.com/sqlflake/sqlflake/snowflake/internal/sqltable"
)

// scan copies a row into variables, as [sql.Rows.Scan] does.
type scan = func(into ...any) error

// query calls row for each row of the answer; nil if there can be none.
func (s *Store) query(ctx context.Context, query string, args []any, row func(scan) error) error {
	return sqltable.Query(ctx, s.on(ctx), query, args, row)
}

// change runs a statement and returns how many rows it has changed.
func (s *Store) change(ctx context.Context, what, query string, args ...any) (rows int64, err error) {
	result, err := s.on(ctx).ExecContext(ctx, query, args...)
	if err == nil {
		rows, err = result.RowsAffected()
	}
	if err != nil {
		return 0, s.failed(what, err)
	}
	return rows, nil
}

// update runs an UPDATE of one row that answers with a number, and reports whether the row was found. It is one
// statement, so nothing can happen in between.
func (s *Store) update(ctx context.Context, query string, args ...any) (answer int64, found bool, err error) {
	if s.dialect != mysql {
		return s.number(ctx, query, args...)
	}
	result, err := s.on(ctx).ExecContext(ctx, query, args...)
	if err != nil {
		return 0, false, err
	}
	changed, err := result.RowsAffected()
	if err != nil || changed == 0 {
		return 0, false, err
	}
	answer, err = result.LastInsertId()
	return answer, err == nil, err
}

// number runs a statement that answers with one row of one number, or none.
func (s *Store) number(ctx context.Context, query string, args ...any) (answer int64, found bool, err error) {
	err = s.query(ctx, query, args, func(scan scan) error {
		found = true
		return scan(&answer)
	})
	return answer, found && err == nil, err
}
