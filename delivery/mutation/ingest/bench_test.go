package ingest_test

import (
	"fmt"
	"strings"
	"testing"

	"schakel/delivery/mutation/format"
	"schakel/store/storetest"
)

// kilobyte is a state of about 1,000 bytes.
func kilobyte(id string) *format.State {
	return st(id, id+strings.Repeat(" Een pand van rode baksteen aan de Kade.", 23))
}

// BenchmarkPublish publishes groups of one change each, of states of 1 KB, and reports groups per second.
func BenchmarkPublish(b *testing.B) {
	for name, open := range storetest.Both() {
		for _, kind := range []string{"add", "change"} {
			b.Run(name+"/"+kind, func(b *testing.B) {
				w := newWorld(b, open(b))
				var first, groups []*format.Group
				for i := range b.N {
					was, wordt := kilobyte(fmt.Sprint("a", i)), kilobyte(fmt.Sprint("b", i))
					if kind == "add" {
						was = nil
					} else {
						first = append(first, group(mut(fmt.Sprint(i), nil, kilobyte(fmt.Sprint("a", i)))))
					}
					groups = append(groups, group(mut(fmt.Sprint(i), was, wordt)))
				}
				w.publish("first", first...)
				in := file(b, header(format.Delta), groups...)
				b.SetBytes(int64(len(in) / b.N))
				b.ResetTimer()
				if _, err := w.ingester.Publish(w.ctx, w.request("k", fromXML(in))); err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "groups/s")
			})
		}
	}
}
