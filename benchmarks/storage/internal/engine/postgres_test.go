package engine

import (
	"math"
	"testing"
)

func TestPostgresSizesAgree(t *testing.T) {
	e := open(t, "postgres").(*postgres)
	const n = 50_000
	for _, name := range []string{"explicit", "uuidv4", "uuidv4-text"} {
		fill(t, e, accounts("t", find(t, name)), n)
		must(t, e.Settle(t.Context(), "t"))
		schema, err := e.statTuple(t.Context())
		must(t, err)
		for _, tree := range trees(t, e, "t") {
			table := doubleQuoted(tree.Name)
			pages := one[int64](t, e.db, "SELECT relpages FROM pg_class WHERE oid = to_regclass($1)", table)
			if pages*e.blockSize != tree.Bytes {
				t.Errorf("%s: %d pages, %d bytes", tree.Name, pages, tree.Bytes)
			}
			if bytes := one[int64](t, e.db, "SELECT table_len FROM "+schema+".pgstattuple($1::text)", table); bytes != tree.Bytes {
				t.Errorf("%s: %d bytes read, %d by size", tree.Name, bytes, tree.Bytes)
			}
			if tree.Role == Rows {
				continue
			}
			var bytes, leaves, entry int64
			query := "SELECT index_size, leaf_pages FROM " + schema + ".pgstatindex($1::text)"
			must(t, e.db.QueryRowContext(t.Context(), query, table).Scan(&bytes, &leaves))
			if bytes != tree.Bytes {
				t.Errorf("%s: %d bytes by pgstatindex, %d by size", tree.Name, bytes, tree.Bytes)
			}
			// An entry is a header of 8 bytes, the key in steps of 8 and a pointer of 4. A page has an overhead of
			// 24+16 bytes, and its high key counts as used.
			entry = map[string]int64{"explicit": 20, "uuidv4": 28, "uuidv4-text": 8 + 40 + 4}[name]
			if tree.Role == Secondary {
				entry = 20
			}
			want := float64((n+leaves)*entry) / float64(leaves*(e.blockSize-40))
			if math.Abs(tree.Density-want) > 0.01 {
				t.Errorf("%s, %s: filled to %.4f, want %.4f by the number of rows", name, tree.Name, tree.Density, want)
			}
			if tree.Role == Primary && (name == "explicit") != (tree.Fragmentation == 0) {
				t.Errorf("%s: fragmentation is %.3f", name, tree.Fragmentation)
			}
		}
		must(t, e.Drop(t.Context(), "t"))
	}
}
