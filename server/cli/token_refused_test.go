package cli

import (
	"fmt"
	"strings"
	"testing"
)

// TestRefusedTokenSaysWhereToLook expects the error to point at the client, at the address, or nowhere because it passes.
func TestRefusedTokenSaysWhereToLook(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]string{
		400: ": look at the id and the key or secret", 401: ": look at the id and the key or secret", 404: ": look at --token-url", 405: ": look at --token-url", 503: "",
	} {
		text := tokenRefused{status: status}.Error()
		if _, where, _ := strings.Cut(text, fmt.Sprint("status ", status)); !strings.HasPrefix(where, want) || want == "" && where != "" {
			t.Errorf("%d: %s", status, text)
		}
	}
}
