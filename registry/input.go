package registry

import (
	"errors"
	"net/mail"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
	"schakel/store"
	"schakel/templates/i18n"
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
		wrong.Add(field, i18n.M("registry.between", least, most))
	}
}

// AsSentence makes the text of an error into a sentence.
func AsSentence(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + strings.TrimSuffix(text[1:], ".") + "."
}

// FormatDay writes the day of an instant, or nothing when it is unset.
func FormatDay(t store.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.DateOnly)
}

// CleanEmail is the form in which an e-mail address is stored and compared.
func CleanEmail(email string) string { return strings.ToLower(strings.TrimSpace(email)) }

// ValidEmail reports whether mail can be sent to a cleaned e-mail address: one bare
// address with a dot in its domain, or at localhost.
func ValidEmail(email string) bool {
	parsed, err := mail.ParseAddress(email)
	if err != nil || parsed.Address != email || len(email) > 254 {
		return false
	}
	_, domain, _ := strings.Cut(email, "@")
	if strings.HasPrefix(domain, "[") {
		return false // an IP address: a stranger could choose the machine that our mail server talks to
	}
	return strings.Contains(domain, ".") || domain == "localhost"
}

// ParseDuration reads a time such as 90s or 1h30m; a number of days such as 7d too.
func ParseDuration(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		if err != nil {
			return 0, errors.New("not a number of days")
		}
		return time.Duration(n) * 24 * time.Hour, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d != d.Truncate(time.Millisecond) || strings.ContainsAny(text, "+-") {
		return 0, errors.New("not a time")
	}
	return d, nil
}

// ParseDurations reads times with commas between them.
func ParseDurations(text string) ([]time.Duration, error) {
	var list []time.Duration
	for word := range strings.SplitSeq(text, ",") {
		d, err := ParseDuration(strings.TrimSpace(word))
		if err != nil {
			return nil, err
		}
		list = append(list, d)
	}
	return list, nil
}

// FormatDuration writes a duration without the zeroes at its end: 168h, not 168h0m0s.
func FormatDuration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// ParseSchedule reads a schedule as cron writes it. It refuses what comes round more often than once in least, or never.
func ParseSchedule(text string, least time.Duration) (cron.Schedule, error) {
	// What sets a time zone is left out on purpose: every time here is UTC.
	if text == "" || len(text) > 100 || strings.Contains(text, "=") {
		return nil, Explained{"registry.schedule-bad"}
	}
	plan, err := cron.ParseStandard(text)
	if err != nil {
		return nil, Explained{"registry.schedule-bad"}
	}
	at := plan.Next(time.Unix(0, 0).UTC())
	for range 50 {
		next := plan.Next(at)
		if at.IsZero() || next.IsZero() {
			return nil, Explained{"registry.schedule-never"}
		}
		if next.Sub(at) < least {
			return nil, Explained{tooOften(least)}
		}
		at = next
	}
	return plan, nil
}

// tooOften asks for a pause between two runs.
func tooOften(least time.Duration) i18n.Message {
	if least == time.Hour {
		return "registry.schedule-hour"
	}
	return i18n.M("registry.schedule-minutes", int(least/time.Minute))
}
