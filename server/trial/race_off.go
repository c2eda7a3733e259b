//go:build !race

package trial

// RaceEnabled tells whether the tests look for data races.
const RaceEnabled = false
