package conformance

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"gorm.io/gorm"
)

// session is an open target. It has a handle for the target's driver, and db in addition to gorm.
type session struct {
	ctx     context.Context // of the test
	dialect dialect
	db      *sql.DB
	conn    *pgx.Conn
	gorm    *gorm.DB
	tables  int      // made so far
	wrongs  []string // tables of the columns without an ID, in their order
}

// table returns a new name. Drivers cache statements and their result types, so each table has its own.
func (s *session) table() string {
	s.tables++
	return "t" + strconv.Itoa(s.tables)
}

// placeholders writes the parameters of a query, given as "?", as the driver wants them.
func (s *session) placeholders(query string) string {
	if s.dialect != postgres {
		return query
	}
	for n := 1; strings.Contains(query, "?"); n++ {
		query = strings.Replace(query, "?", "$"+strconv.Itoa(n), 1)
	}
	return query
}

// exec runs a statement with the driver, without GORM.
func (s *session) exec(query string, args ...any) error {
	var err error
	if s.conn != nil {
		_, err = s.conn.Exec(s.ctx, s.placeholders(query), args...)
	} else {
		_, err = s.db.ExecContext(s.ctx, s.placeholders(query), args...)
	}
	return err
}

// rows is what the cursors of database/sql and pgx have in common.
type rows interface {
	Next() bool
	Scan(dest ...any) error
	Err() error
}

// query calls f for each row, with the driver, without GORM.
func (s *session) query(f func(rows) error, query string, args ...any) error {
	if s.conn != nil {
		cursor, err := s.conn.Query(s.ctx, s.placeholders(query), args...)
		if err != nil {
			return err
		}
		defer cursor.Close()
		return each(cursor, f)
	}

	cursor, err := s.db.QueryContext(s.ctx, s.placeholders(query), args...) //nolint:rowserrcheck // each does
	if err != nil {
		return err
	}
	defer cursor.Close()

	return each(cursor, f)
}

func each(cursor rows, f func(rows) error) error {
	for cursor.Next() {
		if err := f(cursor); err != nil {
			return err
		}
	}
	return cursor.Err()
}

// scan reads the only value of a query.
func (s *session) scan(dest any, query string, args ...any) error {
	found := false
	err := s.query(func(row rows) error {
		found = true
		return row.Scan(dest)
	}, query, args...)

	if err == nil && !found {
		err = errors.New("no row")
	}

	return err
}

// numbers returns the column n of the rows that meet the condition, in their order. GORM writes the condition itself,
// because it handles slices differently.
func (s *session) numbers(table, condition string, args ...any) ([]int, error) {
	var found []int
	if s.gorm != nil {
		err := s.gorm.Table(table).Where(condition, args...).Order("n").Pluck("n", &found).Error
		return found, err
	}

	err := s.query(func(row rows) error {
		var n int
		err := row.Scan(&n)
		found = append(found, n)
		return err
	}, "SELECT n FROM "+table+" WHERE "+condition+" ORDER BY n", args...)
	return found, err
}
