package snowflake_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
)

// smallLayouts have so few bits that every ID can be looked at.
func smallLayouts() []snowflake.Layout {
	return []snowflake.Layout{
		snowflake.MustLayout(epoch2025, time.Millisecond, fields("time", 4, "worker", 2, "sequence", 3)...),
		snowflake.MustLayout(epoch2025, time.Microsecond, fields("time", 3, "sequence", 3, "machine", 2)...),
		snowflake.MustLayout(epoch2025.Add(123456789), 28*time.Second, fields("time", 5, "sequence", 1)...),
		snowflake.MustLayout(epoch2025, 7*time.Nanosecond*1000+3, fields("time", 4, "region", 1, "type", 2, "machine", 1, "sequence", 1)...),
		snowflake.MustLayout(epoch2025, time.Millisecond, fields("time", 2, "worker", 2, "time", 3, "sequence", 1)...),
		snowflake.MustLayout(epoch2025, time.Millisecond, fields("time", 3, "worker", 1, "sequence", 2, "time", 1, "type", 1)...),
	}
}

// periodOf returns the start of the period that contains t, which is not before the epoch.
func periodOf(l snowflake.Layout, t time.Time) time.Time {
	return l.Epoch().Add(t.Sub(l.Epoch()) / l.Period() * l.Period())
}

// inPeriod reports whether the first tick that does not begin before t lies in the layout but does not begin a period.
func inPeriod(l snowflake.Layout, t time.Time) bool {
	first := l.Epoch().Add((t.Sub(l.Epoch()) + l.Tick() - 1) / l.Tick() * l.Tick())
	return t.After(l.Epoch()) && first.Before(l.End()) && !periodOf(l, first).Equal(first)
}

func TestEveryIDOfSmallLayoutsKeepsItsOrderAndParts(t *testing.T) {
	for _, l := range smallLayouts() {
		last := l.Epoch()
		for id := range snowflake.ID(1) << l.Bits() {
			parts := l.Decompose(id)
			if back, err := l.Compose(parts); back != id || err != nil {
				t.Fatalf("%v: Compose(Decompose(%d)) = %d, %v", l, id, back, err)
			}

			if tick, _ := l.Field(id, snowflake.FieldTime); !l.Start(tick).Equal(parts.Time) || parts.Time.Before(periodOf(l, last)) {
				t.Fatalf("%v: the time of %d is before that of %d", l, id, id-1)
			}

			last = parts.Time
			if l.Period() > l.Tick() { // Field returns both parts of the time
				continue
			}

			var packed snowflake.ID
			for _, f := range l.Fields() {
				packed = packed<<f.Bits | snowflake.ID(must(l.Field(id, f.Name)))
			}

			if packed != id {
				t.Fatalf("%v: the fields of %d make %d", l, id, packed)
			}
		}

		if !last.Add(l.Tick()).Equal(l.End()) {
			t.Errorf("%v: the last tick ends at %v, End() = %v", l, last.Add(l.Tick()), l.End())
		}
	}
}

// The instants are every tick's start and its neighbours, so that each way of rounding wrongly is seen. They are compared
// with the times of all IDs.
func TestBoundsAreExactForEveryInstantOfSmallLayouts(t *testing.T) {
	for _, l := range append(smallLayouts(),
		snowflake.MustLayout(epoch2025, time.Millisecond, fields("shard", 2, "time", 3, "worker", 1, "sequence", 1)...),
		snowflake.MustLayout(epoch2025, time.Millisecond, fields("sequence", 1, "machine", 2, "time", 4)...),
		snowflake.MustLayout(epoch2025, time.Millisecond, fields("shard", 1, "time", 2, "worker", 1, "time", 2, "sequence", 1)...),
	) {
		var instants []time.Time
		for at := l.Epoch().Add(-l.Tick()); !at.After(l.End().Add(l.Tick())); at = at.Add(l.Tick()) {
			instants = append(instants, at.Add(-1), at, at.Add(1), at.Add(l.Tick()/2))
		}

		timeFirst := l.Fields()[0].Name == snowflake.FieldTime
		for _, from := range instants {
			if timeFirst {
				checkMinAt(t, l, from)
			}

			for _, to := range instants {
				if from.After(to) {
					continue
				}

				ranges, mask, times, err := l.MaskedRanges(from, to)
				noError(t, err)
				lo, hi, err := l.Range(from, to)
				switch inside := inPeriod(l, from) || inPeriod(l, to); {
				case inside != (mask != 0):
					t.Fatalf("%v: the mask from %v to %v is %d", l, from, to, mask)
				case (inside || !timeFirst) && (!errors.Is(err, snowflake.ErrFieldOrder) || lo != 0 || hi != 0):
					t.Fatalf("%v: Range(%v, %v) = %d, %d, %v", l, from, to, lo, hi, err)
				case !inside && timeFirst && (err != nil || ranges[0] != snowflake.Range{Lo: lo, Hi: hi}):
					t.Fatalf("%v: Range(%v, %v) = %d, %d, %v, want %v", l, from, to, lo, hi, err, ranges)
				}

				at := 0
				for id := range snowflake.ID(1) << l.Bits() {
					for at < len(ranges) && id >= ranges[at].Hi {
						at++
					}
					in := at < len(ranges) && id >= ranges[at].Lo && id&mask >= times.Lo && id&mask < times.Hi
					if want := !l.Time(id).Before(from) && l.Time(id).Before(to); in != want {
						t.Fatalf("%v, %v to %v: %d of %v is in the ranges: %t", l, from, to, id, l.Time(id), in)
					}
				}
			}
		}
	}
}

