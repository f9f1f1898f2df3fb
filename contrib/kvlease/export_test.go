package kvlease

import "time"

// SetClock replaces the system clock of the store.
func (s *Store) SetClock(now func() time.Time) { s.now = now }
