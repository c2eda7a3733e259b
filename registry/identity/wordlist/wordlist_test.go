package wordlist

import "testing"

func TestHolds(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"welkom": true, "Welkom": true, "123456": true, "password": true, "wachtwoord": true, "velkommen": true, "zwanger": true,
		"fotball": true, "zxcvbnm": true, "correct horse battery": false, "blauwe zwanen tellen": false, "": false, "welkomm": false,
		"REclasseringsambtenaar": true, // the longest
	} {
		if got := Holds(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
	if !Holds("blauwe zwanen tellen", "qwerty") {
		t.Error("the second of two texts is not looked for")
	}
}

func BenchmarkHolds(b *testing.B) {
	for _, text := range []string{"not in the list", "longer than any word of the list"} {
		b.Run(text, func(b *testing.B) {
			for b.Loop() {
				Holds(text)
			}
		})
	}
}
