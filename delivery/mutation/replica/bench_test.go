package replica_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"schakel/delivery/mutation/archive"
	"schakel/delivery/mutation/format"
	"schakel/delivery/mutation/replica"
	"schakel/store/storetest"
)

// benchGroups counts the groups of one state of about 1 KB that a benchmark applies at a time.
const benchGroups = 100_000

// benchDelivery is a delivery of states of about 1 KB: an initial one, or one that changes each of them.
func benchDelivery(b *testing.B, initial bool) replica.Delivery {
	b.Helper()
	fill := strings.Repeat("123456.789 456789.123 ", 38)
	s := func(n, version int) *format.State {
		raw := fmt.Appendf(nil, `<d:o><d:Ding><d:nr>%d</d:nr><d:v>%d</d:v><d:vlak>%s</d:vlak></d:Ding></d:o>`, n, version, fill)
		v, err := format.ParseState(fmt.Sprintf("%08x-0000-4000-8000-%012d", uint32(n*2654435761), n*10+version), raw, worldSpaces...)
		must(b, err)
		return v
	}
	h := format.Header{Root: format.Name{Prefix: "d", Space: "urn:d", Local: "dMutaties"}, Dataset: "dingen", Type: format.Delta, DeliveryID: "d", ObjectTypes: []string{"Ding"}, Namespaces: worldSpaces}
	if initial {
		h.Type, h.DeliveryID = format.Initial, "i"
	}
	var out bytes.Buffer
	w, err := archive.NewDeliveryWriter(&out, h, archive.DeliveryOptions{})
	must(b, err)
	for n := range benchGroups {
		m := format.Mutation{ObjectType: "Ding", ObjectID: fmt.Sprint(n), Wordt: s(n, 1)}
		if !initial {
			m.Was, m.Wordt = m.Wordt, s(n, 2)
		}
		must(b, w.WriteGroup(&format.Group{Mutations: []format.Mutation{m}}))
	}
	if _, err := w.Close(); err != nil {
		b.Fatal(err)
	}
	return replica.Delivery{Open: func(context.Context) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(out.Bytes())), nil }}
}

// BenchmarkApply applies an initial delivery, and then a delta that changes every state in it.
func BenchmarkApply(b *testing.B) {
	initial, delta := benchDelivery(b, true), benchDelivery(b, false)
	for name, database := range map[string]func(*testing.B) string{
		"sqlite":   func(b *testing.B) string { b.Helper(); return "sqlite:" + b.TempDir() + "/copy.db" },
		"postgres": func(b *testing.B) string { b.Helper(); return storetest.PostgresURL(b) },
	} {
		b.Run(name+"/initial", func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				f, err := replica.Open(b.Context(), database(b), replica.Options{})
				must(b, err)
				b.StartTimer()
				apply(b, f, initial)
				_ = f.Close()
			}
			b.ReportMetric(float64(benchGroups*b.N)/b.Elapsed().Seconds(), "groups/s")
		})
		b.Run(name+"/delta", func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				f, err := replica.Open(b.Context(), database(b), replica.Options{Verify: replica.Verify(os.Getenv("BENCH_VERIFY"))})
				must(b, err)
				apply(b, f, initial)
				b.StartTimer()
				apply(b, f, delta)
				_ = f.Close()
			}
			b.ReportMetric(float64(benchGroups*b.N)/b.Elapsed().Seconds(), "groups/s")
		})
	}
}
