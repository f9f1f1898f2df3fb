package advise

import (
	"slices"
	"sort"
)

// tree is a model of the leaves of a B-tree: which keys share a page. Keys are represented by their ranks. This
// determines how full the pages are, because page splits depend on the leaves only.
type tree struct {
	leaves []*leaf
	room   room
	split  func(t *tree, at, position int, key int32) // inserts a key into a full leaf
}

// room is the capacity of pages.
type room struct {
	most float64 // entries of a leaf
	last float64 // ... and further entries of the last leaf
	page float64 // bytes of a page
	// share is the part of a full leaf that entries take; the rest is their directory.
	share float64
	// branch is the number of leaves per page of the level above.
	branch float64
}

type leaf struct {
	low  int32 // the least key of this leaf's range
	keys []int32
	last int32 // the latest inserted key; none if unknown. InnoDB only.
}

const none = -1

func newTree(room room, split func(t *tree, at, position int, key int32)) *tree {
	return &tree{leaves: []*leaf{{last: none}}, room: room, split: split}
}

// insert inserts keys in the given order.
func (t *tree) insert(keys []int32) {
	for _, key := range keys {
		at := len(t.leaves) - 1
		if t.leaves[at].low > key {
			at = max(sort.Search(at, func(i int) bool { return t.leaves[i].low > key })-1, 0)
		}
		l := t.leaves[at]
		position, _ := slices.BinarySearch(l.keys, key)
		if t.fits(at, position) {
			l.add(position, key)
		} else {
			t.split(t, at, position, key)
		}
	}
}

func (l *leaf) add(position int, key int32) {
	l.keys = slices.Insert(l.keys, position, key)
	l.last = key
}

// fits reports whether a leaf has room for another key.
func (t *tree) fits(at, position int) bool {
	n := float64(len(t.leaves[at].keys) + 1)
	if t.room.branch == innodbBranch && sequential(t.leaves[at], position) {
		return n <= innodbReserved*t.room.most || n <= 2
	}
	if at == len(t.leaves)-1 {
		n -= t.room.last
	}
	return n <= t.room.most
}

// add inserts a leaf after another.
func (t *tree) add(behind int, l *leaf) { t.leaves = slices.Insert(t.leaves, behind+1, l) }

// cut moves the keys from a position on to a new leaf after this one.
func (t *tree) cut(at, position int) *leaf {
	l := t.leaves[at]
	right := &leaf{low: l.keys[position], keys: slices.Clone(l.keys[position:]), last: none}
	l.keys = l.keys[:position:position]
	t.add(at, right)
	return right
}

// density returns the used share of the leaves, 0 to 1. The last leaf is still being filled, so it is left out if there
// are others.
func (t *tree) density() float64 {
	leaves := t.leaves
	if len(leaves) > 1 {
		leaves = leaves[:len(leaves)-1]
	}
	return keysOf(leaves) / float64(len(leaves)) / t.room.most * t.room.share
}

// bytes returns the bytes of a key in the tree.
func (t *tree) bytes() float64 {
	pages := float64(len(t.leaves))
	return t.room.page * pages * (1 + 1/t.room.branch) / max(keysOf(t.leaves), 1)
}

func keysOf(leaves []*leaf) (n float64) {
	for _, l := range leaves {
		n += float64(len(l.keys))
	}
	return n
}
