//go:build !race

package oracle

// raceEnabled reports whether the tests look for data races, which takes several times the memory.
const raceEnabled = false
