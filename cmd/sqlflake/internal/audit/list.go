package audit

import "github.com/sqlflake/sqlflake/snowflake"

// idList holds IDs in blocks, so it grows without copying them.
type idList [][]snowflake.ID

const blockSize = 1 << 16

func (l *idList) add(id snowflake.ID) {
	last := len(*l) - 1
	if last < 0 || len((*l)[last]) == blockSize {
		*l = append(*l, make([]snowflake.ID, 0, blockSize))
		last++
	}
	(*l)[last] = append((*l)[last], id)
}

func (l idList) at(i int) *snowflake.ID { return &l[i/blockSize][i%blockSize] }

// Len and Swap are for package sort.
func (l idList) Len() int {
	if len(l) == 0 {
		return 0
	}
	return (len(l)-1)*blockSize + len(l[len(l)-1])
}

func (l idList) Swap(i, j int) { *l.at(i), *l.at(j) = *l.at(j), *l.at(i) }

// sample returns about 65,536 IDs at most, in runs of 1,024 that were added one after the other.
func (l idList) sample() (some []snowflake.ID) {
	const run, most = 1024, 65_536
	every := l.Len()/most + 1

	for i := range l.Len() {
		if i/run%every == 0 {
			some = append(some, *l.at(i))
		}
	}
	return some
}

// byTime sorts a list by the times of a layout.
type byTime struct {
	idList
	*masks
}

func (l byTime) Less(i, j int) bool { return l.compare(*l.at(i), *l.at(j)) < 0 }
