package engine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
)

// pages reads the B-trees of a SQLite file (https://www.sqlite.org/fileformat2.html). The extension dbstat reports the
// same but is not part of every build. The tool's rows are far shorter than a page, so there are no overflow pages.
type pages struct {
	*os.File
	size int64 // of a page
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
	return &pages{File: file, size: int64(binary.BigEndian.Uint16(header[16:]))}, nil
}

const maxDepth = 32 // deeper means a loop in a damaged file

// count returns the number of pages below and with a page, which is not page 1.
func (p *pages) count(number int64, depth int) (int64, error) {
	page := make([]byte, p.size)
	if _, err := p.ReadAt(page, (number-1)*p.size); err != nil || depth > maxDepth {
		return 0, fmt.Errorf("page %d, level %d: %w", number, depth, err)
	}
	switch kind := page[0]; kind {
	case 10, 13: // a leaf of an index or of a table
		return 1, nil
	case 2, 5: // an interior page
	default:
		return 0, fmt.Errorf("page %d has the kind %d, which is not a B-tree page", number, kind)
	}
	children := []int64{8} // where the number of the last one is
	for i := range int64(binary.BigEndian.Uint16(page[3:])) {
		if 12+2*i+2 > p.size {
			return 0, fmt.Errorf("page %d has too many cells", number)
		}
		children = append(children, int64(binary.BigEndian.Uint16(page[12+2*i:])))
	}
	sum := int64(1)
	for _, at := range children {
		if at+4 > p.size {
			return 0, fmt.Errorf("page %d has a cell at %d", number, at)
		}
		n, err := p.count(int64(binary.BigEndian.Uint32(page[at:])), depth+1)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}
