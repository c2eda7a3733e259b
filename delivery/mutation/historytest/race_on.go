//go:build race

package historytest

// RaceEnabled reports whether the tests look for data races, which takes ten times the memory.
const RaceEnabled = true
