package lease

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
)

// WriteTable writes entries, as List returns them, as a table: who holds which worker, how many owners it has had, up
// to which time the owner may issue IDs, and when the lease expires unless it is extended. Times are in UTC.
func WriteTable(w io.Writer, entries []Entry) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAMESPACE\tWORKER\tSTATE\tEPOCH\tHORIZON\tEXPIRES\tHOST\tPID\tVERSION")
	for _, e := range entries {
		state := "free"
		if e.Held {
			state = "held"
		}
		fmt.Fprintf(table, "%s\t%d\t%s\t%d\t%s\t%s\t%s\t%d\t%s\n", e.Namespace, e.Worker, state, e.Epoch,
			e.horizon(), instant(e.Expires), cmp.Or(e.Holder.Host, "-"), e.Holder.PID, cmp.Or(e.Holder.Version, "-"))
	}
	return table.Flush()
}

// Workers counts the workers of the lease's namespace and range that are held, by any process. all is how many there
// are. It reads the whole namespace with Store.List, which is not meant for every second: an exporter should keep the
// result for a while.
func (l *Lease) Workers(ctx context.Context) (held, all int64, err error) {
	entries, err := l.store.List(ctx, l.cfg.namespace)
	if err != nil {
		return 0, 0, fmt.Errorf("lease: workers of namespace %q: %w", l.cfg.namespace, err)
	}
	for _, e := range entries {
		if e.Held && l.cfg.first <= e.Worker && e.Worker <= l.cfg.last {
			held++
		}
	}
	return held, l.cfg.last - l.cfg.first + 1, nil
}

// HorizonTime returns the horizon as a time, and false if snowflake.ParseLayout does not know the layout's text.
func (e Entry) HorizonTime() (time.Time, bool) {
	layout, err := snowflake.ParseLayout(e.Layout)
	if err != nil {
		return time.Time{}, false
	}
	return layout.Start(e.Horizon), true
}

func (e Entry) horizon() string {
	if e.Horizon == 0 {
		return "-"
	}
	if at, ok := e.HorizonTime(); ok {
		return instant(at)
	}
	return fmt.Sprintf("tick %d", e.Horizon)
}

func instant(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}
