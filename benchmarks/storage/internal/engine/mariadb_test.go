package engine

import (
	"context"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// innodbTree is a B-tree in a table's file.
type innodbTree struct{ pages, leaves, records, data int64 }

// readInnoDB reads the file of a table, by the number of the index. The format is defined in storage/innobase,
// fil0types.h and page0types.h. Pages that were freed are counted too; the test frees none.
func readInnoDB(t *testing.T, path string, pageSize int64) map[uint64]innodbTree {
	t.Helper()
	content, err := os.ReadFile(path)
	if os.IsPermission(err) {
		t.Skipf("the server's files cannot be read: %v", err)
	}
	must(t, err)
	trees := map[uint64]innodbTree{}
	for page := range slices.Chunk(content, int(pageSize)) {
		number := func(at int) int64 { return int64(binary.BigEndian.Uint16(page[at:])) }
		if number(24) != 17855 { // an index page
			continue
		}
		id := binary.BigEndian.Uint64(page[38+28:])
		tree := trees[id]
		tree.pages++
		if number(38+26) == 0 { // the level
			tree.leaves++
			tree.records += number(38 + 16)
			tree.data += number(38+2) - 120 - number(38+8)
		}
		trees[id] = tree
	}
	return trees
}

func TestMariaDBTreesAreThoseOfTheFile(t *testing.T) {
	for _, test := range []struct {
		kind string
		rows int
	}{{"explicit", 100}, {"explicit", 3000}, {"uuidv4", 6000}, {"explicit", 20_000}, {"uuidv4-text", 60_000}, {"snowflake", 100_000}} {
		e := open(t, "mariadb").(*mariadb)
		fill(t, e, accounts("t", find(t, test.kind)), test.rows)
		list := trees(t, e, "t")
		c := conn(t, e)
		_, err := c.ExecContext(t.Context(), "FLUSH TABLES t FOR EXPORT")
		must(t, err)
		file := readInnoDB(t, filepath.Join(one[string](t, e.db, "SELECT @@datadir"), e.place, "t.ibd"), e.pageSize)
		_, err = c.ExecContext(context.WithoutCancel(t.Context()), "UNLOCK TABLES")
		must(t, err)
		for _, tree := range list {
			want := file[one[uint64](t, e.db, `SELECT i.index_id FROM information_schema.INNODB_SYS_INDEXES i
				JOIN information_schema.INNODB_SYS_TABLES t USING (table_id) WHERE t.name = ? AND i.name = ?`, e.place+"/t", tree.Name)]
			if want.records != int64(test.rows) {
				t.Fatalf("%d records in the leaves of %s, %d rows", want.records, tree.Name, test.rows)
			}
			density := float64(want.data) / float64(want.leaves*(e.pageSize-128))
			if tree.Bytes != want.pages*e.pageSize || math.Abs(density-tree.Density) > 0.005 {
				t.Errorf("%s, %d rows, %s: %d bytes, filled to %.4f; in the file %d pages, filled to %.4f",
					test.kind, test.rows, tree.Name, tree.Bytes, tree.Density, want.pages, density)
			}
		}
	}
}

func TestIndexPagesMeasure(t *testing.T) {
	const page, full = 16384, 16384 - 128
	for _, test := range []struct {
		name    string
		stats   indexPages
		pool    poolPages
		pages   int64
		density float64
	}{
		{"one page", indexPages{reserved: 1, leaves: 1}, poolPages{"", 1, 1, full / 2, full / 2}, 1, 0.5},
		{"all in the pool", indexPages{reserved: 417, leaves: 373}, poolPages{"", 374, 1, 373*full/2 + 100, 100}, 374, 0.5},
		{"three levels", indexPages{reserved: 1123, leaves: 1116}, poolPages{"", 1119, 1, 1118*full/2 + 100, 100}, 1119, 0.5},
		{"half in the pool", indexPages{reserved: 417, leaves: 373}, poolPages{"", 200, 1, 199 * full, 0}, 374, -1},
		{"nobody may look", indexPages{reserved: 417, leaves: 373}, poolPages{}, 374, -1},
		{"small and told wrong", indexPages{reserved: 12, leaves: 1}, poolPages{"", 12, 1, 11*full/2 + 50, 50}, 12, 0.5},
		{"small, told wrong, nobody may look", indexPages{reserved: 12, leaves: 1}, poolPages{}, 12, -1},
		{"told wrong, with an extent", indexPages{reserved: 97, leaves: 1}, poolPages{"", 40, 1, 39*full/2 + 50, 50}, 40, 0.5},
		{"freed pages in the pool", indexPages{reserved: 20, leaves: 18}, poolPages{"", 25, 1, 24 * full / 2, 0}, 19, 0.5},
	} {
		pages, density := test.stats.measure(test.pool, page)
		if pages != test.pages || math.Abs(density-test.density) > 1e-3 {
			t.Errorf("%s: %d pages, %.4f full, want %d, %.4f", test.name, pages, density, test.pages, test.density)
		}
	}
}
