package advise

// InnoDB's B-tree, as btr0btr.cc of MariaDB 10.11 splits it:
// https://github.com/MariaDB/server/blob/10.11/storage/innobase/btr/btr0btr.cc (btr_page_split_and_insert). If a key comes
// right after the one that the page got last, InnoDB takes that for a series and splits there, however few keys are on one
// side: a latecomer then meets a page that is closed. https://bugs.mysql.com/bug.php?id=67718.

const (
	innodbSpace    = 16252.0   // of a page of 16 KiB, for entries
	innodbReserved = 15.0 / 16 // of it is filled by a series; the rest is for updates
	innodbHeader   = 5 + 13    // bytes of a row beside its columns: header, transaction, undo pointer
	innodbSlot     = 0.5       // of the page's directory
	innodbBranch   = 700.0     // leaves of a page above them
)

// innodbTree is a table with a key of so many bytes and other columns of so many.
func innodbTree(key, row int) *tree {
	entry := float64(innodbHeader + key + row)
	place := entry + innodbSlot
	return newTree(room{most: innodbSpace / place, page: 16384, share: entry / place, branch: innodbBranch}, innodbSplit)
}

// sequential reports whether a key at a position is beside the one that the page got last.
func sequential(l *leaf, position int) bool { return after(l, position) || before(l, position) }

func after(l *leaf, position int) bool {
	return l.last != none && position > 0 && l.keys[position-1] == l.last
}

func before(l *leaf, position int) bool {
	return l.last != none && position < len(l.keys) && l.keys[position] == l.last
}

func innodbSplit(t *tree, at, position int, key int32) {
	l := t.leaves[at]
	n := len(l.keys)
	if position == n && at+1 < len(t.leaves) { // btr_insert_into_right_sibling
		if next := t.leaves[at+1]; float64(len(next.keys)+1) <= t.room.most {
			next.low = key
			next.add(0, key)
			return
		}
	}
	split := n / 2
	switch {
	case after(l, position): // btr_page_get_split_rec_to_right: all but one of the keys behind go
		split = position + 1
		if position == n || position+1 == n {
			split = position
		}
	case before(l, position): // btr_page_get_split_rec_to_left
		split = position
		if position > 1 {
			split = position - 1
		}
	}
	if split >= n { // the new key goes alone
		t.add(at, &leaf{low: key, keys: []int32{key}, last: key})
		return
	}
	if split == position && after(l, position) { // ... with the one key behind it
		right := t.cut(at, position)
		right.low = key
		right.add(0, key)
		return
	}
	split = max(split, 1)
	right := t.cut(at, split)
	l.last = none
	if position <= split {
		l.add(position, key)
		return
	}
	right.add(position-split, key)
}
