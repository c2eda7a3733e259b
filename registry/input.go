package registry

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"schakel/store"
)

// TidyList trims, sorts and takes out what is empty or there twice.
func TidyList(list []string) []string {
	var out []string
	for _, s := range list {
		if s = strings.TrimSpace(s); s != "" {
			out = append(out, s)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// ValidEventType reports whether a text can be the type of events.
func ValidEventType(s string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-:/"
	return s != "" && len(s) <= 255 && AllOf(s, letters) && strings.Trim(s, "._-:/") != ""
}

// Filled leaves out what is empty.
func Filled(lines []string) []string {
	var kept []string
	for _, line := range lines {
		if line = strings.Join(strings.Fields(line), " "); line != "" {
			kept = append(kept, line)
		}
	}
	return kept
}

// AllDigits reports whether a text has no other characters than digits.
func AllDigits(s string) bool { return AllOf(s, "0123456789") }

// AllOf reports whether a text has no other characters than these letters.
func AllOf(s, letters string) bool { return strings.Trim(s, letters) == "" }

// Origin is the scheme, host and port of an address.
func Origin(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return raw
	}
	port := u.Port()
	if port == "" && u.Scheme == "https" {
		port = "443"
	}
	return strings.ToLower(u.Scheme + "://" + u.Hostname() + ":" + port)
}

// CheckBetween adds a problem when a number is out of bounds.
func CheckBetween(wrong Problems, field string, n, least, most int64) {
	if n < least || n > most {
		wrong.Add(field, "Use a number from "+strconv.FormatInt(least, 10)+" to "+strconv.FormatInt(most, 10)+".")
	}
}

// AsSentence makes the text of an error into a sentence.
func AsSentence(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

// FormatDay writes the day of an instant, or nothing when it is unset.
func FormatDay(t store.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.DateOnly)
}
