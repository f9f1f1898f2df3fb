package lease

import (
	"fmt"
	"time"
)

// soon is how long before its end a layout gives warnings, as the alert SnowflakeLayoutEnds does: the next layout needs
// new code in each process, and perhaps other keys in each table.
const soon = 2 * 365 * 24 * time.Hour

// warnEnding adds to err, which may be nil, that the layout ends soon. After the end ErrTimeExhausted says so.
func (l *Lease) warnEnding(err error) error {
	left := l.gen.Stats().Remaining
	if left <= 0 || left >= soon {
		return err
	}
	end := l.layout.Epoch().Add(l.layout.End().Sub(l.layout.Epoch())) // at most 292 years after the epoch
	ends := fmt.Errorf("the layout %q ends at %s, in %d days", l.layout, end.Format(time.RFC3339), left/(24*time.Hour))
	if err == nil {
		return ends
	}
	return fmt.Errorf("%w; %w", err, ends)
}
