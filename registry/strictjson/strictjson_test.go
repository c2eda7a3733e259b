package strictjson

import (
	"encoding/json"
	"testing"
	"unicode/utf8"
)

func scan(text string) *Scanner {
	s := &Scanner{Buf: []byte(text), Depth: 3}
	if s.Peek(); s.Value() {
		s.AtEnd()
	}
	return s
}

func TestFaults(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Fault{
		` {"a": [1.5e-3, true, null, "é\u00e9"]} `: {},
		``:           {0, NoValue, 0},
		`[nul]`:      {1, NoValue, 0},
		`{a: 1}`:     {1, NoName, 0},
		`{"a" 1}`:    {5, NoColon, 0},
		`{"a": 1]`:   {7, NoComma, '}'},
		`[1 2]`:      {3, NoComma, ']'},
		`[01]`:       {2, NoComma, ']'},
		`-`:          {1, NoDigit, 0},
		`1.e5`:       {2, NoDigit, 0},
		`"a`:         {2, NoQuote, 0},
		`"a\x"`:      {2, BadEscape, 0},
		`"\u12"`:     {1, BadEscape, 0},
		"\"a\n\"":    {2, BareControl, 0},
		`[[[[1]]]]`:  {3, TooDeep, 0},
		`[[[1]]] ,1`: {8, Trailing, 0},
	} {
		if got := scan(text).Fault; got != want {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
}

func TestUnescape(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{`a\"\\\/\b\f\n\r\t`: "a\"\\/\b\f\n\r\t", `\u00e9\ud83d\ude00`: "é😀"} {
		if got, ok := Unescape(nil, []byte(raw)); !ok || string(got) != want {
			t.Errorf("%s: got %q, %v", raw, got, ok)
		}
	}
	for _, raw := range []string{`\ud83d`, `\ud83dx`, `\ud83d\u0041`, `\ude00`} {
		if _, ok := Unescape(nil, []byte(raw)); ok {
			t.Errorf("%s: a surrogate alone has a value", raw)
		}
	}
}

// FuzzScanner holds the verdict on a text against that of encoding/json.
func FuzzScanner(f *testing.F) {
	f.Add(`{"a": [1, -0.5e+3, "\u00e9", true, {}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) {
			return
		}
		s := &Scanner{Buf: []byte(text), Depth: 1000}
		s.Peek()
		if got, want := s.Value() && s.AtEnd(), json.Valid([]byte(text)); got != want && s.Fault.Kind != TooDeep {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	})
}
