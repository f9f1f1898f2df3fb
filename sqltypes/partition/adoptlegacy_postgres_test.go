package partition_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
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
			options := []partition.Option{partition.WithRetain(5), partition.WithIdle(5)}
			if test.start {
				options = append(options, partition.WithStart(day(-40)))
			}
			set := a.newSet(partition.Day, options...)
			a.adopt(set)
			a.does(set)
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
				return s.Action == "drop" && s.Partition == "events_legacy"
			})
			if dropped != test.dropped || (err == nil) != test.dropped || err != nil && !errors.Is(err, partition.ErrBlocked) {
				t.Errorf("dropped %v, %v; want %v, and otherwise ErrBlocked", dropped, err, test.dropped)
			}
		})
	}
}

// The legacy partition is split by way of a default partition, whose rows are not read while the table is locked.
func TestAdoptedPartitionIsSplit(t *testing.T) {
	t.Parallel()
	a := newAdopter(t, "CREATE TABLE events (id bigint PRIMARY KEY);\n")
	a.insert(a.day(-10), a.day(1), 6*time.Hour)
	set := a.newSet(partition.Day, partition.WithRetain(5))
	plan, err := set.PlanAdopt(t.Context(), a.DB)
	if dropped := "Maintain drops it as a whole, not before " + a.day(2+5).Format(time.DateOnly) + " 01:00"; err != nil || !strings.Contains(plan.String(), dropped) {
		t.Errorf("%v, %v, want %q", plan, err, dropped)
	}
	a.adopt(set)
	a.run(fmt.Sprintf(`ALTER TABLE events_legacy ADD CONSTRAINT cut CHECK (id IS NOT NULL AND id < %d) NOT VALID;
ALTER TABLE events_legacy VALIDATE CONSTRAINT cut;
BEGIN; ALTER TABLE events DETACH PARTITION events_legacy; ALTER TABLE events ATTACH PARTITION events_legacy DEFAULT; COMMIT;
`, idAt(a.day(2))))
	if moved, err := set.MoveDefault(t.Context(), a.DB, 3); moved != 6*4 || !errors.Is(err, partition.ErrBlocked) {
		t.Errorf("%d rows moved, %v, want those of six days, and a problem about older ones", moved, err)
	}
	a.counts(5*4, "SELECT count(*) FROM events_legacy WHERE id < $1", idAt(a.day(-5)))
	a.run("ALTER TABLE events DETACH PARTITION events_legacy;\nDROP TABLE events_legacy;\n")
	if steps, err := a.newSet(partition.Day, partition.WithRetain(4)).Maintain(t.Context(), a.DB); err != nil || len(steps) != 3 {
		t.Errorf("%v, %v, want tomorrow created and the two pieces of the oldest day dropped", kinds(steps), err)
	}
	a.counts(5*4, "SELECT count(*) FROM events")
}
