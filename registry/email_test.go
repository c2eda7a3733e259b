package registry

import (
	"strings"
	"testing"
)

func TestValidEmail(t *testing.T) {
	t.Parallel()
	for email, want := range map[string]bool{
		"ada@example.nl": true, "ada+x@mail.example.nl": true, "ada@localhost": true,
		"": false, "ada": false, "ada@example": false, "Ada <ada@example.nl>": false, "ada@example.nl, eve@example.nl": false,
		"ada@example.nl\r\nBcc: eve@example.nl": false, "ada@[127.0.0.1]": false, "ada@[10.0.0.1]": false, strings.Repeat("a", 250) + "@b.nl": false,
	} {
		if got := ValidEmail(email); got != want {
			t.Errorf("%q: %v, want %v", email, got, want)
		}
	}
}
