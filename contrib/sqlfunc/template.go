package sqlfunc

import (
	"fmt"
	"strings"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
)

// place is the position of a field in an ID.
type place struct {
	name        string
	shift, bits int
}

func (p place) max() int64 { return 1<<p.bits - 1 }

// place returns the position of a field, or the zero place if there is none.
func (f *Functions) place(name string) place {
	for _, p := range f.places {
		if p.name == name {
			return p
		}
	}
	return place{}
}

// timePlace is the position of the time: all bits in low or, if it has two parts, the upper ones in high.
type timePlace struct{ high, low place }

func (t timePlace) bits() int { return t.high.bits + t.low.bits }

func (t timePlace) max() int64 { return 1<<t.bits() - 1 }

// get returns SQL for the ticks in an ID, given that for the value of a field. Operators are in braces.
func (t timePlace) get(value func(place) string) string {
	if t.high.bits == 0 {
		return value(t.low)
	}
	return fmt.Sprintf("((%s {<<} %d) {|} %s)", value(t.high), t.low.bits, value(t.low))
}

// put returns SQL for the bits of an ID with the time of ticks, an operand in SQL.
func (t timePlace) put(ticks string) string {
	if t.high.bits == 0 {
		return fmt.Sprintf("%s {<<} %d", ticks, t.low.shift)
	}
	return fmt.Sprintf("(%s) {|} ((%s {&} %d) {<<} %d)", t.putPeriod(ticks), ticks, t.low.max(), t.low.shift)
}

// putPeriod is put for the first tick of a Layout.Period.
func (t timePlace) putPeriod(ticks string) string {
	if t.high.bits == 0 {
		return t.put(ticks)
	}
	return fmt.Sprintf("(%s {>>} %d) {<<} %d", ticks, t.low.bits, t.high.shift)
}

// ordered reports whether the time is the highest field.
func (f *Functions) ordered() bool { return f.places[0].name == snowflake.FieldTime }

// spread returns SQL for the sequence of an ID, given that for how many IDs of its tick came before, and for a number
// that depends on the tick alone. If the sequence is above the time, this number begins the tick: with 0 nearly all
// IDs of slow writers would be in the lowest range of keys.
func (f *Functions) spread(count, ofTick string) string {
	sequence := f.place(snowflake.FieldSequence)
	top := f.time.low
	if f.time.high.bits > 0 {
		top = f.time.high
	}
	if sequence.shift < top.shift {
		return count
	}
	return fmt.Sprintf("((%s + %s) & %d)", count, ofTick, sequence.max())
}

// called returns the name of a function or of the state.
func (f *Functions) called(what string) string { return f.name + "_" + what }

// patience bounds the wait of a call for the clock.
const patience = time.Second

// fill inserts texts and numbers into a template. The pairs are a name in braces and its value; added are those that
// all databases have. No name of ours and no text of a layout contains a quote or a backslash, see WithName and
// snowflake.NewLayout.
func (f *Functions) fill(template string, pairs ...any) string {
	sequence, tick := f.place(snowflake.FieldSequence), f.layout.Tick()
	pairs = append(pairs,
		"{name}", f.name,
		"{definition}", "'"+f.layout.String()+"'",
		"{time max}", f.time.max(),
		"{sequence bits}", sequence.bits,
		"{sequence shift}", sequence.shift,
		"{sequence max}", sequence.max(),
		"{worker}", f.worker,
		"{lead}", int64(f.lead/tick),
		"{lead text}", f.lead,
		"{patience}", max(1, int64(patience/tick)),
		"{tick seconds}", seconds(tick))
	texts := make([]string, len(pairs))
	for i, value := range pairs {
		texts[i] = fmt.Sprint(value)
	}

	return strings.NewReplacer(texts...).Replace(template)
}

// seconds returns the duration in seconds as an exact number.
func seconds(d time.Duration) string {
	return strings.TrimRight(strings.TrimRight(fmt.Sprintf("%d.%09d", d/time.Second, d%time.Second), "0"), ".")
}

// floorMicroseconds is Truncate that also works before the year 1.
func floorMicroseconds(t time.Time) time.Time {
	return t.Add(-time.Duration(t.Nanosecond() % 1000))
}

func ceilMicroseconds(t time.Time) time.Time {
	return floorMicroseconds(t.Add(time.Microsecond - time.Nanosecond))
}
