package advise

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
)

const (
	simulated = 200_000 // rows; more do not change the density
	// farthest is the largest disorder, in rows, that is simulated. Disorder over many pages has the same effect as
	// random keys.
	farthest = 20_000
	// safety is the factor by which skew and lag may grow without making the recommended fill factor a bad choice.
	safety = 1.5
	// worthwhile is the size, relative to the default's, below which another fill factor is recommended. If none helps,
	// as with large batches, sizes differ by a few percent without a pattern.
	worthwhile = 0.93
)

// candidates are the fill factors to try, the default first; 100 is added if all keys come in order.
var candidates = []int{defaultFill, 85, 80, 75, 70}

// rows returns fewer rows if pages hold few.
func (q *Question) rows() int {
	if q.Database == "postgres" {
		return simulated
	}
	return min(max(20_000_000/(innodbHeader+q.Row), 2*farthest), simulated)
}

// ranks returns the simulated keys in the form that the models take.
func (q *Question) ranks(factor float64) ([]int32, error) {
	o := q.order(factor)
	if o.Rate < 1 { // would take years: the same rows in less time
		o.Skew, o.Lag, o.Rate = scale(o.Skew, o.Rate), scale(o.Lag, o.Rate), 1
	}
	near := func(rows float64) float64 { return min(farthest/max(rows, 1), 1) }
	o.Skew, o.Lag = scale(o.Skew, near(o.SkewRows())), scale(o.Lag, near(o.LagRows()))
	o.Batch = max(scale(o.Batch, near(float64(o.Batch*o.Workers))), 1)
	rows, err := o.Simulate()
	if err != nil {
		return nil, err
	}
	return q.layout.Ranks(rows)
}

func scale[T ~int | ~int64](value T, factor float64) T { return T(float64(value) * factor) }

// size returns the bytes of a key.
func (q *Question) size() int {
	if q.layout.UUID {
		return 16
	}
	return 8
}

// predict sets the figures of an answer.
func (q *Question) predict(ctx context.Context, a *Answer) error {
	if !slices.Contains(local, q.Database) {
		return nil
	}
	keys, err := q.ranks(1)
	if err != nil {
		return err
	}
	base := q.baseline()
	figures := func(fill int, keys []int32) Figures {
		t := q.tree(fill)
		t.insert(keys)
		f := Figures{Fill: fill, Density: t.density(), Ratio: t.bytes() / base}
		if fill > 0 {
			f.Bytes = t.bytes()
		}
		return f
	}
	fill := 0
	if q.Database == "postgres" {
		fill = cmp.Or(q.Fill, defaultFill)
	}
	expected := figures(fill, keys)
	a.Expected = &expected
	if fill == 0 || q.quick {
		return context.Cause(ctx)
	}
	return q.choose(ctx, a, keys, figures)
}

// tree returns an empty tree for the question's keys.
func (q *Question) tree(fill int) *tree {
	switch {
	case q.Database == "postgres":
		return postgresTree(q.size(), fill)
	case q.Database != "sqlite":
		return innodbTree(q.size(), q.Row)
	case q.size() == 16: // a separate index
		return sqliteTree(2+1+3+16+autoRowid, false)
	default:
		return sqliteTree(sqliteEntry(snowflakeRowid, q.Row), true)
	}
}

// choose finds the fill factor with the smallest index, also if skew and lag are larger than given.
func (q *Question) choose(ctx context.Context, a *Answer, keys []int32, figures func(int, []int32) Figures) error {
	wider, err := q.ranks(safety)
	if err != nil {
		return err
	}
	list := candidates
	if q.ordered() {
		list = append(slices.Clip(list), 100)
	}
	var usual, least float64
	for _, fill := range list {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		f := figures(fill, keys)
		a.Fills = append(a.Fills, f)
		worst := max(f.Bytes, figures(fill, wider).Bytes)
		if fill == defaultFill {
			usual, least, a.Best = worst, worst, &f
		}
		if worst < least && worst < usual*worthwhile {
			least, a.Best = worst, &f
		}
	}
	if a.Best.Fill != a.Expected.Fill {
		a.Statements = fillStatements(q.Table, q.size(), a.Best.Fill)
	}
	return nil
}

// baseline returns the bytes of a row in a tree with auto-increment keys and default settings.
func (q *Question) baseline() float64 {
	var t *tree
	switch q.Database {
	case "postgres":
		t = postgresTree(8, defaultFill)
	case "sqlite":
		t = sqliteTree(sqliteEntry(autoRowid, q.Row), true)
	default:
		t = innodbTree(8, q.Row)
	}
	keys := make([]int32, q.rows())
	for i := range keys {
		keys[i] = int32(i)
	}
	t.insert(keys)
	return t.bytes()
}

// The bytes of a rowid: 3 for 16,384 to 2,097,151, 9 from 2^56 on, which the default layout reaches 198 days after its
// epoch. https://www.sqlite.org/fileformat2.html#varint.
const (
	autoRowid      = 3
	snowflakeRowid = 9
)

// sqliteEntry returns the bytes of a row: its pointer, length and header, the rowid, the type of the key, and the other
// columns.
func sqliteEntry(rowid, row int) float64 { return float64(2 + 2 + 1 + rowid + 1 + row) }

func fillStatements(table string, size, fill int) []string {
	column := map[int]string{8: "bigint", 16: "uuid"}[size]
	quoted := func(name string) string { return `"` + strings.ReplaceAll(name, ".", `"."`) + `"` }
	index := quoted(table + "_pkey")
	return []string{
		fmt.Sprintf("CREATE TABLE %s (id %s PRIMARY KEY WITH (fillfactor = %d), ...);  -- a new table", quoted(table), column, fill),
		fmt.Sprintf("ALTER INDEX %s SET (fillfactor = %d);  -- an existing index: for later page splits", index, fill),
		fmt.Sprintf("REINDEX INDEX CONCURRENTLY %s;  -- and for its pages; PostgreSQL 12 or later", index),
	}
}
