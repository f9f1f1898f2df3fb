package engine

import (
	"context"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"testing"
)

// innodbFile maps the number of an index to its B-tree in a table's file.
type innodbFile map[uint64]*innodbTree

type innodbTree struct {
	pages, leaves, records, data int64
	back                         int64
}

// readInnoDB reads the file of a table, following the leaves from left to right. The format is defined in
// storage/innobase, fil0types.h and page0types.h.
func readInnoDB(t *testing.T, path string, pageSize int64) innodbFile {
	t.Helper()
	content, err := os.ReadFile(path)
	if os.IsPermission(err) {
		t.Skipf("the server's files cannot be read: %v", err)
	}
	must(t, err)
	const none, index = math.MaxUint32, 17855
	page := func(n uint32) []byte { return content[int64(n)*pageSize:][:pageSize] }
	trees := innodbFile{}
	for n := range uint32(int64(len(content)) / pageSize) {
		p := page(n)
		if binary.BigEndian.Uint16(p[24:]) != index {
			continue
		}
		id := binary.BigEndian.Uint64(p[38+28:])
		if trees[id] == nil {
			trees[id] = &innodbTree{}
		}
		tree := trees[id]
		tree.pages++
		if level := binary.BigEndian.Uint16(p[38+26:]); level > 0 || binary.BigEndian.Uint32(p[8:]) != none {
			continue
		}
		for leaf := n; leaf != none; {
			p := page(leaf)
			tree.leaves++
			tree.records += int64(binary.BigEndian.Uint16(p[38+16:]))
			tree.data += int64(binary.BigEndian.Uint16(p[38+2:])) - 120 - int64(binary.BigEndian.Uint16(p[38+8:]))
			next := binary.BigEndian.Uint32(p[12:])
			if next < leaf {
				tree.back++
			}
			leaf = next
		}
	}
	return trees
}

func TestMariaDBTreesAreThoseOfTheFile(t *testing.T) {
	for _, test := range []struct {
		kind string
		rows int
	}{
		{"explicit", 100},
		{"explicit", 3000},
		{"uuidv4", 6000},
		{"explicit", 20_000},
		{"uuidv4", 60_000},
		{"uuidv4-text", 60_000},
		{"snowflake", 100_000},
	} {
		e := open(t, "mariadb").(*mariadb)
		fill(t, e, accounts("t", find(t, test.kind)), test.rows)
		list := trees(t, e, "t")
		c := conn(t, e)
		_, err := c.ExecContext(t.Context(), "FLUSH TABLES t FOR EXPORT")
		must(t, err)
		path := filepath.Join(one[string](t, e.db, "SELECT @@datadir"), e.place, "t.ibd")
		file := readInnoDB(t, path, e.pageSize)
		_, err = c.ExecContext(context.WithoutCancel(t.Context()), "UNLOCK TABLES")
		must(t, err)
		info, err := os.Stat(path)
		must(t, err)
		size := one[int64](t, e.db, "SELECT file_size FROM information_schema.INNODB_SYS_TABLESPACES WHERE name = ?", e.place+"/t")
		if size != info.Size() {
			t.Errorf("the file has %d bytes, the server says %d", info.Size(), size)
		}
		var total int64
		for _, tree := range list {
			id := one[uint64](t, e.db, `SELECT i.index_id FROM information_schema.INNODB_SYS_INDEXES i
				JOIN information_schema.INNODB_SYS_TABLES t USING (table_id) WHERE t.name = ? AND i.name = ?`, e.place+"/t", tree.Name)
			want := file[id]
			total += tree.Bytes
			if want.records != int64(test.rows) {
				t.Fatalf("%d records in the leaves of %s, %d rows", want.records, tree.Name, test.rows)
			}
			if tree.Bytes != want.pages*e.pageSize {
				t.Errorf("%s, %d rows, %s: %d pages, the file has %d",
					test.kind, test.rows, tree.Name, tree.Bytes/e.pageSize, want.pages)
			}
			density := float64(want.data) / float64(want.leaves*(e.pageSize-128))
			if math.Abs(density-tree.Density) > 0.005 {
				t.Errorf("%s, %d rows, %s: filled to %.4f, in the file to %.4f", test.kind, test.rows, tree.Name, tree.Density, density)
			}
		}
		if total >= size {
			t.Errorf("the trees have %d bytes, the file has %d", total, size)
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
