//go:build cgo

package engine

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/key"
)

// wholeFile compares the sizes of the trees with that of the file.
func wholeFile(t *testing.T, e *sqlite) map[string]treeUsage {
	t.Helper()
	must(t, e.checkpoint(t.Context()))
	file, err := openPages(e.path())
	must(t, err)
	defer func() { _ = file.Close() }()
	usages := map[string]treeUsage{}
	rows, err := e.db.QueryContext(t.Context(),
		"SELECT name, rootpage FROM sqlite_schema WHERE rootpage > 0 UNION ALL SELECT 'sqlite_schema', 1")
	must(t, err)
	defer rows.Close()
	var total int64
	for rows.Next() {
		var name string
		var root int64
		must(t, rows.Scan(&name, &root))
		usage, err := file.tree(root)
		must(t, err)
		usages[name] = usage
		total += usage.pages
	}
	must(t, rows.Err())
	total += one[int64](t, e.db, "PRAGMA freelist_count")
	if count := one[int64](t, e.db, "PRAGMA page_count"); total != count {
		t.Errorf("the trees and the free list have %d pages, the file has %d", total, count)
	}
	info, err := file.Stat()
	must(t, err)
	if info.Size() != total*file.size {
		t.Errorf("the file has %d bytes, want %d pages of %d", info.Size(), total, file.size)
	}
	compareWithDBStat(t, e, usages)
	return usages
}

func pageSize(t *testing.T, e *sqlite) int64 { return one[int64](t, e.db, "PRAGMA page_size") }

// compareWithDBStat needs SQLite compiled with SQLITE_ENABLE_DBSTAT_VTAB.
func compareWithDBStat(t *testing.T, e *sqlite, usages map[string]treeUsage) {
	t.Helper()
	var n int
	if err := e.db.QueryRowContext(t.Context(), "SELECT count(*) FROM dbstat").Scan(&n); err != nil {
		if !strings.Contains(err.Error(), "no such table") {
			t.Error(err)
		}
		return
	}
	t.Log("compared with dbstat")
	for name, u := range usages {
		var pages, cells, free, back int64
		must(t, e.db.QueryRowContext(t.Context(), `SELECT count(*), coalesce(sum(CASE pagetype WHEN 'leaf' THEN ncell END), 0), coalesce(sum(CASE pagetype WHEN 'leaf' THEN unused END), 0),
			(SELECT count(*) FROM (SELECT pageno < lag(pageno) OVER (ORDER BY path) AS back FROM dbstat
				WHERE name = ?1 AND pagetype = 'leaf') WHERE back)
			FROM dbstat WHERE name = ?1`, name).Scan(&pages, &cells, &free, &back))
		if pages != u.pages || cells != u.cells || free != u.free || back != u.back {
			t.Errorf("%s: dbstat has %d pages, %d cells, %d free, %d back; read from the file: %+v", name, pages, cells, free, back, u)
		}
	}
}

func TestSQLitePagesAddUpToTheFile(t *testing.T) {
	const n = 3000
	for _, k := range key.Kinds() {
		if !k.OnEngine("sqlite") {
			continue
		}
		t.Run(k.Name, func(t *testing.T) {
			e := open(t, "sqlite").(*sqlite)
			fill(t, e, accounts("t", k), n)
			exec(t, e, "DELETE FROM t WHERE amount % 3 = 0") // free blocks and free pages
			left := one[int64](t, e.db, "SELECT count(*) FROM t")
			usages := wholeFile(t, e)
			if got := usages["t"].cells; got != left {
				t.Errorf("%d cells in the leaves of the table, %d rows", got, left)
			}
			if left >= n || left == 0 {
				t.Fatalf("%d rows are left", left)
			}
		})
	}
}

// TestSQLiteDeletedRowsAreFree: deleted rows leave free blocks in the leaves.
func TestSQLiteDeletedRowsAreFree(t *testing.T) {
	e := open(t, "sqlite").(*sqlite)
	fill(t, e, accounts("t", find(t, "explicit")), 3000)
	before := trees(t, e, "t")[0].Density
	exec(t, e, "DELETE FROM t WHERE id % 4 = 0")
	after := trees(t, e, "t")[0].Density
	if math.Abs(after-before*3/4) > 0.02 {
		t.Errorf("filled to %.3f, and after a quarter of the rows was deleted to %.3f", before, after)
	}
}

