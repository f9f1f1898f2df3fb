package advise

import (
	"slices"
	"sort"
)

// tree is a model of the leaves of a B-tree: which keys share a page, and nothing else. Keys are their ranks among all
// keys. It is enough to know how full the pages become, since that depends on where pages are split and on nothing above
// them.
type tree struct {
	leaves []*leaf
	room   room
	split  func(t *tree, at, position int, key int32) // puts a key into a leaf that is full
}

// room is how many entries pages hold.
type room struct {
	most float64 // entries that fit into a leaf
	last float64 // ... and how many more into the last one
	page float64 // bytes of a page
	// share is how much of a full leaf are entries: the rest is a directory of them.
	share float64
	// branch is how many leaves a page above them has.
	branch float64
}

type leaf struct {
	low  int32 // the least key that belongs here
	keys []int32
	last int32 // the key that was inserted last; none if that is not known. InnoDB only.
}

const none = -1

func newTree(room room, split func(t *tree, at, position int, key int32)) *tree {
	return &tree{leaves: []*leaf{{last: none}}, room: room, split: split}
}

// insert puts keys into the tree in their order.
func (t *tree) insert(keys []int32) {
	for _, key := range keys {
		at := len(t.leaves) - 1
		if t.leaves[at].low > key {
			at = sort.Search(len(t.leaves), func(i int) bool { return t.leaves[i].low > key }) - 1
		}
		at = max(at, 0)
		l := t.leaves[at]
		position, _ := slices.BinarySearch(l.keys, key)
		if !t.fits(at, position) {
			t.split(t, at, position, key)
			continue
		}
		l.add(position, key)
	}
}

func (l *leaf) add(position int, key int32) {
	l.keys = slices.Insert(l.keys, position, key)
	l.last = key
}

// fits reports whether a leaf takes one key more.
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

// add puts a leaf behind another.
func (t *tree) add(behind int, l *leaf) { t.leaves = slices.Insert(t.leaves, behind+1, l) }

// cut moves the keys from a position on to a new leaf behind.
func (t *tree) cut(at, position int) *leaf {
	l := t.leaves[at]
	right := &leaf{low: l.keys[position], keys: slices.Clone(l.keys[position:]), last: none}
	l.keys = l.keys[:position:position]
	t.add(at, right)
	return right
}

func (t *tree) keys() (n int) {
	for _, l := range t.leaves {
		n += len(l.keys)
	}
	return n
}

// density is the share of the leaves that holds entries, 0 to 1. The last leaf is still being filled, and left out if there
// are others.
func (t *tree) density() float64 {
	leaves := t.leaves
	if len(leaves) > 1 {
		leaves = leaves[:len(leaves)-1]
	}
	n := 0
	for _, l := range leaves {
		n += len(l.keys)
	}
	return float64(n) / float64(len(leaves)) / t.room.most * t.room.share
}

// bytes is what a key takes in the tree.
func (t *tree) bytes() float64 {
	pages := float64(len(t.leaves))
	return t.room.page * pages * (1 + 1/t.room.branch) / float64(max(t.keys(), 1))
}
