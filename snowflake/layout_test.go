package snowflake_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
)

var epoch2025 = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)

func fields(pairs ...any) []snowflake.Field {
	var list []snowflake.Field
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, snowflake.Field{Name: pairs[i].(string), Bits: pairs[i+1].(int)})
	}
	return list
}

func TestBadLayoutsAreRejectedWithTheValueAndTheLimit(t *testing.T) {
	for _, test := range []struct {
		epoch  time.Time
		tick   time.Duration
		fields []snowflake.Field
		want   string
	}{
		{epoch2025, time.Millisecond, fields("time", 42, "worker", 10, "sequence", 12), "64 bits, more than 63"},
		{epoch2025, time.Millisecond, fields("worker", 10, "sequence", 12), `no field "time"`},
		{epoch2025, time.Millisecond, fields("time", 41, "worker", 10), `no field "sequence"`},
		{epoch2025, time.Millisecond, fields("time", 41, "worker", 4, "worker", 5, "sequence", 4), `field "worker" twice`},
		{epoch2025, time.Millisecond, fields("time", 9, "worker", 4, "time", 5, "sequence", 4, "time", 9), `3 fields "time", more than 2`},
		{epoch2025, time.Millisecond, fields("time", 19, "time", 22, "sequence", 4), `two fields "time" side by side: make them one of 41 bits`},
		{epoch2025, time.Millisecond, fields("time", 41, "worker", 0, "sequence", 12), `field "worker" has 0 bits, want 1 to 62`},
		{epoch2025, time.Millisecond, fields("time", 41, "sequence", 268), `field "sequence" has 268 bits, want 1 to 62`}, // wraps a byte
		{epoch2025, time.Millisecond, fields("time", 41, "Worker", 5, "sequence", 12), `field name "Worker"`},
		{epoch2025, time.Millisecond, fields("time", 41, "", 5, "sequence", 12), `field name ""`},
		{epoch2025, time.Millisecond, fields("time", 9, "sequence", 1, "a", 1, "b", 1, "c", 1, "d", 1, "e", 1, "f", 1, "g", 1), "9 fields, more than 8"},
		{epoch2025, 1 << 62, fields("time", 40, "sequence", 12), "last longer than 146 billion years"},
		{epoch2025, 0, fields("time", 41, "sequence", 12), "tick 0s below 1µs"},
		{epoch2025, 10 * time.Nanosecond, fields("time", 41, "sequence", 12), "tick 10ns below 1µs"},
		{time.Time{}, time.Millisecond, fields("time", 41, "sequence", 12), "epoch 0001-01-01T00:00:00Z outside"},
		{epoch2025.AddDate(275, 0, 0), time.Millisecond, fields("time", 41, "sequence", 12), "epoch 2300-01-01T00:00:00Z outside"},
	} {
		l, err := snowflake.NewLayout(test.epoch, test.tick, test.fields...)
		if !errors.Is(err, snowflake.ErrLayout) || !strings.Contains(err.Error(), test.want) || l != (snowflake.Layout{}) {
			t.Errorf("NewLayout = %v, %v, want ErrLayout with %q", l, err, test.want)
		}
	}
	defer func() {
		if err, ok := recover().(error); !ok || !errors.Is(err, snowflake.ErrLayout) {
			t.Errorf("MustLayout: recovered %v", err)
		}
	}()
	snowflake.MustLayout(epoch2025, 0)
}

func TestWorkerFieldGoesByTheNamesOfPublishedLayouts(t *testing.T) {
	for _, test := range []struct {
		fields []snowflake.Field
		want   string
	}{
		{fields("time", 41, "shard", 3, "machine", 4, "worker", 5, "sequence", 8), "worker"},
		{fields("time", 41, "shard", 3, "machine", 4, "sequence", 8), "machine"},
		{fields("time", 41, "shard", 3, "region", 4, "sequence", 8), "shard"},
		{fields("time", 41, "region", 4, "sequence", 8), ""},
	} {
		if got := snowflake.MustLayout(epoch2025, time.Millisecond, test.fields...).WorkerField(); got != test.want {
			t.Errorf("WorkerField() = %q, want %q for %v", got, test.want, test.fields)
		}
	}
}

func TestTheZeroLayoutIsRejectedOrSaysNothing(t *testing.T) {
	var l snowflake.Layout
	if _, err := snowflake.New(0, snowflake.WithLayout(l)); !errors.Is(err, snowflake.ErrLayout) {
		t.Errorf("New: %v", err)
	}
	if _, err := l.Compose(snowflake.Parts{}); !errors.Is(err, snowflake.ErrLayout) {
		t.Errorf("Compose: %v", err)
	}
	if err := l.Validate(5); !errors.Is(err, snowflake.ErrLayout) {
		t.Errorf("Validate: %v", err)
	}
	if _, err := l.Follows(snowflake.Default(), epoch2025); !errors.Is(err, snowflake.ErrLayout) {
		t.Errorf("Follows: %v", err)
	}
	if _, err := snowflake.Default().Follows(l, epoch2025); !errors.Is(err, snowflake.ErrLayout) {
		t.Errorf("Follows after it: %v", err)
	}
	if _, err := l.Field(5, "time"); !errors.Is(err, snowflake.ErrUnknownField) {
		t.Errorf("Field: %v", err)
	}
	if !l.Time(5).IsZero() || !l.End().IsZero() || l.String() != "" || l.WorkerField() != "" || len(l.Fields()) != 0 || l.MaxWorker() != 0 {
		t.Errorf("the zero layout says %v %v %q", l.Time(5), l.End(), l)
	}
	if p := l.Decompose(5); !p.Time.IsZero() || p.Worker != 0 || p.Sequence != 0 || p.Fields != nil {
		t.Errorf("Decompose(5) = %v", p)
	}
}
