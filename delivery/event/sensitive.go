package event

import (
	"strings"

	"schakel/store/bsn"
)

// adviseSensitive looks for personal data in a context attribute, which every
// party on the way may log (EDU-26).
func adviseSensitive(name, value string, f *findings) {
	if hasBSN(value) {
		f.add(noPlace, name, AdviceBSN, name+" seems to hold a citizen service number (BSN); move it into data")
	}
	if hasEmail(value) {
		f.add(noPlace, name, AdviceEmailAddress, name+" seems to hold an e-mail address; move it into data")
	}
}

// hasBSN finds a word of nine digits that passes the test of eleven.
func hasBSN(value string) bool {
	words := strings.FieldsFunc(value, func(r rune) bool {
		return r < '0' || '9' < r && r < 'A' || 'Z' < r && r < 'a' || 'z' < r && r < 0x80
	})
	for _, word := range words {
		if rest, ok := bsn.Remainder(word); ok && rest == bsn.Citizen {
			return true
		}
	}
	return false
}

// hasEmail finds name@domain.tld, the sign possibly percent-encoded.
func hasEmail(value string) bool {
	value = strings.ReplaceAll(value, "%40", "@")
	for at := strings.IndexByte(value, '@'); at >= 0; at = strings.IndexByte(value, '@') {
		if at > 0 && isLocal(value[at-1]) && isDomain(value[at+1:]) {
			return true
		}
		value = value[at+1:]
	}
	return false
}

func isLocal(c byte) bool {
	return isLetter(c) || isDigit(c) || strings.IndexByte("._+-", c) >= 0
}

// isDomain reports whether s starts with a domain name of two labels or more,
// the last one of letters.
func isDomain(s string) bool {
	end := 0
	for end < len(s) && (isLetter(s[end]) || isDigit(s[end]) || s[end] == '-' || s[end] == '.') {
		end++
	}
	domain := strings.TrimRight(s[:end], ".-")
	dot := strings.LastIndexByte(domain, '.')
	if dot < 1 {
		return false
	}
	top := domain[dot+1:]
	return len(top) >= 2 && isLetter(top[0]) && isLetter(top[1])
}
