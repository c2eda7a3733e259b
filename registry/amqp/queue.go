package amqp

import "strings"

// checkQueue returns the problem of the name of a queue, or of a namespace: they stand in addresses on the broker.
func checkQueue(name string, optional bool) string {
	switch {
	case name == "" && optional:
		return ""
	case name == "":
		return "Fill in the name of the queue."
	case len(name) > 300:
		return "Use at most 300 characters."
	case strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`"'\?#<>`, r) }):
		return "Use letters, digits and . _ - / : $ without spaces, as 8141703_async or host/namespace/8141703_async."
	case strings.HasPrefix(name, "/") || strings.HasSuffix(name, "/") || strings.Contains(name, "//"):
		return "Leave out the slash at the beginning and end."
	}
	return ""
}
