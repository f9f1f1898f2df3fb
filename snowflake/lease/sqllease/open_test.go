package sqllease_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// silent is a database that does not answer.
type silent struct{}

func (silent) ExecContext(ctx context.Context, _ string, _ ...any) (sql.Result, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (silent) QueryContext(ctx context.Context, _ string, _ ...any) (*sql.Rows, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestOpenReturnsTheErrorsOfEachStep(t *testing.T) {
	if _, err := sqllease.Open(t.Context(), silent{}, "oracle"); !errors.Is(err, lease.ErrOption) {
		t.Errorf("another dialect: %v, want ErrOption", err)
	}
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		_, err := sqllease.Open(t.Context(), silent{}, sqldb.Postgres)
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != lease.DefaultWindow {
			t.Errorf("a database that does not answer: %v after %v", err, time.Since(start))
		}
	})
	target := testdb.SQLite(t)
	if _, err := sqllease.Open(t.Context(), target.Open(t), sqldb.SQLite, nil); !errors.Is(err, lease.ErrOption) {
		t.Errorf("a nil option: %v, want ErrOption", err)
	}
}
