package event

import "strings"

// isMediaType reports whether s is a media type of RFC 2046: a type, a subtype
// and parameters with a value (CE-17).
func isMediaType(s string) bool {
	kind, rest := cutToken(s)
	if kind == "" || !strings.HasPrefix(rest, "/") {
		return false
	}
	subtype, rest := cutToken(rest[1:])
	if subtype == "" {
		return false
	}
	for rest != "" {
		if _, _, rest = cutParameter(rest); rest == broken {
			return false
		}
	}
	return true
}

// broken is the rest that cutParameter returns when there was no parameter.
const broken = "\x00"

// cutParameter takes `; name=value` from the front of s.
func cutParameter(s string) (name, value, rest string) {
	s = strings.TrimLeft(s, " \t")
	if !strings.HasPrefix(s, ";") {
		return "", "", broken
	}
	name, s = cutToken(strings.TrimLeft(s[1:], " \t"))
	if name == "" || !strings.HasPrefix(s, "=") {
		return "", "", broken
	}
	if strings.HasPrefix(s[1:], `"`) {
		value, rest = cutQuoted(s[2:])
		return name, value, rest
	}
	value, rest = cutToken(s[1:])
	if value == "" {
		return "", "", broken
	}
	return name, value, rest
}

// cutQuoted takes the rest of a quoted string, its opening quote already gone.
func cutQuoted(s string) (value, rest string) {
	var text strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '"' {
			return text.String(), s[i+1:]
		}
		if s[i] == '\\' && i+1 < len(s) {
			i++
		}
		if s[i] < 0x20 && s[i] != '\t' || s[i] >= 0x7F {
			return "", broken
		}
		text.WriteByte(s[i])
	}
	return "", broken
}

func cutToken(s string) (token, rest string) {
	for i := 0; i < len(s); i++ {
		if c := s[i]; !isLetter(c) && !isDigit(c) && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return s[:i], s[i:]
		}
	}
	return s, ""
}

// essence returns a media type in lower case without its parameters.
func essence(mediaType string) string {
	mediaType, _, _ = strings.Cut(mediaType, ";")
	return strings.ToLower(strings.TrimSpace(mediaType))
}

// charset returns the charset parameter of a media type in lower case, "" when it has none.
func charset(mediaType string) string {
	_, rest, _ := strings.Cut(mediaType, ";")
	rest = ";" + rest
	for rest != "" && rest != ";" {
		var name, value string
		if name, value, rest = cutParameter(rest); rest == broken {
			return ""
		}
		if strings.EqualFold(name, "charset") {
			return strings.ToLower(value)
		}
	}
	return ""
}

func isUTF8Charset(name string) bool { return name == "" || name == "utf-8" || name == "us-ascii" }

// isJSON reports whether data of this content type is JSON: subtype json or
// suffix +json; none given means application/json (CE-43).
func isJSON(contentType string) bool {
	base := essence(contentType)
	return base == "" || strings.HasSuffix(base, "/json") || strings.HasSuffix(base, "+json")
}

// isText reports whether data of this content type is UTF-8 text by its name.
func isText(contentType string) bool {
	base := essence(contentType)
	named := strings.HasPrefix(base, "text/") || strings.HasSuffix(base, "/xml") || strings.HasSuffix(base, "+xml")
	return named && isUTF8Charset(charset(contentType))
}
