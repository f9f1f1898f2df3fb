//go:build cgo

package engine

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/key"
)

func TestSQLitePagesAddUpToTheFile(t *testing.T) {
	for _, k := range key.Kinds() {
		if !k.OnEngine("sqlite") || k.Strict { // which has one more table
			continue
		}
		e := open(t, "sqlite").(*sqlite)
		fill(t, e, accounts("t", k), 3000)
		exec(t, e, "DELETE FROM t WHERE amount % 3 = 0")          // free blocks and free pages
		pages := 1 + one[int64](t, e.db, "PRAGMA freelist_count") // 1: of sqlite_schema
		for _, tree := range trees(t, e, "t") {
			pages += tree.Pages
		}
		if count := one[int64](t, e.db, "PRAGMA page_count"); pages != count {
			t.Errorf("%s: the trees and the free list have %d pages, the file has %d", k.Name, pages, count)
		}
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
	tree := trees(t, e, "t")[0]
	if want := float64(n*row) / float64((tree.Pages-1)*(4096-8)); math.Abs(tree.Density-want) > 1e-9 { // without the root
		t.Errorf("filled to %.6f, want %.6f", tree.Density, want)
	}
}

func TestSQLiteRefusesOverflowPages(t *testing.T) {
	e := open(t, "sqlite").(*sqlite)
	exec(t, e, "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT)")
	exec(t, e, "CREATE INDEX i ON t (name)")
	for _, test := range []struct {
		bytes   int
		refused string // the tree; empty: none
	}{{998, ""}, {999, "i: "}, {4057, "i: "}, {4058, "t: "}} {
		exec(t, e, "INSERT INTO t VALUES (1, ?)", strings.Repeat("x", test.bytes))
		_, err := e.Trees(t.Context(), "t")
		if (err == nil) != (test.refused == "") || err != nil && !strings.Contains(err.Error(), "the pages of "+test.refused) {
			t.Errorf("a row of %d bytes: %v", test.bytes, err)
		}
		exec(t, e, "DELETE FROM t")
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
