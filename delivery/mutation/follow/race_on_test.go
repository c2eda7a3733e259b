//go:build race

package follow_test

// raceEnabled tells whether the tests look for data races, which takes ten times the memory.
const raceEnabled = true
