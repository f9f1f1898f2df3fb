package conformance

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	_ "github.com/lib/pq"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/internal/testdb/gormdb"
)

func TestMain(m *testing.M) {
	logger.Default = logger.Discard // GORM writes complaints about models to it regardless of the handle's logger
	os.Exit(testdb.Main(m))
}

// TestConformance runs every check of every type on every target.
func TestConformance(t *testing.T) {
	for _, target := range targets {
		t.Run(target.name, func(t *testing.T) {
			t.Parallel()
			runTarget(t, target)
		})
	}
}

func runTarget(t *testing.T, target target) {
	s := connect(t, target)
	must(t, s.makeWrong())

	types, checks := subjects, checks
	if target.dialect == postgres { // the others have no arrays
		types, checks = slices.Concat(types, arraySubjects), slices.Concat(checks, arrayChecks)
	}

	for _, subject := range types {
		for _, check := range checks {
			var listed exception
			at := slices.IndexFunc(exceptions,
				func(e exception) bool { return e.covers(subject.name(), target.name, check) })
			if at >= 0 {
				listed = exceptions[at]
			}

			failures := subject.run(check, s)
			if at >= 0 && len(failures) == 0 {
				t.Errorf("%s, %s: it passes, but is listed as an exception", subject.name(), check)
			}

			for _, failure := range failures {
				if !slices.ContainsFunc(listed.fails,
					func(text string) bool { return strings.Contains(failure, text) }) {
					t.Errorf("%s, %s: %s (expected: %q)", subject.name(), check, failure, listed.fails)
				}
			}
		}
	}
}

var scanMethod = regexp.MustCompile(`(?m)^func \(\w+ \*([A-Z]\w*)(?:\[\w+\])?\) Scan\(`)

// TestEveryColumnTypeIsChecked finds a type of package sqltypes that no list has.
func TestEveryColumnTypeIsChecked(t *testing.T) {
	files, _ := filepath.Glob("../../../sqltypes/*.go") // the pattern is valid
	found := 0
	for _, file := range files {
		source, err := os.ReadFile(file)
		must(t, err)

		for _, scan := range scanMethod.FindAllSubmatch(source, -1) {
			found++
			name := "sqltypes." + string(scan[1])
			has := func(s subject) bool { return strings.HasPrefix(s.name(), name) }
			if !slices.ContainsFunc(slices.Concat(subjects, arraySubjects), has) {
				t.Errorf("%s: subjects lacks %s", filepath.Base(file), name)
			}
		}
	}

	if found == 0 {
		t.Error("no type has a method Scan")
	}
}

// dialect is a kind of database, named as in testdb.
type dialect string

const (
	sqlite   dialect = "sqlite"
	postgres dialect = "postgres"
	mariadb  dialect = "mariadb"
)

// target is a database with one driver or ORM in one of its modes: a row of the tables.
type target struct {
	name    string
	dialect dialect
	via     string // a driver's name for sql.Open, or one of the two below
	options string // added to the DSN
}

const (
	viaPgx  = "native pgx"
	viaGORM = "gorm"
)

var targets = []target{
	{"SQLite", sqlite, "sqlite3", ""},
	{"pgx stdlib", postgres, "pgx", ""},
	{"pgx stdlib, simple protocol", postgres, "pgx", "&default_query_exec_mode=simple_protocol"},
	{"native pgx, cache_statement", postgres, viaPgx, "&default_query_exec_mode=cache_statement"},
	{"native pgx, cache_describe", postgres, viaPgx, "&default_query_exec_mode=cache_describe"},
	{"native pgx, describe_exec", postgres, viaPgx, "&default_query_exec_mode=describe_exec"},
	{"native pgx, exec", postgres, viaPgx, "&default_query_exec_mode=exec"},
	{"native pgx, simple protocol", postgres, viaPgx, "&default_query_exec_mode=simple_protocol"},
	{"lib/pq", postgres, "postgres", ""},
	{"lib/pq, binary_parameters", postgres, "postgres", "&binary_parameters=yes"},
	{"MariaDB", mariadb, "mysql", ""},
	{"MariaDB, interpolateParams", mariadb, "mysql", "&interpolateParams=true"},
	{"GORM on SQLite", sqlite, viaGORM, ""},
	{"GORM on PostgreSQL", postgres, viaGORM, ""},
	{"GORM on PostgreSQL, simple protocol", postgres, viaGORM, "&default_query_exec_mode=simple_protocol"},
	{"GORM on MariaDB", mariadb, viaGORM, ""},
}

// connect opens the target on a database of the test.
func connect(t *testing.T, target target) *session {
	t.Helper()
	database := map[dialect]func(testing.TB) testdb.Target{
		sqlite: testdb.SQLite, postgres: testdb.Postgres, mariadb: testdb.MariaDB,
	}[target.dialect](t)
	database.NeedMariaDB(t, "the table")
	// The data need not survive a power failure.
	database.DSN += target.options + map[dialect]string{
		postgres: "&synchronous_commit=off", mariadb: "&default_storage_engine=MyISAM",
	}[target.dialect]
	s := &session{ctx: t.Context(), dialect: target.dialect}

	switch target.via {
	case viaPgx:
		conn, err := pgx.Connect(t.Context(), database.DSN)
		must(t, err)

		t.Cleanup(func() { must(t, conn.Close(context.WithoutCancel(t.Context()))) })
		s.conn = conn
	case viaGORM:
		db, err := gorm.Open(gormdb.Dialector(database), &gorm.Config{Logger: logger.Discard})
		must(t, err)
		s.db, err = db.DB()
		must(t, err)

		t.Cleanup(func() { must(t, s.db.Close()) })
		s.gorm = db.WithContext(t.Context())
	default:
		database.Driver = target.via
		s.db = database.Open(t)
	}

	return s
}

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
