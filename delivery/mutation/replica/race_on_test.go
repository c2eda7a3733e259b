//go:build race

package replica_test

// raceEnabled reports whether the tests look for data races, which takes ten times the memory.
const raceEnabled = true
