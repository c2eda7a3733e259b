//go:build race

package ingest_test

// raceEnabled reports whether the tests look for data races, which takes ten times the memory.
const raceEnabled = true
