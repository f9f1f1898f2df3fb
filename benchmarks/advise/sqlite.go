package advise

import "slices"

// SQLite's B-tree with the page splits of balance_quick and balance_nonroot of btree.c:
// https://www.sqlite.org/src/file/src/btree.c. A row after all others gets a page of its own. In all other cases a full
// page shares its entries with its two neighbours and, if needed, a new page.

const (
	sqliteSpace  = 4096.0 - 8
	sqliteBranch = 250.0
)

// sqliteTree returns a tree with entries of the given size; a table if rows is true, else an index.
func sqliteTree(entry float64, rows bool) *tree {
	room := room{most: float64(int(sqliteSpace / entry)), page: 4096, share: 1, branch: sqliteBranch}
	return newTree(room, func(t *tree, at, position int, key int32) {
		l := t.leaves[at]
		if rows && at == len(t.leaves)-1 && position == len(l.keys) {
			t.add(at, &leaf{low: key, keys: []int32{key}, last: none})
			return
		}
		l.add(position, key)
		first := max(at-1, 0)
		if at == len(t.leaves)-1 {
			first = max(at-2, 0)
		}
		t.share(first, min(first+3, len(t.leaves)))
	})
}

// share distributes the entries of neighbours: full from the left, then evenly from the right.
func (t *tree) share(first, end int) {
	var all []int32
	for _, l := range t.leaves[first:end] {
		all = append(all, l.keys...)
	}
	most := int(t.room.most)
	var sizes []int
	for left := len(all); left > 0; left -= most {
		sizes = append(sizes, min(left, most))
	}
	for i := len(sizes) - 1; i > 0; i-- {
		for sizes[i]+1 <= sizes[i-1]-1 {
			sizes[i]++
			sizes[i-1]--
		}
	}
	leaves := make([]*leaf, 0, len(sizes))
	low := t.leaves[first].low
	for _, n := range sizes {
		leaves = append(leaves, &leaf{low: low, keys: append([]int32(nil), all[:n]...), last: none})
		if all = all[n:]; len(all) > 0 {
			low = all[0]
		}
	}
	t.leaves = slices.Replace(t.leaves, first, end, leaves...)
}
