//go:build race

package simulator

// raceEnabled says whether the race detector is on, which makes schedules ten
// times slower.
const raceEnabled = true
