package ui

import (
	"strings"
	"unicode/utf8"
)

// fits is the longest text, in characters, that no column of a list shortens.
const fits = 18

// wordFits is the longest word, in characters, that a column makes room for.
const wordFits = 22

func longWord(text string) bool {
	for _, word := range strings.Fields(text) {
		if utf8.RuneCountInString(word) > wordFits {
			return true
		}
	}
	return false
}

// halves parts a long name in two, of which a narrow column shortens the first at its end: event types differ in their last parts,
// and ids in their last characters. The second is empty for a name that fits anyhow.
func halves(name string) (first, last string) {
	if utf8.RuneCountInString(name) <= fits {
		return name, ""
	}
	if strings.Contains(name, ".") && !strings.Contains(name, " ") {
		if at := lastParts(name); at > 0 {
			return name[:at], name[at:]
		}
	}
	const end = 8
	runes := []rune(name)
	return string(runes[:len(runes)-end]), string(runes[len(runes)-end:])
}

// lastParts finds the beginning of the last part with letters that name something: a version such as "v1" goes with the part before it. It
// is 0 where the parts are too long to be kept whole.
func lastParts(name string) int {
	at := strings.LastIndexByte(name, '.') + 1
	if len(name)-at < 4 {
		at = strings.LastIndexByte(name[:max(at-1, 0)], '.') + 1
	}
	if len(name)-at > longestPart {
		return 0
	}
	return at
}
