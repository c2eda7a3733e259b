//go:build race

package ingest_test

// raceEnabled tells whether the tests look for data races, which takes ten times the memory.
const raceEnabled = true
