//go:build !race

package sqltypes_test

// raceEnabled says whether the race detector is on. It allocates on its own, so that tests cannot count.
const raceEnabled = false
