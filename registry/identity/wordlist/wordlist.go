// Package wordlist knows the passwords that are found most often in leaks, and common Dutch words: what guessers try first.
//
// It holds 64,385 of them in 134 kB: with the checks of package identity, all of the 100,000 most common passwords are refused.
// ORIGIN.md names their sources and licence. Nothing stays in memory: each question about a text that is short enough to be in the list
// unpacks it, which takes some milliseconds, less than the hash of a password.
package wordlist

import (
	"bufio"
	"bytes"
	"compress/gzip"
	_ "embed"
	"fmt"
	"strings"
)

// sharedFrom stands at the start of a line that shares nothing with the line before; the next byte value shares one byte, and so on.
const sharedFrom = 'A'

// longest counts the bytes of the longest word.
const longest = 22

//go:embed words.txt.gz
var packed []byte

// Holds reports whether one of these texts, in whatever case, is in the list.
func Holds(texts ...string) bool {
	wanted := make(map[string]bool, len(texts))
	for _, text := range texts {
		if text = strings.ToLower(text); len(text) <= longest {
			wanted[text] = true
		}
	}
	if len(wanted) == 0 {
		return false
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		panic(fmt.Errorf("wordlist: %w", err)) // only a broken build has one
	}
	var word []byte
	for lines := bufio.NewScanner(unpacked); lines.Scan(); {
		line := lines.Bytes()
		word = append(word[:line[0]-sharedFrom], line[1:]...)
		if wanted[string(word)] {
			return true
		}
	}
	return false
}
