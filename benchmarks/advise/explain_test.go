//go:build !race

package advise

import (
	"database/sql"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/mattn/go-sqlite3"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
)

func TestMain(m *testing.M) { os.Exit(testdb.Main(m)) }

// account is the table of the storage comparison.
const account = "CREATE TABLE account (id %s, name varchar(50) NOT NULL, amount bigint NOT NULL, created_at bigint NOT NULL)%s"

// insert inserts rows, batch a statement, with the keys that draw returns right before it.
func insert(t *testing.T, db *sql.DB, rows, batch int, draw func(keys []int64, first int)) {
	t.Helper()
	statement, err := db.Prepare("INSERT INTO account VALUES (?,?,?,?)" + strings.Repeat(",(?,?,?,?)", batch-1))
	must(t, err)
	defer func() { _ = statement.Close() }()
	keys := make([]int64, batch)
	for i := 0; i < rows; i += batch {
		draw(keys, i)
		var args []any
		for k, key := range keys {
			args = append(args, key, fmt.Sprintf("account number %06d", i+k), (i+k)%10_000*100, 1_800_000_000_000+i+k)
		}
		_, err := statement.Exec(args...)
		must(t, err)
	}
}

// TestWhatHelpsInnoDB measures what explain/mariadb.md says of statements of 1,000 rows over one connection.
func TestWhatHelpsInnoDB(t *testing.T) {
	db, err := sql.Open("mysql", testdb.MariaDB(t).DSN)
	must(t, err)
	defer db.Close()
	db.SetMaxOpenConns(1)
	const rows = 40_000
	bytes := func() float64 {
		var pages float64
		_, err := db.Exec("ANALYZE TABLE account")
		must(t, err)
		must(t, db.QueryRow("SELECT stat_value FROM mysql.innodb_index_stats WHERE database_name = DATABASE() AND "+
			"table_name = 'account' AND index_name = 'PRIMARY' AND stat_name = 'n_leaf_pages'").Scan(&pages))
		return pages * 16384 / rows
	}
	layout := func(fields ...string) snowflake.Layout {
		bits := map[string]int{"time": 41, "worker": 10, "sequence": 12}
		var list []snowflake.Field
		for _, name := range fields {
			list = append(list, snowflake.Field{Name: name, Bits: bits[name]})
		}
		l, err := snowflake.NewLayout(snowflake.Default().Epoch(), time.Millisecond, list...)
		must(t, err)
		return l
	}
	usual := snowflake.Default()
	var base float64
	for _, c := range []struct {
		name        string
		layout      snowflake.Layout
		workers     int
		sorted      bool
		least, most float64
	}{
		{"one generator", usual, 1, false, 1, 1},
		{"four in turn", usual, 4, false, 1.5, 2},
		{"four in turn, sorted", usual, 4, true, 0.99, 1.01},
		{"four in turn, sequence before worker", layout("time", "sequence", "worker"), 4, false, 0.99, 1.1},
		{"four in turn, worker first", layout("worker", "time", "sequence"), 4, false, 0.99, 1.05},
	} {
		_, err := db.Exec(fmt.Sprintf(account, "bigint PRIMARY KEY", " ENGINE = InnoDB"))
		must(t, err)
		var workers []*snowflake.Generator
		for w := range c.workers {
			g, err := snowflake.New(int64(w+1), snowflake.WithLayout(c.layout))
			must(t, err)
			workers = append(workers, g)
		}
		insert(t, db, rows, 1000, func(keys []int64, first int) {
			for i := range keys {
				id, err := workers[(first+i)%c.workers].Next()
				must(t, err)
				keys[i] = int64(id)
			}
			if c.sorted {
				slices.Sort(keys)
			}
		})
		size := bytes()
		if base == 0 {
			base = size
		}
		_, err = db.Exec("OPTIMIZE TABLE account")
		must(t, err)
		after := bytes()
		t.Logf("%s: %.1f bytes a row, %.2fx, after OPTIMIZE TABLE %.2fx", c.name, size, size/base, after/base)
		if ratio := size / base; ratio < c.least || ratio > c.most || math.Abs(after/base-1) > 0.02 {
			t.Errorf("%s: %.2fx, want %.2fx to %.2fx; after OPTIMIZE TABLE %.2fx", c.name, ratio, c.least, c.most, after/base)
		}
		_, err = db.Exec("DROP TABLE account")
		must(t, err)
	}
}

func TestExplanationsAreShort(t *testing.T) {
	for database, most := range map[string]int{"mariadb": 12, "sqlite": 10} {
		text, _, _ := strings.Cut(Explanation(database), "\n\n|")
		if n := strings.Count(text+"\n", ".\n") + strings.Count(text, ". "); n < 5 || n > most {
			t.Errorf("%s: %d sentences, want at most %d", database, n, most)
		}
	}
	if Explanation("postgres") != "" {
		t.Error("PostgreSQL has an explanation")
	}
}

// TestBytesOfRowidsInSQLite measures what explain/sqlite.md says.
func TestBytesOfRowidsInSQLite(t *testing.T) {
	const rows, integer = 200_000, "integer PRIMARY KEY"
	ms := int64(2 * 365 * 24 * time.Hour / time.Millisecond) // since the epoch
	for _, c := range []struct {
		name, column, options string
		key                   func(i int64) int64
		table, index          float64 // bytes a row
	}{
		{"auto-increment", integer, "", func(i int64) int64 { return i + 1 }, 41.4, 11.8},
		{"48 bits", integer, "", func(i int64) int64 { return (ms/1000+i/4000)<<16 | 1<<12 | i%4000 }, 44.6, 15.0},
		{"53 bits", integer, "", func(i int64) int64 { return (ms+i/100)<<12 | 1<<8 | i%100 }, 45.7, 17.0},
		{"snowflake", integer, "", func(i int64) int64 { return (ms+i/100)<<22 | 1<<12 | i%100 }, 47.8, 17.0},
		{"snowflake, WITHOUT ROWID", integer, " WITHOUT ROWID", func(i int64) int64 { return (ms+i/100)<<22 | 1<<12 | i%100 }, 53.2, 17.0},
		{"snowflake, bigint", "bigint PRIMARY KEY", "", func(i int64) int64 { return (ms+i/100)<<22 | 1<<12 | i%100 }, 68.7, 17.0},
	} {
		db, err := sql.Open("sqlite3", t.TempDir()+"/rows.db?_journal_mode=OFF&_synchronous=OFF")
		must(t, err)
		db.SetMaxOpenConns(1)
		run := func(statement string) float64 {
			_, err := db.Exec(statement)
			must(t, err)
			var pages float64
			must(t, db.QueryRow("PRAGMA page_count").Scan(&pages))
			return pages * 4096 / rows
		}
		empty := run(fmt.Sprintf(account, c.column, c.options))
		insert(t, db, rows, 1000, func(keys []int64, first int) {
			for i := range keys {
				keys[i] = c.key(int64(first + i))
			}
		})
		table := run("CREATE TABLE child (id integer PRIMARY KEY, account_id bigint NOT NULL)") - empty
		before := run("INSERT INTO child (account_id) SELECT id FROM account ORDER BY id")
		index := run("CREATE INDEX child_account ON child (account_id)") - before
		t.Logf("%s: %.1f bytes a row, %.1f in the index of a foreign key", c.name, table, index)
		if math.Abs(table-c.table) > 0.2 || math.Abs(index-c.index) > 0.2 {
			t.Errorf("%s: %.1f bytes a row, %.1f in the index, want %.1f, %.1f", c.name, table, index, c.table, c.index)
		}
		must(t, db.Close())
	}
}