func checkMinAt(t *testing.T, l snowflake.Layout, at time.Time) {
	t.Helper()
	lowest, want := snowflake.ID(0), snowflake.ErrTimeExhausted
	if at.Before(l.Epoch()) {
		want = snowflake.ErrBeforeEpoch
	}

	for id := range snowflake.ID(1) << l.Bits() {
		if start := periodOf(l, l.Time(id)); !at.Before(start) && at.Before(start.Add(l.Period())) {
			lowest, want = id, nil
			break
		}
	}

	if id, err := l.MinAt(at); id != lowest || !errors.Is(err, want) {
		t.Fatalf("%v: MinAt(%v) = %d, %v, want %d, %v", l, at, id, err, lowest, want)
	}
}

func TestBoundsReachBeyondTheEnds(t *testing.T) {
	for _, test := range []struct {
		layout   snowflake.Layout
		from, to time.Time
		lo, hi   snowflake.ID
	}{
		{layoutOf("javascriptsafe"), time.Time{}, time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), 0, 1 << 53},
		{snowflake.Default(), time.Time{}, time.Unix(1<<62, 0), 0, math.MaxInt64},
		{snowflake.Default(), epoch2025, snowflake.Default().End(), 0, math.MaxInt64},
	} {
		if lo, hi, err := test.layout.Range(test.from, test.to); lo != test.lo || hi != test.hi || err != nil {
			t.Errorf("Range(%v, %v) = %d, %d, %v, want %d and %d", test.from, test.to, lo, hi, err, test.lo, test.hi)
		}
	}
}

func TestBoundsThatCanNotBeAreErrors(t *testing.T) {
	shard := func(bits int) snowflake.Layout {
		return snowflake.MustLayout(epoch2025, time.Millisecond, fields("shard", bits, "time", 10, "sequence", 12)...)
	}

	for _, test := range []struct {
		layout      snowflake.Layout
		from        time.Time
		min, one    error // of MinAt and of Range
		several     error // of MaskedRanges
		says, ofAll string
	}{
		{layoutOf("javascriptsafe"), epoch2025.Add(1), nil, snowflake.ErrInvalidRange, snowflake.ErrInvalidRange, "from 2025-01-01T00:00:00.000000001Z to 2025-01-01T00:00:00Z", "from 2025"},
		{shard(4), epoch2025, snowflake.ErrFieldOrder, snowflake.ErrFieldOrder, nil, "shard time sequence", ""},
		{shard(9), epoch2025, snowflake.ErrFieldOrder, snowflake.ErrFieldOrder, snowflake.ErrFieldOrder, "shard time sequence", "256"},
		{shard(32), epoch2025, snowflake.ErrFieldOrder, snowflake.ErrFieldOrder, snowflake.ErrFieldOrder, "", "256"}, // an int may have 32
		{shard(40), epoch2025, snowflake.ErrFieldOrder, snowflake.ErrFieldOrder, snowflake.ErrFieldOrder, "", "256"},
		{snowflake.Layout{}, epoch2025, snowflake.ErrLayout, snowflake.ErrLayout, snowflake.ErrLayout, "", ""},
	} {
		_, errMin := test.layout.MinAt(test.from)
		_, _, errRange := test.layout.Range(test.from, epoch2025)
		_, _, _, errRanges := test.layout.MaskedRanges(test.from, epoch2025)
		for _, got := range []struct {
			err, want error
			says      string
		}{{errMin, test.min, ""}, {errRange, test.one, test.says}, {errRanges, test.several, test.ofAll}} {
			if !errors.Is(got.err, got.want) || got.want != nil && !strings.Contains(got.err.Error(), got.says) {
				t.Errorf("%v from %v: %v, want %v with %q", test.layout, test.from, got.err, got.want, got.says)
			}
		}
	}
}

