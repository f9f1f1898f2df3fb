package lease

import (
	"fmt"
	"time"
)

// EndWarning is how long before the end of a layout warnings begin: two years, as with the alert SnowflakeLayoutEnds.
// The next layout needs new code in each process, and perhaps other keys in each table.
const EndWarning = 2 * 365 * 24 * time.Hour

// warnEnding adds to err, which may be nil, that the layout ends soon. After the end ErrTimeExhausted says so.
func (l *Lease) warnEnding(err error) error {
	left := l.gen.Stats().Remaining
	if left <= 0 || left >= EndWarning {
		return err
	}
	end := l.layout.Epoch().Add(l.layout.End().Sub(l.layout.Epoch())) // at most 292 years after the epoch
	ends := fmt.Errorf("the layout %q ends at %s, in %d days", l.layout, end.Format(time.RFC3339), left/(24*time.Hour))
	if err == nil {
		return ends
	}
	return fmt.Errorf("%w; %w", err, ends)
}
