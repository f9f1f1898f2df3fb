package advise

import "math"

// PostgreSQL's B-tree, as nbtsplitloc.c of PostgreSQL 12 to 18 splits it:
// https://github.com/postgres/postgres/blob/REL_15_STABLE/src/backend/access/nbtree/nbtsplitloc.c. The last leaf is split so
// that the left part is as full as the fill factor says. All others are split in the middle: the rule that finds a second
// place of appending, _bt_afternewitemoff, is for indexes of several columns only.

// postgresRoom is the room of a page of 8 KiB for an entry of so many bytes, with its line pointer and header.
func postgresRoom(key int) room {
	entry := float64(8 + key + 4)
	// All but the last leaf have a high key, which is one entry.
	return room{most: postgresSpace/entry - 1, last: 1, page: 8192, share: 1, branch: 0.7 * postgresSpace / entry}
}

const postgresSpace = 8192 - 24 - 16 // without the header and what is at the end of a page

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
			// The left page gets a high key, which may hold a row's place as well.
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
