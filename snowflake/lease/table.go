package lease

import (
	"cmp"
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