func TestRangesOfTheHighestValueEndAtTheGreatestNumber(t *testing.T) {
	l := snowflake.MustLayout(epoch2025, time.Millisecond, fields("shard", 8, "time", 41, "sequence", 14)...)
	ranges, _, _, err := l.MaskedRanges(time.Time{}, time.Unix(1<<62, 0))
	if err != nil || len(ranges) != 256 || ranges[0].Lo != 0 || ranges[255].Hi != math.MaxInt64 {
		t.Fatalf("%d ranges, %v", len(ranges), err)
	}
	for i, r := range ranges[1:] {
		if r.Lo != ranges[i].Hi {
			t.Errorf("%d to %d is in no range", ranges[i].Hi, r.Lo)
		}
	}
}

func TestValidateRejectsWhatNoGeneratorIssued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := layoutOf("epoch=1999-01-01T00:00:00Z tick=1ms time:41 worker:4 sequence:8")
		ahead := func(d time.Duration) snowflake.ID { return must(l.MinAt(time.Now().Add(d))) }
		for id, want := range map[snowflake.ID]string{
			1:                                        "",
			ahead(10 * time.Second):                  "",
			ahead(10*time.Second + time.Millisecond): "is more than 10s ahead of 2000-01-01T00:00:00Z",
			0:                                        "0 means no ID",
			-5:                                       "-5 is negative",
			math.MinInt64:                            "-9223372036854775808 is negative",
			1 << 53:                                  "9007199254740992 is above 9007199254740991, the layout's greatest",
		} {
			err := l.Validate(id)
			if want == "" && err != nil || want != "" && (!errors.Is(err, snowflake.ErrInvalidID) || !strings.Contains(err.Error(), want)) {
				t.Errorf("Validate(%d): %v, want ErrInvalidID with %q", id, err, want)
			}
		}
	})

	noError(t, snowflake.Default().Validate(mustNew(t, 0).MustNext()))
}

func TestComposeRejectsWhatDoesNotFit(t *testing.T) {
	l := layoutOf("twitter")
	type others = map[string]int64
	for _, test := range []struct {
		parts snowflake.Parts
		is    error
		want  string
	}{
		{snowflake.Parts{Time: epoch2025, Worker: 32}, snowflake.ErrFieldRange, "worker 32 out of range [0, 31]"},
		{snowflake.Parts{Time: epoch2025, Worker: -1}, snowflake.ErrFieldRange, "worker -1 out of range [0, 31]"},
		{snowflake.Parts{Time: epoch2025, Sequence: 4096}, snowflake.ErrFieldRange, "sequence 4096 out of range [0, 4095]"},
		{snowflake.Parts{Time: epoch2025, Fields: others{"datacenter": 32}}, snowflake.ErrFieldRange, "datacenter 32 out of range [0, 31]"},
		{snowflake.Parts{Time: epoch2025, Fields: others{"region": 1}}, snowflake.ErrUnknownField, `"region" is not among time, datacenter, worker, sequence`},
		{snowflake.Parts{Time: epoch2025, Fields: others{"worker": 1}}, snowflake.ErrUnknownField, `"worker"`},
		{snowflake.Parts{}, snowflake.ErrBeforeEpoch, "0001-01-01T00:00:00Z is before 2010-11-04T01:42:54.657Z"},
		{snowflake.Parts{Time: l.End()}, snowflake.ErrTimeExhausted, "2080-07-10T17:30:30.209Z is not before"},
	} {
		id, err := l.Compose(test.parts)
		if id != 0 || !errors.Is(err, test.is) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("Compose(%v) = %d, %v, want %v with %q", test.parts, id, err, test.is, test.want)
		}
	}

	_, err := l.Compose(snowflake.Parts{Time: epoch2025, Worker: 31, Sequence: 4095, Fields: others{"datacenter": 31}})
	noError(t, err)
}

func TestTimesBeyondADurationAreExact(t *testing.T) {
	l := layoutOf("mastodon") // lasts 4,459 years, a time.Duration 292
	for range 10_000 {
		ms := rand.Int64N(1 << 47)
		at := time.UnixMilli(ms).UTC()
		id, err := l.Compose(snowflake.Parts{Time: at.Add(time.Duration(rand.Int64N(int64(time.Millisecond))))})
		if err != nil || int64(id)>>16 != ms || !l.Time(id).Equal(at) {
			t.Fatalf("%v became %d, %v, which is of %v", at, id, err, l.Time(id))
		}
	}
}

