//go:build !race

package e2e

// raceEnabled tells whether the tests look for data races.
const raceEnabled = false
