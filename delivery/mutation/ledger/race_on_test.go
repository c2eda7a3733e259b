//go:build race

package ledger_test

// raceEnabled tells whether the tests look for data races, which takes ten times the memory.
const raceEnabled = true
