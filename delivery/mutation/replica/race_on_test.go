//go:build race

package replica_test

// raceEnabled tells whether the tests look for data races, which takes ten times the memory.
const raceEnabled = true
