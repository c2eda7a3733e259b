package event

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// isInt32 reports whether the literal is an Integer of CloudEvents (CE-03).
func isInt32(literal string) bool {
	_, err := strconv.ParseInt(literal, 10, 32)
	return err == nil
}

// allowed reports whether every character may stand in an attribute: no controls, no noncharacters (CE-04). The string is UTF-8.
func allowed(value string) bool {
	for i := 0; i < len(value); i++ {
		if c := value[i]; c < 0x20 || c >= 0x7F {
			return allowedRunes(value[i:])
		}
	}
	return true
}

func allowedRunes(value string) bool {
	for _, r := range value {
		switch {
		case r < 0x20, 0x7F <= r && r <= 0x9F, 0xFDD0 <= r && r <= 0xFDEF, r&0xFFFE == 0xFFFE:
			return false
		}
	}
	return true
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isHex(c byte) bool { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }

func hexValue(c byte) byte {
	if isDigit(c) {
		return c - '0'
	}
	return c | 0x20 - 'a' + 10
}

var errTime = errors.New("not an RFC 3339 time")

// ParseTime reads a time of RFC 3339 as CE-20 requires it: seconds and an offset are required, "t" and "z" may be lower case,
// a fraction follows a point, and second 60 exists only in the last minute of a month in UTC. It returns the instant; a leap
// second becomes the second after it.
func ParseTime(s string) (time.Time, error) {
	if !isTime(s) {
		return time.Time{}, errTime
	}
	s = strings.ToUpper(s)
	leap := s[17:19] == "60"
	if leap {
		s = s[:17] + "59" + s[19:]
	}
	instant, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return time.Time{}, fmt.Errorf("%w: %w", errTime, err)
	}
	if leap {
		instant = instant.Truncate(time.Second).Add(time.Second)
	}
	return instant, nil
}

// isTime checks the form by hand: it runs for every event.
func isTime(s string) bool {
	if len(s) < len("2006-01-02T15:04:05Z") || s[4] != '-' || s[7] != '-' || s[10]|0x20 != 't' || s[13] != ':' || s[16] != ':' {
		return false
	}
	year, month, day := decimal(s[:4]), decimal(s[5:7]), decimal(s[8:10])
	hour, minute, second := decimal(s[11:13]), decimal(s[14:16]), decimal(s[17:19])
	if year < 0 || month < 1 || month > 12 || day < 1 || day > daysIn(year, month) {
		return false
	}
	if hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60 {
		return false
	}
	offset, ok := zone(fraction(s[19:]))
	if !ok {
		return false
	}
	return second < 60 || endsMonth(time.Date(year, time.Month(month), day, hour, minute-offset, 59, 0, time.UTC))
}

// fraction drops ".5"; a point without digits stays and fails as a zone.
func fraction(s string) string {
	if s[0] != '.' {
		return s
	}
	if rest := strings.TrimLeft(s[1:], "0123456789"); len(rest) < len(s)-1 {
		return rest
	}
	return s
}

// zone reads "Z" or "+01:00" and returns minutes east of UTC.
func zone(s string) (minutes int, ok bool) {
	if s == "Z" || s == "z" {
		return 0, true
	}
	if len(s) != len("+01:00") || s[0] != '+' && s[0] != '-' || s[3] != ':' {
		return 0, false
	}
	hour, minute := decimal(s[1:3]), decimal(s[4:6])
	if hour < 0 || hour > 23 || minute < 0 || minute > 59 {
		return 0, false
	}
	minutes = hour*60 + minute
	if s[0] == '-' {
		minutes = -minutes
	}
	return minutes, true
}

func endsMonth(last time.Time) bool {
	next := last.Add(time.Second)
	return next.Day() == 1 && next.Hour() == 0 && next.Minute() == 0
}

func daysIn(year, month int) int {
	switch month {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	default:
		return 31
	}
}

// decimal reads digits only; -1 when there is anything else.
func decimal(s string) int {
	value := 0
	for i := 0; i < len(s); i++ {
		if !isDigit(s[i]) {
			return -1
		}
		value = value*10 + int(s[i]-'0')
	}
	return value
}

// isReference reports whether s is a URI-reference of RFC 3986, 4.1 (CE-09, CE-21).
func isReference(s string) bool {
	_, ok := splitURI(s)
	return ok
}

// isURI reports whether s is a URI with a scheme (CE-18). A fragment passes: schemas in the wild have one; Advice mentions it.
func isURI(s string) bool {
	scheme, ok := splitURI(s)
	return ok && scheme != ""
}

// splitURI checks every part of a URI-reference and returns its scheme.
func splitURI(s string) (scheme string, ok bool) {
	scheme, rest, ok := cutScheme(s)
	if !ok {
		return "", false
	}
	rest, fragment, _ := strings.Cut(rest, "#")
	rest, query, _ := strings.Cut(rest, "?")
	if authority, found := strings.CutPrefix(rest, "//"); found {
		rest = ""
		if slash := strings.IndexByte(authority, '/'); slash >= 0 {
			authority, rest = authority[:slash], authority[slash:]
		}
		if !isAuthority(authority) {
			return "", false
		}
	}
	return scheme, uriChars(rest, ":@/") && uriChars(query, ":@/?") && uriChars(fragment, ":@/?")
}

// cutScheme rejects a colon in the first segment when no scheme stands before it.
func cutScheme(s string) (scheme, rest string, ok bool) {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == ':':
			return s[:i], s[i+1:], i > 0
		case c == '/' || c == '?' || c == '#':
			return "", s, true
		case isLetter(c) || i > 0 && (isDigit(c) || c == '+' || c == '-' || c == '.'):
		default:
			return "", s, !strings.Contains(firstSegment(s), ":")
		}
	}
	return "", s, true
}

func firstSegment(s string) string {
	if end := strings.IndexAny(s, "/?#"); end >= 0 {
		return s[:end]
	}
	return s
}

func isAuthority(s string) bool {
	if at := strings.LastIndexByte(s, '@'); at >= 0 {
		if !uriChars(s[:at], ":") {
			return false
		}
		s = s[at+1:]
	}
	host, port := s, ""
	if colon := strings.LastIndexByte(s, ':'); colon > strings.LastIndexByte(s, ']') {
		host, port = s[:colon], s[colon+1:]
	}
	if strings.Trim(port, "0123456789") != "" {
		return false
	}
	if strings.HasPrefix(host, "[") {
		return isIPLiteral(host)
	}
	return uriChars(host, "")
}

func isIPLiteral(host string) bool {
	inner, ok := strings.CutSuffix(host[1:], "]")
	if !ok {
		return false
	}
	if version, rest, future := strings.Cut(inner, "."); future && len(version) > 1 && version[0]|0x20 == 'v' {
		return strings.Trim(version[1:], "0123456789abcdefABCDEF") == "" && rest != "" &&
			!strings.Contains(rest, "%") && uriChars(rest, ":")
	}
	address, err := netip.ParseAddr(inner)
	return err == nil && address.Is6() && address.Zone() == ""
}

// uriChars reports whether s has only unreserved characters, sub-delimiters, percent triplets and the extra characters.
func uriChars(s, extra string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case isLetter(c) || isDigit(c) || c == '-' || c == '.':
		case c == '%':
			if i+2 >= len(s) || !isHex(s[i+1]) || !isHex(s[i+2]) {
				return false
			}
			i += 2
		case strings.IndexByte("-._~!$&'()*+,;=", c) < 0 && strings.IndexByte(extra, c) < 0:
			return false
		}
	}
	return true
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
