package registry

import (
	"net/mail"
	"strings"
)

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
