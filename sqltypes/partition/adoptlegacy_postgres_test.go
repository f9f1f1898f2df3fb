package partition_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes/partition"
)

// The legacy partition has no lower bound. It is dropped once it is beyond the retention, if the Set says how old its rows
// may be, and if it has no others.
func TestAdoptedPartitionIsDroppedByRetention(t *testing.T) {
	day := func(n int) time.Time { return noon.AddDate(0, 0, n) }
	for name, test := range map[string]struct {
		extra   snowflake.ID // a key beside those of the days -40 to -30
		start   bool         // WithStart of day -40
		dropped bool
	}{
		"with its start":               {start: true, dropped: true},
		"without a start":              {},
		"with a row before the start":  {start: true, extra: idAt(day(-41))},
		"with a row that is no ID":     {start: true, extra: 5},
		"with a row of a negative key": {start: true, extra: -5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAdopter(t, "CREATE TABLE events (id bigint PRIMARY KEY);\n")
			for n := -40; n < -30; n++ {
				a.run(fmt.Sprintf("INSERT INTO events VALUES (%d);\n", idAt(day(n))))
			}
			if test.extra != 0 {
				a.run(fmt.Sprintf("INSERT INTO events VALUES (%d);\n", test.extra))
			}
			options := []partition.Option{partition.WithRetain(5)}
			if test.start {
				options = append(options, partition.WithStart(day(-40)))
			}
			set := a.newSet(partition.Day, options...)
			if _, err := set.Adopt(t.Context(), a.DB); err != nil {
				t.Fatal(err)
			}
			if steps, err := set.Maintain(t.Context(), a.DB); len(steps) > 0 || err != nil {
				t.Errorf("Maintain after Adopt: %v, %v; want nothing to do", steps, err)
			}
			// As if it had been adopted twenty days ago.
			a.run(fmt.Sprintf(`ALTER TABLE events DETACH PARTITION events_legacy;
ALTER TABLE events ATTACH PARTITION events_legacy FOR VALUES FROM (MINVALUE) TO ('%d');
`, idAt(day(-20))))
			if _, err := a.newSet(partition.Day).Maintain(t.Context(), a.DB); err != nil {
				t.Fatal(err)
			}
			a.run(fmt.Sprintf("INSERT INTO events VALUES (%d);\n", idAt(time.Now())))
			steps, err := set.Maintain(t.Context(), a.DB)
			dropped := slices.ContainsFunc(steps, func(s partition.Step) bool {
				return s.Action == partition.ActionDrop && s.Partition == "events_legacy"
			})
			if dropped != test.dropped || (err == nil) != test.dropped || err != nil && !errors.Is(err, partition.ErrBlocked) {
				t.Errorf("dropped %v, %v; want %v, and otherwise ErrBlocked", dropped, err, test.dropped)
			}
		})
	}
}
