package event

import (
	"net/netip"
	"strings"
)

// isReference reports whether s is a URI-reference of RFC 3986, 4.1 (CE-09, CE-21).
func isReference(s string) bool {
	_, ok := splitURI(s)
	return ok
}

// isURI reports whether s is a URI with a scheme (CE-18). A fragment passes:
// schemas in the wild have one; Advice mentions it.
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

// uriChars reports whether s has only unreserved characters, sub-delimiters,
// percent triplets and the extra characters.
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
