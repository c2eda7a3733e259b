// Package jsonpointer writes, splits and follows JSON Pointers (RFC 6901) in decoded JSON. The empty pointer names the
// whole document. A pointer that leads nowhere is an answer, no error. The package imports nothing else of the product.
package jsonpointer

import (
	"strconv"
	"strings"
)

// Join writes tokens as a pointer.
func Join(tokens ...string) string {
	var b strings.Builder
	for _, token := range tokens {
		b.WriteByte('/')
		b.WriteString(Escape(token))
	}
	return b.String()
}

// Escape writes a token as it stands in a pointer.
func Escape(token string) string {
	if !strings.ContainsAny(token, "~/") {
		return token
	}
	return strings.ReplaceAll(strings.ReplaceAll(token, "~", "~0"), "/", "~1")
}

// Tokens splits a pointer; ok is false when it is none.
func Tokens(pointer string) (list []string, ok bool) {
	if pointer == "" {
		return nil, true
	}
	if pointer[0] != '/' {
		return nil, false
	}
	list = strings.Split(pointer[1:], "/")
	for i, token := range list {
		if strings.Contains(token, "~") {
			list[i] = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		}
	}
	return list, true
}

// Lookup finds the value that a pointer names.
func Lookup(root any, pointer string) (any, bool) {
	list, ok := Tokens(pointer)
	if !ok {
		return nil, false
	}
	for _, token := range list {
		switch node := root.(type) {
		case map[string]any:
			if root, ok = node[token]; !ok {
				return nil, false
			}
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(node) || strconv.Itoa(i) != token {
				return nil, false
			}
			root = node[i]
		default:
			return nil, false
		}
	}
	return root, true
}
