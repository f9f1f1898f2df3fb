package engine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
)

// pages reads the B-trees of a SQLite file (https://www.sqlite.org/fileformat2.html). The extension dbstat reports the
// same but is not part of every build.
type pages struct {
	*os.File
	size     int64 // of a page
	usable   int64
	reserved int64
}

// treeUsage is the size of a B-tree.
type treeUsage struct {
	pages    int64 // of all kinds
	leaves   int64
	overflow int64
	free     int64 // bytes in the leaves
	room     int64 // bytes of the leaves without headers
	cells    int64 // in the leaves
	back     int64 // leaves that are before their left neighbour in the file, which pgstattuple counts as fragments
	last     int64
}

func (u treeUsage) density() float64 {
	if u.room == 0 {
		return -1
	}
	return 1 - float64(u.free)/float64(u.room)
}

func (u treeUsage) fragmentation() float64 {
	if u.leaves < 2 {
		return 0
	}
	return float64(u.back) / float64(u.leaves-1)
}

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
	if size == 1 {
		size = 65536
	}
	return &pages{File: file, size: size, reserved: int64(header[20]), usable: size - int64(header[20])}, nil
}

// The kinds of B-tree pages.
const (
	indexInterior = 2
	tableInterior = 5
	indexLeaf     = 10
	tableLeaf     = 13
)

// tree follows the B-tree from its root.
func (p *pages) tree(root int64) (treeUsage, error) {
	var u treeUsage
	return u, p.walk(root, &u, 0)
}

const maxDepth = 32 // deeper means a loop in a damaged file

func (p *pages) walk(number int64, u *treeUsage, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("page %d is deeper than %d levels", number, maxDepth)
	}
	const margin = 4 + 9 + 9 // so that the numbers at the start of a cell can be read at the end of a damaged page too
	page := make([]byte, p.size, p.size+margin)
	if _, err := p.ReadAt(page, (number-1)*p.size); err != nil {
		return fmt.Errorf("page %d: %w", number, err)
	}
	page = page[:cap(page)]
	head := page
	offset := int64(0)
	if number == 1 { // after the file's header
		offset = 100
		head = page[100:]
	}
	u.pages++
	kind := head[0]
	cells := int64(binary.BigEndian.Uint16(head[3:]))
	if err := p.check(page, head, offset, kind, cells); err != nil {
		return fmt.Errorf("page %d: %w", number, err)
	}
	switch kind {
	case indexLeaf, tableLeaf:
		u.leaf(number, cells, p.free(page, head, offset, 8, cells), p.usable-offset-8)
		return p.overflows(page, head[8:], kind, cells, u)
	case indexInterior, tableInterior:
		for i := range cells {
			cell := binary.BigEndian.Uint16(head[12+2*i:])
			if err := p.walk(int64(binary.BigEndian.Uint32(page[cell:])), u, depth+1); err != nil {
				return err
			}
		}
		if kind == indexInterior {
			if err := p.overflows(page, head[12:], kind, cells, u); err != nil {
				return err
			}
		}
		return p.walk(int64(binary.BigEndian.Uint32(head[8:])), u, depth+1)
	default:
		return fmt.Errorf("page %d has the kind %d, which is not a B-tree page", number, kind)
	}
}

// check verifies that the pointers of a page stay on the page.
func (p *pages) check(page, head []byte, offset int64, kind byte, cells int64) error {
	pointers := int64(8)
	if kind == indexInterior || kind == tableInterior {
		pointers = 12
	}
	if pointers+2*cells > p.usable-offset {
		return fmt.Errorf("%d cells do not fit on it", cells)
	}
	for i := range cells {
		if cell := int64(binary.BigEndian.Uint16(head[pointers+2*i:])); cell < pointers || cell >= p.usable {
			return fmt.Errorf("cell %d is at %d", i, cell)
		}
	}
	blocks := 0
	for block := int64(binary.BigEndian.Uint16(head[1:])); block != 0; block = int64(binary.BigEndian.Uint16(page[block:])) {
		if blocks++; block+4 > p.size || blocks > len(page)/4 {
			return fmt.Errorf("free block %d is at %d", blocks, block)
		}
	}
	return nil
}

func (u *treeUsage) leaf(number, cells, free, room int64) {
	if number < u.last {
		u.back++
	}
	u.last = number
	u.leaves++
	u.cells += cells
	u.free += free
	u.room += room
}

// free counts the gap between the cell pointers and the cells, the free blocks and the fragments.
func (p *pages) free(page, head []byte, offset, headerSize, cells int64) int64 {
	content := int64(binary.BigEndian.Uint16(head[5:]))
	if content == 0 {
		content = 65536
	}
	free := content - (offset + headerSize + 2*cells) + int64(head[7])
	for block := binary.BigEndian.Uint16(head[1:]); block != 0; block = binary.BigEndian.Uint16(page[block:]) {
		free += int64(binary.BigEndian.Uint16(page[block+2:]))
	}
	return free
}

// overflows counts the overflow pages of cells.
func (p *pages) overflows(page, pointers []byte, kind byte, cells int64, u *treeUsage) error {
	for i := range cells {
		cell := page[binary.BigEndian.Uint16(pointers[2*i:]):]
		if kind == indexInterior {
			cell = cell[4:]
		}
		payload, _ := varint(cell)
		most := p.usable - 35
		if kind != tableLeaf {
			most = (p.usable-12)*64/255 - 23
		}
		if payload <= most {
			continue
		}
		least := (p.usable-12)*32/255 - 23
		local := least + (payload-least)%(p.usable-4)
		if local > most {
			local = least
		}
		count := (payload - local + p.usable - 5) / (p.usable - 4)
		u.overflow += count
		u.pages += count
	}
	return nil
}

// varint reads a number of one to nine bytes with seven bits each, eight in the ninth.
func varint(b []byte) (value int64, n int) {
	for n = range 8 {
		value = value<<7 | int64(b[n]&0x7f)
		if b[n] < 0x80 {
			return value, n + 1
		}
	}
	return value<<8 | int64(b[8]), 9
}
