package advise

// InnoDB's B-tree with the page splits of btr0btr.cc of MariaDB 10.11:
// https://github.com/MariaDB/server/blob/10.11/storage/innobase/btr/btr0btr.cc (btr_page_split_and_insert). If a key is
// inserted right after the page's previous insert, InnoDB expects a sequence and splits there, even if one side is
// nearly empty. A late key then finds a full page. https://bugs.mysql.com/bug.php?id=67718.

const (
	innodbSpace    = 16252.0   // bytes for entries in a page of 16 KiB
	innodbReserved = 15.0 / 16 // the part that sequential inserts fill; the rest is for updates
	innodbHeader   = 5 + 13    // bytes of a row without its columns: header, transaction, undo pointer
	innodbSlot     = 0.5       // of the page directory, per row
	innodbBranch   = 700.0     // leaves per page of the level above
)

// innodbTree returns a table with keys and other columns of the given sizes in bytes.
func innodbTree(key, row int) *tree {
	entry := float64(innodbHeader + key + row)
	place := entry + innodbSlot
	return newTree(room{most: innodbSpace / place, page: 16384, share: entry / place, branch: innodbBranch}, innodbSplit)
}

// sequential reports whether a position is next to the page's previous insert.
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
	case after(l, position): // btr_page_get_split_rec_to_right: moves all but one of the following keys
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
	if split == position && after(l, position) { // the new key begins a page, with the one key after it if there is one
		right := &leaf{last: none}
		if split < n {
			right = t.cut(at, split)
		} else {
			t.add(at, right)
		}
		right.low = key
		right.add(0, key)
		return
	}
	split = max(split, 1)
	right := t.cut(at, split)
	l.last = none
	if position <= split {
		l.add(position, key)
	} else {
		right.add(position-split, key)
	}
}
