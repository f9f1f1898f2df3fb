package sqlfunc

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
)

// Install runs the statements on the database: in one transaction if db can begin
// one (*sql.DB, *sql.Conn), else as they are (*sql.Tx, whose commit is then the caller's). On
// MariaDB each statement commits by itself, as all of its DDL does.
//
// It may be called again, at each start of a program, also by many at the same
// time: the state of the function that issues IDs stays, so they go on where they
// were; a new worker, lead or fixed field counts from then on. Functions of
// another layout are not replaced, that is an error of the database
// (SQLSTATE 42723, in MariaDB 45000). Nor are functions or a state of another role in
// PostgreSQL (42501, see the package comment).
//
// It returns [ErrDialect] as Statements does, and the database's errors with the
// number of the statement.
func (f *Functions) Install(ctx context.Context, db sqllease.DB, dialect sqllease.Dialect) error {
	statements, err := f.Statements(dialect)
	if err != nil {
		return err
	}
	return run(ctx, db, "install", statements)
}

// Uninstall runs the statements of Drop in the same way.
func (f *Functions) Uninstall(ctx context.Context, db sqllease.DB, dialect sqllease.Dialect) error {
	statements, err := f.Drop(dialect)
	if err != nil {
		return err
	}
	return run(ctx, db, "uninstall", statements)
}

func run(ctx context.Context, db sqllease.DB, what string, statements []string) error {
	beginner, ok := db.(interface {
		BeginTx(ctx context.Context, opts *sql.TxOptions) (*sql.Tx, error)
	})
	if !ok {
		return runAll(ctx, db, what, statements)
	}
	tx, err := beginner.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("sqlfunc: %s: %w", what, err)
	}
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	if err := runAll(ctx, tx, what, statements); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("sqlfunc: %s: commit: %w", what, err)
	}
	return nil
}

func runAll(ctx context.Context, db sqllease.DB, what string, statements []string) error {
	for i, statement := range statements {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("sqlfunc: %s: statement %d of %d: %w", what, i+1, len(statements), err)
		}
	}
	return nil
}
