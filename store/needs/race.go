//go:build race

package needs

// Raced reports whether the tests look for data races. A test that draws many cases then takes fewer.
const Raced = true
