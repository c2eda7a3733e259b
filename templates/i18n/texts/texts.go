// Package texts holds the catalogues: every text that people read, one file a language.
//
// They lie in a package of their own so that a change of a text compiles this package and i18n alone, and not the sixty that
// import i18n: what those see of i18n stays the same. It guarantees nothing about the files; package i18n reads and checks them.
package texts

import (
	"bytes"
	"compress/gzip"
	"embed"
	"fmt"
	"io"
	"slices"
)

// files holds en.txt, nl.txt and nb.txt: as they are, or compressed by .ci/small.
//
//go:embed *.txt
var files embed.FS

// Read returns the catalogue of a language as it stands in the repository.
func Read(language string) ([]byte, error) {
	text, err := files.ReadFile(language + ".txt")
	if err != nil || !Packed(text) {
		return text, err
	}
	english, err := files.ReadFile("en.txt")
	return withKeys(Unpack(text), Unpack(english)), err
}

// withKeys gives the lines of a catalogue their keys back, which .ci/small leaves out where the same line of English has the same.
func withKeys(text, english []byte) []byte {
	if !bytes.Contains(text, []byte("\n= ")) {
		return text
	}
	lines, keys := bytes.Split(text, []byte("\n")), bytes.Split(english, []byte("\n"))
	for n, line := range lines {
		if bytes.HasPrefix(line, []byte("= ")) {
			key, _, _ := bytes.Cut(keys[n], []byte(" = "))
			lines[n] = slices.Concat(key, []byte(" "), line)
		}
	}
	return bytes.Join(lines, []byte("\n"))
}

// Packed reports whether an embedded text is compressed, with gzip.
func Packed(text []byte) bool { return bytes.HasPrefix(text, []byte{0x1f, 0x8b}) }

// Unpack returns an embedded text as it stands in the repository, whether .ci/small compressed it for the build or not.
func Unpack(text []byte) []byte {
	if !Packed(text) {
		return text
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(text))
	if err == nil {
		text, err = io.ReadAll(unpacked)
	}
	if err != nil {
		panic(fmt.Sprintf("unpack an embedded text: %s", err))
	}
	return text
}
