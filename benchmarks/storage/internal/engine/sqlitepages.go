package engine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
)

// pages reads the B-trees of a SQLite file (https://www.sqlite.org/fileformat2.html). The extension dbstat reports the
// same but is not part of every build. Trees with overflow pages are refused: the tool's rows are far shorter than a page.
type pages struct {
	*os.File
	size   int64 // of a page
	usable int64
}

// treeUsage is the size of a B-tree.
type treeUsage struct {
	pages  int64 // of all kinds
	leaves int64
	free   int64 // bytes in the leaves
	room   int64 // bytes of the leaves without headers
	back   int64 // leaves that are before their left neighbour in the file, which pgstattuple counts as fragments
	last   int64
}

func (u treeUsage) density() float64 {
	if u.room == 0 {
		return -1
	}
	return 1 - float64(u.free)/float64(u.room)
}

func (u treeUsage) fragmentation() float64 { return float64(u.back) / float64(max(u.leaves-1, 1)) }

func openPages(path string) (*pages, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	var header [100]byte
	if _, err := file.ReadAt(header[:], 0); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	size := int64(binary.BigEndian.Uint16(header[16:]))
	return &pages{File: file, size: size, usable: size - int64(header[20])}, nil
}

// The kinds of B-tree pages.
const (
	indexInterior = 2
	tableInterior = 5
	indexLeaf     = 10
	tableLeaf     = 13
)

// tree follows a B-tree from its root, which is not page 1 (sqlite_schema, after the file's header).
func (p *pages) tree(root int64) (treeUsage, error) {
	var u treeUsage
	return u, p.walk(root, &u, 0)
}

const maxDepth = 32 // deeper means a loop in a damaged file

func (p *pages) walk(number int64, u *treeUsage, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("page %d is deeper than %d levels", number, maxDepth)
	}
	page := make([]byte, p.size)
	if _, err := p.ReadAt(page, (number-1)*p.size); err != nil {
		return fmt.Errorf("page %d: %w", number, err)
	}
	at := func(i int64) int64 { return int64(binary.BigEndian.Uint16(page[i:])) }
	child := func(i int64) int64 { return int64(binary.BigEndian.Uint32(page[i:])) }
	kind, cells, pointers := page[0], at(3), int64(8)
	leaf := kind == indexLeaf || kind == tableLeaf
	if !leaf {
		pointers += 4 // the last child
	}
	switch {
	case !leaf && kind != indexInterior && kind != tableInterior:
		return fmt.Errorf("page %d has the kind %d, which is not a B-tree page", number, kind)
	case pointers+2*cells > p.usable:
		return fmt.Errorf("page %d: %d cells do not fit on it", number, cells)
	}
	u.pages++
	for i := range cells {
		cell := at(pointers + 2*i)
		if cell < pointers || cell+4 > p.usable {
			return fmt.Errorf("page %d: cell %d is at %d", number, i, cell)
		}
		size := cell
		if !leaf {
			size += 4 // after the child
			if err := p.walk(child(cell), u, depth+1); err != nil {
				return err
			}
		}
		if kind != tableInterior && p.overflows(page[size:p.usable], kind) {
			return fmt.Errorf("page %d: an entry has overflow pages, which are not counted; the page size is %d", number, p.size)
		}
	}
	if !leaf {
		return p.walk(child(8), u, depth+1)
	}
	// Free are the gap between the cell pointers and the cells, the fragments, and the free blocks in ascending order.
	u.free += at(5) - (pointers + 2*cells) + int64(page[7])
	for last, block := int64(0), at(1); block != 0; last, block = block, at(block) {
		if block <= last || block+4 > p.usable {
			return fmt.Errorf("page %d: a free block is at %d", number, block)
		}
		u.free += at(block + 2)
	}
	if number < u.last {
		u.back++
	}
	u.last = number
	u.leaves++
	u.room += p.usable - pointers
	return nil
}

// overflows reports whether an entry, which begins with its size, continues on other pages.
func (p *pages) overflows(cell []byte, kind byte) bool {
	limit := (p.usable-12)*64/255 - 23
	if kind == tableLeaf {
		limit = p.usable - 35
	}
	var size int64
	for _, b := range cell[:min(len(cell), 8)] { // 7 bits in each byte, the highest first
		size = size<<7 | int64(b&0x7f)
		if b < 0x80 {
			break
		}
	}
	return size > limit
}