// smallLayout returns a layout of at most 11 bits: some order of a time of one or two parts, a worker and a sequence, with
// some widths, epoch and tick.
func smallLayout(random *rand.Rand) snowflake.Layout {
	orders := []string{
		"time:%[1]d worker:%[2]d sequence:%[3]d", "time:%[1]d sequence:%[3]d worker:%[2]d",
		"worker:%[2]d time:%[1]d sequence:%[3]d", "worker:%[2]d sequence:%[3]d time:%[1]d",
		"sequence:%[3]d time:%[1]d worker:%[2]d", "sequence:%[3]d worker:%[2]d time:%[1]d",
		"time:%[1]d worker:%[2]d time:%[2]d sequence:%[3]d",
	}
	fields := fmt.Sprintf(orders[random.IntN(len(orders))], 1+random.IntN(5), 1+random.IntN(2), 1+random.IntN(2))
	begin, tick := []string{"00.000", "00.003", "00.0075"}[random.IntN(3)], []string{"1ms", "3ms"}[random.IntN(2)]
	return layoutOf("epoch=2025-01-01T00:00:" + begin + "Z tick=" + tick + " " + fields)
}

// follows is Follows by trying each ID.
func follows(l, old snowflake.Layout, until time.Time) (from time.Time, ok bool) {
	greatest := snowflake.ID(-1)
	for id := range snowflake.ID(1) << old.Bits() {
		if old.Time(id).Before(until) {
			greatest = id
		}
	}

	from = until
	for id := range snowflake.ID(1) << l.Bits() {
		if t := l.Time(id); id <= greatest && !t.Before(from) {
			from = t.Add(l.Tick())
		}
	}

	var first time.Time
	for id := range snowflake.ID(1) << l.Bits() {
		if t := l.Time(id); !t.Before(from) && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}

	return first, !first.IsZero()
}

func TestFollowsIsTheFirstMomentWithoutAnEqualOrSmallerID(t *testing.T) {
	random := rand.New(rand.NewPCG(25, 1))
	pairs, never := 0, 0
	for range 10_000 {
		l, old := smallLayout(random), smallLayout(random)
		if pairs%17 == 0 {
			old = l
		}

		for _, until := range []time.Time{
			old.Epoch().Add(-time.Second), old.Epoch(), old.Epoch().Add(time.Nanosecond),
			old.Start(random.Int64N(1 << old.Bits())).Add(time.Duration(random.IntN(2)) * time.Microsecond), old.End(),
			old.End().Add(time.Millisecond),
		} {
			pairs++
			got, err := l.Follows(old, until)
			want, ok := follows(l, old, until)
			if !ok {
				never++
			}
			if (err == nil) != ok || !got.Equal(want) || err != nil && !errors.Is(err, snowflake.ErrTimeExhausted) {
				t.Fatalf("%v\nfollows %v\nfrom before %s: got %s, error %v, want %s, %v", l, old, until, got, err, want, ok)
			}
		}
	}

	if never == 0 || never == pairs {
		t.Errorf("%d of %d pairs never follow", never, pairs)
	}
}

// Baidu's uid-generator has 28 bits of seconds, which ended in 2024. Two more bits of time, taken from the sequence, look like
// a remedy (https://github.com/baidu/uid-generator/issues/100). But they make all IDs smaller: those of the year 2025 are
// equal to IDs of 2018.
func ExampleLayout_Follows() {
	old := snowflake.MustPreset("baidu")
	longer, err := snowflake.ParseLayout("epoch=2016-05-20T00:00:00+08:00 tick=1s time:30 worker:22 sequence:11")
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = longer.Follows(old, old.End())
	fmt.Println("longer after baidu:", errors.Is(err, snowflake.ErrTimeExhausted))

	end := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	from, err := snowflake.Default().Follows(snowflake.MustPreset("wide"), end)
	fmt.Println("default after wide:", from.Format(time.DateTime), err)
	from, err = snowflake.Clustered().Follows(snowflake.Default(), end)
	fmt.Println("clustered after default:", from.Format(time.DateTime), err)
	from, err = snowflake.Default().Follows(snowflake.MustPreset("twitter"), end)
	fmt.Println("default after twitter:", from.Format(time.DateTime), err)
	// Output:
	// longer after baidu: true
	// default after wide: 2026-11-01 00:00:00 <nil>
	// clustered after default: 2026-11-01 00:01:43 <nil>
	// default after twitter: 2040-12-28 22:17:05 <nil>
}
