package testdb

import (
	"context"
	"database/sql"
	_ "embed" // for the traps
	"errors"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Trapped is a database in which a role without rights has made traps in the schema public: functions, operators,
// types and views that are named like each one of pg_catalog that SQL in this repository uses, for all combinations
// of common types. A statement that resolves one of its names there runs the trap.
type Trapped struct {
	Target         // of a superuser, whose search_path has public
	Schema string  // the first one in its search_path, where the traps are not
	Safe   *sql.DB // the same user and schema without public in the search_path, to prepare and to check
}

// EachTrapped runs f as a superuser with two orders of the search_path: in one pg_catalog comes first, as usual, and in
// the other one it comes after public. A trap that runs fails its statement, and the test even if f hides the error.
func EachTrapped(t *testing.T, f func(t *testing.T, victim Trapped)) {
	t.Helper()
	server := postgresServer.need(t)
	name := newName()
	removeAtEnd(t, "database and role "+name, func(ctx context.Context) error {
		return admin(ctx, "pgx", server.dsn, execAll("DROP DATABASE IF EXISTS "+name+" WITH (FORCE)",
			"DROP ROLE IF EXISTS "+name))
	})
	create(t, postgresName, "pgx", server.dsn, "CREATE ROLE "+name)
	create(t, postgresName, "pgx", server.dsn, "CREATE DATABASE "+name)

	base := withQuery(withPath(server.dsn, name), map[string]string{"application_name": name})
	armTraps(t, base, name)

	for _, order := range []struct{ name, path string }{
		{"pg_catalog first", "public"},
		{"public first", "public,pg_catalog"},
	} {
		t.Run(order.name, func(t *testing.T) {
			schema := newName()
			create(t, postgresName, "pgx", base, "CREATE SCHEMA "+schema)
			t.Cleanup(func() { // a lease table in another schema would be an error
				err := admin(context.WithoutCancel(t.Context()), "pgx", base, execAll("DROP SCHEMA "+schema+" CASCADE"))
				if err != nil {
					t.Error(err)
				}
			})
			target := Target{Name: postgresName, Version: server.version, Driver: "pgx"}

			target.DSN = withQuery(base, map[string]string{"search_path": schema})
			victim := Trapped{Schema: schema, Safe: target.Open(t)}
			target.DSN = withQuery(base, map[string]string{"search_path": schema + "," + order.path})
			victim.Target = target

			before := victim.sprung(t)
			f(t, victim)
			if n := victim.sprung(t) - before; n != 0 {
				t.Errorf("%d traps have run", n)
			}
		})
	}
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// sprung returns how many traps have run.
func (v Trapped) sprung(t *testing.T) (n int64) {
	t.Helper()
	err := v.Safe.QueryRowContext(context.WithoutCancel(t.Context()),
		"SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM public.sprung").Scan(&n)
	must(t, err)
	return n
}

//go:embed traps.sql
var trapsSQL string

// armTraps creates the traps as the role.
func armTraps(t *testing.T, dsn, role string) {
	t.Helper()
	source, err := sourceSQL()
	must(t, err)

	dsn = withQuery(dsn, map[string]string{"search_path": "pg_catalog"})
	var made int
	err = admin(t.Context(), "pgx", dsn, func(ctx context.Context, db *sql.DB) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback() }() // no effect after a commit

		if _, err := tx.ExecContext(ctx, trapsSQL); err != nil {
			return err
		}

		if err := tx.QueryRowContext(ctx, "SELECT pg_temp.arm($1, $2)", role, source).Scan(&made); err != nil {
			return err
		}

		return tx.Commit()
	})
	must(t, err)

	t.Logf("%d traps", made)
}

// sourceSQL returns the string literals and the SQL files of this repository, without tests, examples and benchmarks.
func sourceSQL() (all string, err error) {
	root := ".."
	for !exists(filepath.Join(root, "go.work")) {
		if len(root) > 100 {
			return "", errors.New("testdb: no go.work above the test")
		}
		root = filepath.Join(root, "..")
	}

	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		isTopFolder := entry.IsDir() && filepath.Dir(path) == root
		if isTopFolder && slices.Contains(withoutSQL, entry.Name()) {
			return filepath.SkipDir
		}

		text, err := sqlOf(path)
		all += text
		return err
	})
	return strings.ToValidUTF8(strings.ReplaceAll(all, "\x00", " "), " "), err // PostgreSQL takes no other text
}

// withoutSQL are folders of the repository.
var withoutSQL = []string{".git", "benchmarks", "docs", "examples", "internal"}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// sqlOf returns the string literals of a Go file, one a line, or an SQL file.
func sqlOf(path string) (string, error) {
	isGo := strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go")
	if !isGo && !strings.HasSuffix(path, ".sql") {
		return "", nil
	}

	source, err := os.ReadFile(path)
	if err != nil || !isGo {
		return string(source), err
	}

	var literals strings.Builder
	var s scanner.Scanner
	s.Init(token.NewFileSet().AddFile(path, -1, len(source)), source, nil, 0)

	for {
		_, kind, text := s.Scan()
		switch kind {
		case token.EOF:
			return literals.String(), nil
		case token.STRING:
			if literal, err := strconv.Unquote(text); err == nil {
				literals.WriteString(literal + "\n")
			}
		}
	}
}

var qualifiedOperator = regexp.MustCompile(`OPERATOR\(pg_catalog\.([^)]+)\)`)

// CheckPrecedence checks that a PostgreSQL statement with OPERATOR(pg_catalog.+) means what it does with + alone: the
// first form has one precedence for all operators. Its tables exist.
func CheckPrecedence(tb testing.TB, db *sql.DB, query string) {
	tb.Helper()
	conn, err := db.Conn(tb.Context())
	must(tb, err)
	defer func() { _ = conn.Close() }()

	parameters := 0
	for strings.Contains(query, "$"+strconv.Itoa(parameters+1)) {
		parameters++
	}

	execute := "EXPLAIN (VERBOSE, COSTS OFF, FORMAT JSON) EXECUTE checked"
	if parameters > 0 {
		execute += "(" + strings.Repeat("NULL, ", parameters-1) + "NULL)"
	}

	qualified := explain(tb, conn, query, execute)
	plain := explain(tb, conn, qualifiedOperator.ReplaceAllString(query, "$1"), execute)
	if qualified != plain {
		tb.Errorf("%s\nmeans\n%s\nand without schemas\n%s", query, qualified, plain)
	}
}

// explain prepares a query as "checked" and returns its plan.
func explain(tb testing.TB, conn *sql.Conn, query, execute string) (plan string) {
	tb.Helper()
	for _, statement := range []string{"SET plan_cache_mode = force_generic_plan", "PREPARE checked AS " + query} {
		if _, err := conn.ExecContext(tb.Context(), statement); err != nil {
			tb.Fatalf("%s: %v", statement, err)
		}
	}

	if err := conn.QueryRowContext(tb.Context(), execute).Scan(&plan); err != nil {
		tb.Fatalf("%s: %v", query, err)
	}
	_, err := conn.ExecContext(tb.Context(), "DEALLOCATE checked")
	must(tb, err)
	return plan
}
