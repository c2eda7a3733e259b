package format_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"schakel/delivery/mutation/format"
)

// BenchmarkReader reads a file of 32 MB made of the groups of a sample message.
func BenchmarkReader(b *testing.B) {
	doc := string(sample(b, "voorbeeld-bgt-new-change.xml"))
	from, to := strings.Index(doc, "<ml:mutatieGroep>"), strings.LastIndex(doc, "</ml:mutatieGroep>")+len("</ml:mutatieGroep>")
	groups := doc[from:to]
	big := []byte(doc[:from] + strings.Repeat(groups, 32<<20/len(groups)) + doc[to:])
	b.SetBytes(int64(len(big)))
	count := 0
	for b.Loop() {
		r := format.NewReader("f.xml", bytes.NewReader(big), format.Limits{})
		for {
			if _, err := r.Next(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				b.Fatal(err)
			}
			count++
		}
	}
	b.ReportMetric(float64(count)/b.Elapsed().Seconds(), "groups/s")
}
