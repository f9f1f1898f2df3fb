package snowflake

import (
	"fmt"
	"time"
)

// futureTolerance is how far an ID's time may be ahead of the local clock: Twitter's first snowflake servers refused to
// start if their clocks were further than 10 s from their peers' (SnowflakeServer.scala, 2010).
const futureTolerance = 10 * time.Second

// Validate returns nil if a generator of this layout can have issued id by now, by the system clock. Use it for IDs
// from untrusted input. It returns an error that matches ErrInvalidID for 0, for a negative number, for one with bits
// above the layout, and for one whose time is more than 10 s ahead.
func (l Layout) Validate(id ID) error { return l.ValidateAt(id, time.Now()) }

// ValidateAt is Validate with now in place of the system clock.
func (l Layout) ValidateAt(id ID, now time.Time) error {
	switch {
	case l.IsZero():
		return errZeroLayout
	case id == 0:
		return fmt.Errorf("%w: 0 means no ID", ErrInvalidID)
	case id < 0:
		return fmt.Errorf("%w: %d is negative", ErrInvalidID, id)
	case uint64(id)>>l.bits != 0:
		return fmt.Errorf("%w: %d is above %d, the layout's greatest", ErrInvalidID, id, uint64(1)<<l.bits-1)
	}
	if t := l.Time(id); t.After(now.Add(futureTolerance)) {
		return fmt.Errorf("%w: the time of %d, %s, is more than %v ahead of %s", ErrInvalidID,
			id, t.Format(time.RFC3339Nano), futureTolerance, now.UTC().Format(time.RFC3339Nano))
	}
	return nil
}
