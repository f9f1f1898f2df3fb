package arrival

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
)

// Layout describes the bits of a key.
type Layout struct {
	Name string // for parameters
	// UUID keys have 16 bytes, the others 8.
	UUID   bool
	fields []snowflake.Field // of a snowflake, the highest first
}

// Layouts returns all layouts; the first is the library's default.
func Layouts() []Layout {
	clock := snowflake.Field{Name: "time", Bits: 41}
	worker, sequence := snowflake.Field{Name: "worker", Bits: 10}, snowflake.Field{Name: "sequence", Bits: 12}
	return []Layout{
		{Name: "time/worker/sequence", fields: []snowflake.Field{clock, worker, sequence}},
		{Name: "time/sequence/worker", fields: []snowflake.Field{clock, sequence, worker}},
		{Name: "worker/time/sequence", fields: []snowflake.Field{worker, clock, sequence}},
		{Name: "uuidv7", UUID: true},
	}
}

// FindLayout returns the layout with a name.
func FindLayout(name string) (Layout, error) {
	all := Layouts()
	names := make([]string, len(all))
	for i, l := range all {
		if l.Name == name {
			return l, nil
		}
		names[i] = l.Name
	}
	return Layout{}, fmt.Errorf("unknown layout %q; there are %s", name, strings.Join(names, ", "))
}

// age is the time after the epoch at which the simulation begins, so that keys have their full length.
const age = 2 * 365 * 24 * time.Hour

// Keys returns the keys of rows in their order, as values for a driver: int64 or [16]byte.
func (l Layout) Keys(rows []Row) ([]any, error) {
	keys := make([]any, len(rows))
	if l.UUID {
		start := snowflake.Default().Epoch().Add(age).UnixMilli()
		for i, r := range rows {
			keys[i] = r.uuid(start)
		}
		return keys, nil
	}
	layout, err := snowflake.NewLayout(snowflake.Default().Epoch(), time.Millisecond, l.fields...)
	if err != nil {
		return nil, err
	}
	for i, r := range rows {
		id, err := layout.Compose(snowflake.Parts{Time: layout.Start(r.tick).Add(age), Worker: r.worker, Sequence: r.sequence})
		if err != nil {
			return nil, err
		}
		keys[i] = int64(id)
	}
	return keys, nil
}

// uuid returns a UUIDv7 whose 12 bits after the version are a fraction of the millisecond: RFC 9562, section 6.2,
// method 3.
func (r Row) uuid(start int64) [16]byte {
	var id [16]byte
	binary.BigEndian.PutUint64(id[:], uint64(start+r.fine>>12)<<16|0x7000|uint64(r.fine&0xfff))
	binary.BigEndian.PutUint64(id[8:], r.random&(1<<62-1)|1<<63)
	return id
}

// Ranks returns for each row, in the order of arrival, the number of smaller keys. A model of a B-tree needs no more.
func (l Layout) Ranks(rows []Row) ([]int32, error) {
	keys, err := l.Keys(rows)
	if err != nil {
		return nil, err
	}
	order := make([]int32, len(keys))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int {
		if l.UUID {
			x, y := keys[a].([16]byte), keys[b].([16]byte)
			return bytes.Compare(x[:], y[:])
		}
		return cmp.Compare(keys[a].(int64), keys[b].(int64))
	})
	ranks := make([]int32, len(keys))
	for rank, i := range order {
		ranks[i] = int32(rank)
	}
	return ranks, nil
}