// TestSQLiteDensityIsThatOfTheRows: the size of a row of the table is known.
func TestSQLiteDensityIsThatOfTheRows(t *testing.T) {
	e := open(t, "sqlite").(*sqlite)
	const n = 10_000
	exec(t, e, "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT)")
	exec(t, e, "WITH RECURSIVE n(i) AS (SELECT 100001 UNION ALL SELECT i + 1 FROM n WHERE i < 110000) "+
		"INSERT INTO t SELECT i, 'twenty characters it' FROM n")
	// A pointer of 2 bytes, the size in 1, the rowid in 3, a header of 3, and the text.
	const row = 2 + 1 + 3 + 3 + 20
	u := wholeFile(t, e)["t"]
	if want := float64(n*row) / float64(u.leaves*(pageSize(t, e)-8)); math.Abs(u.density()-want) > 1e-9 {
		t.Errorf("filled to %.6f, want %.6f", u.density(), want)
	}
}

func TestSQLiteFolderWithSignsOfAURI(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "100%41 a?b#c&d=e")
	must(t, os.Mkdir(dir, 0o700))
	e := openWith(t, "sqlite", Config{SQLiteDir: dir})
	fill(t, e, accounts("t", find(t, "explicit")), 10)
	trees(t, e, "t")
}

func TestSQLiteGivesSpaceBackAfterDrop(t *testing.T) {
	e := open(t, "sqlite").(*sqlite)
	fill(t, e, accounts("t", find(t, "uuidv4")), 3000)
	must(t, e.Drop(t.Context(), "t"))
	if n := one[int64](t, e.db, "PRAGMA page_count"); n > 2 {
		t.Errorf("%d pages are left", n)
	}
}

func TestSQLiteCountsOnlyLeavesThatGoBack(t *testing.T) {
	e := open(t, "sqlite").(*sqlite)
	fill(t, e, accounts("up", find(t, "explicit")), 3000)
	fill(t, e, accounts("any", find(t, "uuidv4")), 20_000)
	if tree := trees(t, e, "up")[0]; tree.Fragmentation > 0 {
		t.Errorf("ascending keys: %+v", tree)
	}
	if tree := trees(t, e, "any")[1]; tree.Fragmentation < 0.1 {
		t.Errorf("random keys: %+v", tree)
	}
}

func TestSQLiteTreesWaitForNoWriter(t *testing.T) {
	e := open(t, "sqlite").(*sqlite)
	fill(t, e, accounts("t", find(t, "explicit")), 1000)
	before := trees(t, e, "t")
	fill(t, e, accounts("u", find(t, "explicit")), 1000)
	if after := trees(t, e, "t"); !slices.Equal(before, after) {
		t.Errorf("%+v\nthen\n%+v", before, after)
	}
}

func TestSQLiteCloseRemovesItsFolder(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	e, err := Open(ctx, "sqlite", Config{SQLiteDir: dir})
	must(t, err)
	fill(t, e, accounts("t", find(t, "explicit")), 100)
	cancel()
	must(t, e.Close())
	wantEmpty(t, dir)
	if _, err := Open(ctx, "sqlite", Config{SQLiteDir: dir}); err == nil {
		t.Error("opened with a context that has ended")
	}
	wantEmpty(t, dir)
}

func wantEmpty(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	if len(entries) != 0 {
		t.Errorf("left behind: %v", entries)
	}
}

func TestSQLiteRefusesBrokenPages(t *testing.T) {
	e := open(t, "sqlite").(*sqlite)
	fill(t, e, accounts("t", find(t, "explicit")), 3000)
	must(t, e.checkpoint(t.Context()))
	content, err := os.ReadFile(e.path())
	must(t, err)
	root := one[int64](t, e.db, "SELECT rootpage FROM sqlite_schema WHERE name = 't'")
	for name, damage := range map[string]func(page []byte){
		"kind":        func(page []byte) { page[0] = 7 },
		"loop":        func(page []byte) { page[8], page[9], page[10], page[11] = 0, 0, 0, byte(root) },
		"beyond":      func(page []byte) { page[8] = 0x7f },
		"cells":       func(page []byte) { page[3], page[4] = 0xff, 0xff },
		"far pointer": func(page []byte) { page[12], page[13] = 0xff, 0xff },
	} {
		broken := slices.Clone(content)
		damage(broken[(root-1)*pageSize(t, e) : root*pageSize(t, e)])
		path := t.TempDir() + "/broken.db"
		must(t, os.WriteFile(path, broken, 0o600))
		file, err := openPages(path)
		must(t, err)
		if usage, err := file.tree(root); err == nil {
			t.Errorf("%s: %+v", name, usage)
		}
		must(t, file.Close())
	}
}
