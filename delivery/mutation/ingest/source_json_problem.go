package ingest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// badGroup is a group of JSON text that is not as it should be, and the line of it where that shows.
type badGroup struct {
	line int
	err  error
}

// Error implements error.
func (b *badGroup) Error() string { return b.err.Error() }

// Unwrap gives the kind of the error.
func (b *badGroup) Unwrap() error { return b.err }

// lineOr is the line that an error knows, or else another.
func lineOr(err error, line int) int {
	if bad, ok := errors.AsType[*badGroup](err); ok {
		return bad.line
	}
	return line
}

// typeFault describes a value of a wrong type, in the words of JSON. raw is the group, line where it begins.
func typeFault(raw []byte, line int, err error) error {
	fault, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok {
		return fmt.Errorf("%w: %w", ErrJSON, noJSONPrefix(err))
	}
	kind, _, _ := strings.Cut(fault.Value, " ")
	if kind == "bool" {
		kind = "truth value"
	}
	name := fault.Field[strings.LastIndexByte(fault.Field, '.')+1:]
	at := raw[:min(max(0, fault.Offset), int64(len(raw)))]
	place := ""
	if n := badMutation(raw); n > 0 {
		place = fmt.Sprintf(" in mutation %d", n)
	}
	if name == "" {
		place, name = "", "a group"
	}
	return &badGroup{line + bytes.Count(at, []byte("\n")), fmt.Errorf("%w: %s%s is of kind %s, and must be %s", ErrJSON, name, place, kind, mustBe(name))}
}

func mustBe(name string) string {
	switch name {
	case "mutations":
		return "an array of objects"
	case "a group", "was", "wordt":
		return "an object"
	}
	return "a string"
}

// badMutation finds which mutation of a group cannot be read, from 1; 0 when it is none of them.
func badMutation(raw []byte) int {
	var in struct {
		Mutations []json.RawMessage `json:"mutations"`
	}
	if json.Unmarshal(raw, &in) != nil {
		return 0
	}
	for i, m := range in.Mutations {
		if json.Unmarshal(m, new(jsonMutation)) != nil {
			return i + 1
		}
	}
	return 0
}

// escapeSize is the length of an escape such as \u00e9.
const escapeSize = 6

// halfEscape finds an escape of half a character without its other half, in sound JSON; -1: there is none. It would be read
// as a mark in place of it, and two texts that differ as one.
func halfEscape(raw []byte) int {
	for at := 0; ; {
		next := bytes.IndexByte(raw[at:], '\\')
		if next < 0 {
			return -1
		}
		at += next
		switch half := escaped(raw[at:]); {
		case half < 0:
			at += 2
		case !utf16.IsSurrogate(half):
			at += escapeSize
		case utf16.DecodeRune(half, escaped(raw[at+escapeSize:])) == utf8.RuneError:
			return at
		default:
			at += 2 * escapeSize
		}
	}
}

// escaped gives the character of the numeric escape that begins a text; -1: it begins with none.
func escaped(text []byte) rune {
	if len(text) < escapeSize || text[0] != '\\' || text[1] != 'u' {
		return -1
	}
	n, err := strconv.ParseUint(string(text[2:escapeSize]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(n)
}

// tokenText is a token as it stands in a document.
func tokenText(t json.Token) string {
	if t == nil {
		return "null"
	}
	return fmt.Sprint(t)
}

// unmarked passes over the byte order mark that a document may begin with.
type unmarked struct {
	from  io.Reader
	begun bool
}

// Read implements io.Reader.
func (u *unmarked) Read(p []byte) (int, error) {
	if u.begun {
		return u.from.Read(p)
	}
	u.begun = true
	var first [3]byte
	n, err := io.ReadFull(u.from, first[:])
	head := bytes.TrimPrefix(first[:n], []byte("\xEF\xBB\xBF"))
	if err == nil || errors.Is(err, io.ErrUnexpectedEOF) && n > 0 {
		u.from = io.MultiReader(bytes.NewReader(head), u.from)
		return u.from.Read(p)
	}
	return 0, err
}
