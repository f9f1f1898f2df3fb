package conformance

import (
	"strings"

	"github.com/jackc/pgx/v5"
)

// The functions here use the column v of a table (n integer PRIMARY KEY, v ...) as an application of the target would:
// with a model in GORM, otherwise with statements.

// model is a row in GORM.
type model[T any] struct {
	N int `gorm:"primaryKey;autoIncrement:false"`
	V T
}

// create makes a table with a column for T.
func create[T any](s *session, column columns) (table string, err error) {
	table = s.table()
	if s.gorm != nil {
		return table, s.gorm.Table(table).AutoMigrate(&model[T]{})
	}
	return table, s.exec("CREATE TABLE " + table + " (n integer PRIMARY KEY, v " + column[s.dialect] + ")")
}

func insert[T any](s *session, table string, n int, v T) error {
	if s.gorm != nil {
		return s.gorm.Table(table).Create(&model[T]{n, v}).Error
	}
	return s.exec("INSERT INTO "+table+" (n, v) VALUES (?, ?)", n, v)
}

func update[T any](s *session, table string, n int, v T) error {
	if s.gorm != nil {
		return s.gorm.Table(table).Where("n = ?", n).Updates(map[string]any{"v": v}).Error
	}
	return s.exec("UPDATE "+table+" SET v = ? WHERE n = ?", v, n)
}

// read reads v of a row into dest, which holds an earlier value.
func read[T any](s *session, dest *T, table string, n int) error {
	if s.gorm != nil {
		row := model[T]{V: *dest}
		err := s.gorm.Table(table).Where("n = ?", n).Take(&row).Error
		*dest = row.V
		return err
	}
	return s.scan(dest, "SELECT v FROM "+table+" WHERE n = ?", n)
}

// readPlain is read without a parameter, for which drivers may use another protocol.
func readPlain[T any](s *session, dest *T, table string, n int) error {
	query := "SELECT v FROM " + table + " WHERE n = " + decimal(n)
	if s.gorm != nil {
		row := model[T]{V: *dest}
		err := s.gorm.Raw(query).Scan(&row).Error
		*dest = row.V
		return err
	}
	return s.scan(dest, query)
}

// walk reads v of every row into the same variable and calls f after each.
func walk[T any](s *session, dest *T, table string, f func()) error {
	if s.gorm == nil {
		return s.query(func(row rows) error {
			defer f()
			return row.Scan(dest)
		}, "SELECT v FROM "+table+" ORDER BY n")
	}

	cursor, err := s.gorm.Table(table).Order("n").Rows()
	if err != nil {
		return err
	}
	defer func() { _ = cursor.Close() }() // the rows have been read, or Err returns the reason

	row := model[T]{V: *dest}
	for cursor.Next() {
		if err := s.gorm.ScanRows(cursor, &row); err != nil {
			return err
		}
		*dest = row.V
		f()
	}

	return cursor.Err()
}

// insertAll writes rows 0, 1, and so on together: a batch of GORM, COPY with native pgx, otherwise one INSERT.
func insertAll[T any](s *session, table string, values []T) error {
	switch {
	case s.gorm != nil:
		rows := make([]model[T], len(values))
		for n, value := range values {
			rows[n] = model[T]{n, value}
		}
		return s.gorm.Table(table).Create(&rows).Error
	case s.conn != nil:
		_, err := s.conn.CopyFrom(s.ctx, pgx.Identifier{table}, []string{"n", "v"},
			pgx.CopyFromSlice(len(values), func(n int) ([]any, error) { return []any{n, values[n]}, nil }))
		return err
	}

	var args []any
	for n, value := range values {
		args = append(args, n, value)
	}

	return s.exec("INSERT INTO "+table+" (n, v) VALUES (?, ?)"+strings.Repeat(", (?, ?)", len(values)-1), args...)
}
