package advise

import "math"

// PostgreSQL's B-tree with the page splits of nbtsplitloc.c of PostgreSQL 12 to 18:
// https://github.com/postgres/postgres/blob/REL_15_STABLE/src/backend/access/nbtree/nbtsplitloc.c. When the last leaf
// is split, its left part is filled to the fill factor. All other leaves are split in the middle: the rule for a second
// append position, _bt_afternewitemoff, applies to indexes of several columns only.

// postgresRoom returns the room of a page of 8 KiB for keys of the given size, with line pointer and header.
func postgresRoom(key int) room {
	entry := float64(8 + key + 4)
	// All leaves but the last have a high key, which takes one entry.
	return room{most: postgresSpace/entry - 1, last: 1, page: 8192, share: 1, branch: 0.7 * postgresSpace / entry}
}

const postgresSpace = 8192 - 24 - 16 // without the page header and the special space

func postgresTree(key, fill int) *tree {
	room := postgresRoom(key)
	entry := postgresSpace / (room.most + 1)
	factor := float64(fill) / 100
	return newTree(room, func(t *tree, at, position int, key int32) {
		l := t.leaves[at]
		l.add(position, key)
		n := len(l.keys)
		rightmost := at == len(t.leaves)-1
		best, least := n/2, math.Inf(1)
		for left := 1; left < n; left++ {
			// The left page gets a high key, which may contain a row's TID as well.
			leftFree := postgresSpace - entry*float64(left+1) - 8
			rightFree := postgresSpace - entry*float64(n-left)
			if !rightmost {
				rightFree -= entry
			}
			if leftFree < 0 || rightFree < 0 {
				continue
			}
			delta := math.Abs(leftFree - rightFree)
			if rightmost {
				delta = math.Abs(factor*leftFree - (1-factor)*rightFree)
			}
			if delta < least {
				best, least = left, delta
			}
		}
		t.cut(at, best)
	})
}
