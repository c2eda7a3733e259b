package compare

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"schakel/registry/contracts/contract"
)

// BenchmarkSizes compares documents of three sizes with a next version in which every tenth schema has a property less.
func BenchmarkSizes(b *testing.B) {
	for _, size := range []struct {
		name  string
		bytes int
	}{{"small", 5_000}, {"600KB", 600_000}, {"13MB", 13_000_000}} {
		b.Run(size.name, func(b *testing.B) {
			old, new := generated(b, size.bytes, false), generated(b, size.bytes, true)
			b.SetBytes(int64(size.bytes))
			b.ReportAllocs()
			for b.Loop() {
				if changes, err := compareDocuments(old, new); err == nil && len(changes) == 0 || err != nil && !errors.Is(err, ErrTooLarge) {
					b.Fatal("nothing changed", err)
				}
			}
		})
	}
}

// generated is an API of at least so many bytes: operations that each answer a schema of their own.
func generated(b *testing.B, size int, changed bool) *contract.Document {
	b.Helper()
	var paths, schemas strings.Builder
	// Documents have texts and white space, or they would have more values than are read.
	text := strings.Repeat("What it is for. ", 14)
	for i := 0; paths.Len()+schemas.Len() < size; i++ {
		if i > 0 {
			paths.WriteByte(',')
			schemas.WriteByte(',')
		}
		tags := `,"tags":{"type":"array","items":{"type":"string","minLength":1}}`
		if changed && i%10 == 0 {
			tags = ""
		}
		fmt.Fprintf(&paths, `"/things%[1]d/{id}":{"get":{"operationId":"get%[1]d","description":"%[2]s","parameters":[{"name":"id","in":"path","required":true,"schema":{"type":"string","maxLength":6}}],`+
			`"responses":{"200":{"description":"The thing.","content":{"application/json":{"schema":{"$ref":"#/components/schemas/Thing%[1]d"}}}}}}}`, i, text)
		fmt.Fprintf(&schemas, `"Thing%d":{"type":"object","description":"%s","required":["id"],"properties":{"id":{"type":"string"},"size":{"type":"integer","minimum":0},`+
			`"state":{"enum":["new","old"],"default":"new"}%s}}`, i, text, tags)
	}
	d, findings, err := contract.Parse([]byte(`{"openapi":"3.1.0","info":{"title":"Large","version":"1.0.0"},"paths":{`+paths.String()+`},"components":{"schemas":{`+schemas.String()+`}}}`), contract.Limits{})
	if d == nil {
		b.Fatal(findings, err)
	}
	return d
}
