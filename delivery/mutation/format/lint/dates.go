package lint

import (
	"bytes"
	"strings"
	"time"

	"schakel/delivery/mutation/format"
)

// Period names the elements, without prefix, that say when a version begins and ends. An absent end is no end.
type Period struct{ Begin, End string }

// Periods occur in the registers the format was made for.
func Periods() []Period {
	return []Period{
		{"tijdstipRegistratie", "eindRegistratie"},
		{"begindatumTijdvakGeldigheid", "einddatumTijdvakGeldigheid"},
		{"logischTijdstipOntstaan", "logischTijdstipVervallen"},
		{"beginGeldigheid", "eindGeldigheid"}, // BAG 2.0
	}
}

// check gives what is wrong with the dates of a state, or nothing.
func (p Period) check(s *format.State) string {
	end, ended := textOf(s.XML, p.End)
	if !ended || end == "" {
		return ""
	}
	begin, begun := textOf(s.XML, p.Begin)
	if !begun {
		return ""
	}
	from, ok := moment(begin)
	if !ok {
		return "the date " + begin + " of " + p.Begin + " cannot be read"
	}
	to, ok := moment(end)
	if !ok {
		return "the date " + end + " of " + p.End + " cannot be read"
	}
	if to.Before(from) {
		return "the version begins at " + begin + " and ends before that, at " + end
	}
	return ""
}

// textOf gives the text of the first element of that name, at most 40 bytes of it. The XML is known to be sound.
func textOf(raw []byte, name string) (string, bool) {
	for at := 0; ; at += len(name) {
		next := bytes.Index(raw[at:], []byte(name))
		if next < 0 {
			return "", false
		}
		at += next
		if at == 0 || !opens(raw, at, at+len(name)) {
			continue
		}
		_, text, _ := bytes.Cut(raw[at+len(name):], []byte(">"))
		text, _, _ = bytes.Cut(text, []byte("<"))
		text = bytes.TrimSpace(text)
		return string(text[:min(len(text), 40)]), true
	}
}

// opens reports whether the name from i to j is that of a start tag.
func opens(raw []byte, i, j int) bool {
	start := bytes.LastIndexByte(raw[:i], '<')
	if start < 0 || j >= len(raw) || strings.IndexByte(" \t\r\n>", raw[j]) < 0 {
		return false
	}
	prefix := raw[start+1 : i]
	return len(prefix) == 0 || prefix[len(prefix)-1] == ':' && !bytes.ContainsAny(prefix, "/ \t\r\n>!?")
}

func moment(text string) (time.Time, bool) {
	for _, layout := range []string{time.DateOnly, "2006-01-02T15:04:05", time.RFC3339, "20060102", "20060102150405"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, true
		}
	}
	return time.Time{}, false
}
