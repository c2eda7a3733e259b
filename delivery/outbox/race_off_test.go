//go:build !race

package outbox

// raceEnabled reports whether the tests look for data races.
const raceEnabled = false
