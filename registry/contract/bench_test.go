package contract

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// BenchmarkLargest reads and validates the largest sample document (600 KB), and that document grown to 13 MB.
func BenchmarkLargest(b *testing.B) {
	content, err := os.ReadFile(filepath.Join(samples(b), "oas", "oas3.1-oeapi-v6.json"))
	if err != nil {
		b.Fatal(err)
	}
	for name, content := range map[string][]byte{"600KB": content, "13MB": grow(b, content, 13<<20)} {
		b.Run("parse/"+name, func(b *testing.B) {
			b.SetBytes(int64(len(content)))
			for b.Loop() {
				if d, findings, err := Parse(content, Limits{}); d == nil || err != nil {
					b.Fatal(findings, err)
				}
			}
		})
		b.Run("validate/"+name, func(b *testing.B) {
			b.SetBytes(int64(len(content)))
			d, _, _ := Parse(content, Limits{})
			for b.Loop() {
				if findings := d.Validate(); HasErrors(findings) {
					b.Fatal(findings)
				}
			}
		})
	}
}

// grow repeats the schemas of a document under other names until it is of the size that is wanted.
func grow(b *testing.B, content []byte, size int) []byte {
	var document map[string]any
	if err := json.Unmarshal(content, &document); err != nil {
		b.Fatal(err)
	}
	schemas := document["components"].(map[string]any)["schemas"].(map[string]any)
	one, err := json.MarshalIndent(schemas, "", "  ")
	if err != nil {
		b.Fatal(err)
	}
	names := sortedKeys(schemas)
	for i := range (size - len(content)) / len(one) {
		for _, name := range names {
			schemas[fmt.Sprintf("%s.%d", name, i)] = schemas[name]
		}
	}
	grown, err := json.MarshalIndent(document, "", "  ")
	if err != nil {
		b.Fatal(err)
	}
	return grown
}
