//go:build !race

package snowflake_test

// raceEnabled reports whether the race detector is on, which allocates.
const raceEnabled = false
