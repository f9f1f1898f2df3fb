package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/key"
	"github.com/sqlflake/sqlflake/internal/testdb"
)

func TestMain(m *testing.M) { os.Exit(testdb.Main(m)) }

// config returns the configuration of a test's database, and skips the test if there is none.
func config(t *testing.T, name string) Config {
	t.Helper()
	c := Config{SQLiteDir: t.TempDir()}
	switch name {
	case "postgres":
		c.Postgres = testdb.Postgres(t).DSN
	case "postgres18":
		if c.Postgres18 = os.Getenv("SNOWFLAKE_TEST_POSTGRES18"); c.Postgres18 == "" {
			t.Skip("SNOWFLAKE_TEST_POSTGRES18 has no DSN")
		}
	case "mariadb":
		c.MariaDB = testdb.MariaDB(t).DSN
	}
	return c
}

func openWith(t *testing.T, name string, c Config) Engine {
	t.Helper()
	e, err := Open(t.Context(), name, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Errorf("close %s: %v", name, err)
		}
	})
	return e
}

func open(t *testing.T, name string) Engine {
	t.Helper()
	return openWith(t, name, config(t, name))
}

func each(t *testing.T, f func(t *testing.T, e Engine)) {
	t.Helper()
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) { f(t, open(t, name)) })
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func exec(t *testing.T, e Engine, query string, args ...any) {
	t.Helper()
	if _, err := e.DB().ExecContext(t.Context(), query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// one returns the only value of a query.
func one[T any](t *testing.T, db interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}, query string, args ...any,
) T {
	t.Helper()
	var value T
	if err := db.QueryRowContext(t.Context(), query, args...).Scan(&value); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return value
}

func find(t *testing.T, name string) key.Kind {
	t.Helper()
	kinds, err := key.Find([]string{name})
	must(t, err)
	return kinds[0]
}

// accounts is a table with a secondary index.
func accounts(name string, k key.Kind) Table {
	return Table{
		Name: name, Kind: k,
		Columns: []Column{{Name: "name", Type: Name}, {Name: "amount"}}, Indexes: [][]string{{"amount"}},
	}
}

func columnsOf(t Table) []string {
	var list []string
	if !t.Kind.Counted {
		list = append(list, "id")
	}
	for _, c := range t.Columns {
		list = append(list, c.Name)
	}
	return list
}

// rowsOf makes rows of accounts and their keys; the keys are nil if the database makes them.
func rowsOf(t *testing.T, e Engine, k key.Kind, n int) (rows [][]any, keys []any) {
	t.Helper()
	source, err := k.New(key.Config{Seed: 1, Clients: 1})
	must(t, err)
	if source != nil {
		keys = make([]any, n)
		must(t, source.Draw(keys))
	}
	for i := range n {
		var row []any
		if source != nil {
			row = append(row, e.Value(keys[i]))
		}
		rows = append(rows, append(row, fmt.Sprintf("account number %06d", i), int64(i*7919%100_003)))
	}
	return rows, keys
}

// insert sends rows in statements of 500.
func insert(t *testing.T, e Engine, table string, columns []string, rows [][]any) {
	t.Helper()
	for batch := range slices.Chunk(rows, 500) {
		var args []any
		var tuples []string
		for _, row := range batch {
			holes := make([]string, len(row))
			for i := range row {
				holes[i] = e.Placeholder(len(args) + i + 1)
			}
			args = append(args, row...)
			tuples = append(tuples, "("+strings.Join(holes, ", ")+")")
		}
		exec(t, e, "INSERT INTO "+table+" ("+strings.Join(columns, ", ")+") VALUES "+strings.Join(tuples, ", "), args...)
	}
}

// fill creates a table with n rows.
func fill(t *testing.T, e Engine, table Table, n int) (keys []any) {
	t.Helper()
	must(t, e.Create(t.Context(), table))
	rows, keys := rowsOf(t, e, table.Kind, n)
	insert(t, e, table.Name, columnsOf(table), rows)
	return keys
}

func trees(t *testing.T, e Engine, table string) []Tree {
	t.Helper()
	list, err := e.Trees(t.Context(), table)
	must(t, err)
	return list
}

func roles(list []Tree) []Role {
	var all []Role
	for _, tree := range list {
		all = append(all, tree.Role)
	}
	return all
}

func wantRoles(e Engine, k key.Kind) []Role {
	switch {
	case e.Dialect() == "mariadb", e.Name() == "sqlite" && k.Store == key.Integer && !k.Beside:
		return []Role{Clustered, Secondary}
	default:
		return []Role{Rows, Primary, Secondary}
	}
}

func TestEveryKindOnEveryEngine(t *testing.T) {
	const n = 3000
	each(t, func(t *testing.T, e Engine) {
		for _, k := range key.Kinds() {
			if !k.OnEngine(e.Name()) {
				continue
			}
			if pg, ok := e.(*postgres); ok && pg.version < k.Since*10_000 {
				if err := e.Create(t.Context(), accounts("old", k)); !errors.Is(err, errors.ErrUnsupported) {
					t.Errorf("%s on version %d: %v", k.Name, pg.version, err)
				}
				continue
			}
			t.Run(k.Name, func(t *testing.T) {
				ctx := t.Context()
				suffix := strings.ReplaceAll(k.Name, "-", "_")
				parent := accounts("parent_"+suffix, k)
				keys := fill(t, e, parent, n)
				child := Table{
					Name: "child_" + suffix, Kind: k, Indexes: [][]string{{"parent_id"}},
					Columns: []Column{{Name: "parent_id", Type: Key, References: parent.Name}, {Name: "made", Type: Moment}},
				}
				must(t, e.Create(ctx, child))
				must(t, e.Settle(ctx, parent.Name, child.Name))
				list := trees(t, e, parent.Name)
				if got, want := roles(list), wantRoles(e, k); !slices.Equal(got, want) {
					t.Errorf("the trees are %v, want %v", got, want)
				}
				for _, tree := range list {
					if perRow := tree.Bytes / n; perRow < 8 || perRow > 250 {
						t.Errorf("%s has %d bytes a row", tree.Name, perRow)
					}
					if tree.Density < 0.4 || tree.Density > 1 {
						t.Errorf("%s is filled to %.3f", tree.Name, tree.Density)
					}
				}
				empty := trees(t, e, child.Name)
				if got, want := roles(empty), wantRoles(e, k); !slices.Equal(got, want) {
					t.Errorf("the child's trees are %v, want %v: one index for the reference, no second one", got, want)
				}
				for _, tree := range empty {
					if tree.Density > 0 || math.IsNaN(tree.Density) || math.IsNaN(tree.Fragmentation) {
						t.Errorf("without rows: %+v", tree)
					}
				}
				if keys != nil {
					query := "SELECT count(*) FROM " + parent.Name + " WHERE id = " + e.Placeholder(1)
					if n := one[int](t, e.DB(), query, e.Value(keys[n/2])); n != 1 {
						t.Errorf("%d rows have the key that was sent", n)
					}
				}
				var moment any = time.Now()
				if e.Name() == "sqlite" {
					moment = time.Now().UnixMilli()
				}
				orphan := "INSERT INTO " + child.Name + " (parent_id, made) VALUES (" + e.Placeholder(1) + ", " + e.Placeholder(2) + ")"
				_, err := e.DB().ExecContext(ctx, orphan, e.Value(strange(k)), moment)
				if err == nil {
					t.Error("a child without a parent was stored")
				}
				must(t, e.Drop(ctx, child.Name, parent.Name))
				if _, err := e.Trees(ctx, parent.Name); err == nil {
					t.Error("the table was dropped and still has trees")
				}
			})
		}
	})
}

// strange returns a key that no row has.
func strange(k key.Kind) any {
	switch k.Store {
	case key.UUID:
		return [16]byte{}
	case key.Text:
		return "nobody"
	default:
		return int64(math.MaxInt64)
	}
}

func TestFillLeavesRoomInThePrimaryKey(t *testing.T) {
	e := open(t, "postgres")
	for _, percent := range []int{70, 100} {
		table := accounts(fmt.Sprintf("fill%d", percent), find(t, "explicit"))
		table.Fill = percent
		fill(t, e, table, 20_000)
		if got := trees(t, e, table.Name)[1]; math.Abs(got.Density-float64(percent)/100) > 0.02 {
			t.Errorf("fillfactor %d gives a density of %.3f", percent, got.Density)
		}
	}
}

func TestCommitsAreFlushedIfDurable(t *testing.T) {
	for name, want := range map[string]map[bool]string{
		"sqlite":   {true: "2", false: "1"},
		"postgres": {true: "on", false: "off"},
	} {
		for durable, value := range want {
			c := config(t, name)
			c.Durable = durable
			settings, err := openWith(t, name, c).Settings(t.Context())
			must(t, err)
			setting := map[string]string{"sqlite": "synchronous", "postgres": "synchronous_commit"}[name]
			if !slices.Contains(settings, Setting{setting, value}) {
				t.Errorf("%s, durable %v: %v", name, durable, settings)
			}
		}
	}
}
