package bsn_test

import (
	"testing"

	"schakel/store/bsn"
)

func TestRemainder(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]int{"123456782": bsn.Citizen, "111222333": bsn.Citizen, "123456789": 4, "12345678": -1, "1234567820": -1, "12345678a": -1, "000000000": -1} {
		got, ok := bsn.Remainder(word)
		if !ok {
			got = -1
		}
		if got != want {
			t.Errorf("%s: %d, want %d", word, got, want)
		}
	}
}
