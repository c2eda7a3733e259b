package ui

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"
)

// Count writes a whole number with a comma between thousands: 1,204.
func Count(n int) string {
	digits := strconv.Itoa(n)
	sign := ""
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

// CountUpTo writes a number that was counted no further than one above most: "10,000+".
func CountUpTo(n, most int) string {
	if n > most {
		return Count(most) + "+"
	}
	return Count(n)
}

// Plural writes a number with its noun: "1 delivery", "1,204 deliveries".
func Plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Count(n) + " " + many
}

// Bytes writes a size in powers of 1024 with at most one decimal: "1.5 KiB".
func Bytes(n int64) string {
	if n < 1024 {
		return Plural(int(n), "byte", "bytes")
	}
	size := float64(n)
	unit := ""
	for _, u := range []string{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"} {
		size, unit = size/1024, u
		if size < 1023.95 {
			break
		}
	}
	return strings.TrimSuffix(strconv.FormatFloat(size, 'f', 1, 64), ".0") + " " + unit
}

// Time writes a moment in UTC to the second: "21 Nov 2026 14:03:05 UTC". The
// zero time is written as "never".
func Time(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return t.UTC().Format("2 Jan 2006 15:04:05 UTC")
}

// Day writes a date in UTC: "21 Nov 2026".
func Day(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return t.UTC().Format("2 Jan 2006")
}

// Duration writes a length of time in its largest units, two at most:
// "250 ms", "1.5 s", "3 min 20 s", "2 h 5 min", "4 d 1 h".
func Duration(d time.Duration) string {
	if d < 0 {
		return "-" + Duration(-d)
	}
	if d < time.Second {
		return strconv.FormatInt(d.Milliseconds(), 10) + " ms"
	}
	if d < 10*time.Second {
		tenths := int64(d / (100 * time.Millisecond))
		return strings.TrimSuffix(fmt.Sprintf("%d.%d", tenths/10, tenths%10), ".0") + " s"
	}
	return longDuration(int64(d / time.Second))
}

func longDuration(seconds int64) string {
	units := []struct {
		size int64
		name string
	}{{86400, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}}
	for i, u := range units {
		if seconds < u.size {
			continue
		}
		text := fmt.Sprintf("%d %s", seconds/u.size, u.name)
		if i+1 < len(units) {
			if rest := seconds % u.size / units[i+1].size; rest > 0 {
				text += fmt.Sprintf(" %d %s", rest, units[i+1].name)
			}
		}
		return text
	}
	return "0 s"
}

// Relative writes how far t is from now: "3 min 20 s ago", "in 2 h 5 min".
// Less than a second either way is "now".
func Relative(t, now time.Time) string {
	d := now.Sub(t)
	switch {
	case t.IsZero():
		return "never"
	case d > -time.Second && d < time.Second:
		return "now"
	case d < 0:
		return "in " + Duration((-d).Truncate(time.Second))
	default:
		return Duration(d.Truncate(time.Second)) + " ago"
	}
}

// longestPart is the longest part of a name that is broken only behind its dots: a longer one would make a table too wide.
const longestPart = 30

// dotted is a text as HTML in which names with dots, such as event types, may go on at the next line behind a dot; ok is
// false for a text without such names, and with one that has a part too long to be kept whole.
func dotted(text string) (html string, ok bool) {
	words := strings.Split(text, " ")
	for i, word := range words {
		parts := strings.SplitAfter(word, ".")
		for n, part := range parts {
			if len(part) > longestPart {
				return "", false
			}
			parts[n] = templ.EscapeString(part)
		}
		ok = ok || len(parts) > 2
		words[i] = strings.TrimSuffix(strings.Join(parts, "<wbr>"), "<wbr>")
	}
	return strings.Join(words, " "), ok
}

// Breakable shows a text. A name with dots in it goes on at the next line behind a dot, and nowhere else.
func Breakable(text string) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		html, ok := dotted(text)
		if ok {
			html = `<span class="schakel-dotted">` + html + `</span>`
		} else {
			html = templ.EscapeString(text)
		}
		_, err := io.WriteString(w, html)
		return err
	})
}

// WithNames is a text in which what stands between backticks is a machine's name.
func WithNames(text string) templ.Component {
	parts := strings.Split(text, "`")
	for i, part := range parts {
		parts[i] = templ.EscapeString(part)
		if i%2 == 1 {
			parts[i] = `<code class="utrecht-code schakel-id">` + parts[i] + `</code>`
		}
	}
	return written(strings.Join(parts, ""))
}

// Address is the path of something, which may be broken behind each of its parts.
func Address(path string) templ.Component {
	return written(strings.ReplaceAll(templ.EscapeString(path), "/", "/<wbr>"))
}

// written writes what was escaped before, without white space around it.
func written(html string) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		_, err := io.WriteString(w, html)
		return err
	})
}
