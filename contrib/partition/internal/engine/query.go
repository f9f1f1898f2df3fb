package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Querier is a connection or a transaction.
type Querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// One scans a row, if there is one.
func One(row *sql.Row, into ...any) (found bool, err error) {
	err = row.Scan(into...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// Each calls f for each row of a query.
func Each(ctx context.Context, q Querier, query string, args []any, f func(scan func(...any) error) error) error {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()

	for rows.Next() {
		if err := f(rows.Scan); err != nil {
			return err
		}
	}

	return rows.Err()
}

// List returns the rows of a query with one text column.
func List(ctx context.Context, q Querier, query string, args ...any) (texts []string, err error) {
	err = Each(ctx, q, query, args, func(scan func(...any) error) error {
		var text string
		err := scan(&text)
		if err == nil {
			texts = append(texts, text)
		}
		return err
	})
	return texts, err
}

// ExecAll executes statements in their order. Its error has the statement.
func ExecAll(ctx context.Context, q Querier, statements ...string) error {
	for _, statement := range statements {
		if _, err := q.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%.300s: %w", statement, err)
		}
	}
	return nil
}
