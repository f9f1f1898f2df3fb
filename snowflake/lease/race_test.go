//go:build race

package lease_test

// raceEnabled reports whether the race detector is on, which makes schedules ten times slower.
const raceEnabled = true
