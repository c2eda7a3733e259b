//go:build !race

package trial

// RaceEnabled reports whether the tests look for data races.
const RaceEnabled = false
