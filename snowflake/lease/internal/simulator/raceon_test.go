//go:build race

package simulator

// raceEnabled reports whether the race detector is on, which makes schedules ten times slower.
const raceEnabled = true
