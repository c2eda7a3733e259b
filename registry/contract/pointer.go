package contract

import "strings"

// pointer writes tokens as a JSON Pointer (RFC 6901).
func pointer(tokens ...string) string {
	var b strings.Builder
	for _, token := range tokens {
		b.WriteByte('/')
		b.WriteString(escapeToken(token))
	}
	return b.String()
}

func escapeToken(token string) string {
	if !strings.ContainsAny(token, "~/") {
		return token
	}
	return strings.ReplaceAll(strings.ReplaceAll(token, "~", "~0"), "/", "~1")
}

// tokens splits a JSON Pointer; ok is false when it is none.
func tokens(p string) (list []string, ok bool) {
	if p == "" {
		return nil, true
	}
	if p[0] != '/' {
		return nil, false
	}
	list = strings.Split(p[1:], "/")
	for i, token := range list {
		if strings.Contains(token, "~") {
			list[i] = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		}
	}
	return list, true
}
