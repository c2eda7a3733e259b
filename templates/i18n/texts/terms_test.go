package texts

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// A field is called the same in its label, its errors and the mails and issues about it: each language has one word for it, and none of these others.
func TestFieldsHaveOneName(t *testing.T) {
	t.Parallel()
	for file, others := range map[string]string{
		"en.txt": `token address|token URL`,
		"nl.txt": `token-endpoint|token-adres|openbare sleutel`, // tokenadres, publieke sleutel
		"nb.txt": `tokenadress|token-endepunkt|privatnøkkel`,    // tokenendepunkt, privat nøkkel
	} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		wrong := regexp.MustCompile(`(?i)` + others)
		for line := range strings.Lines(string(text)) {
			key, words, _ := strings.Cut(line, " = ")
			if found := wrong.FindString(words); found != "" {
				t.Errorf("%s: %s calls it %q", file, key, found)
			}
		}
	}
}
