package webhook

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"schakel/delivery/outbound"
)

// BenchmarkSend shows requests per second to a receiver on loopback, beside a
// bare http.Client that posts the same bytes: the ceiling of this machine.
func BenchmarkSend(b *testing.B) {
	sink := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusAccepted)
	}))
	defer sink.Close()
	as := newTokenServer(b)
	client := outbound.New(outbound.Config{AllowPlainHTTP: true})
	bare := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	body := note{}.AppendJSON(nil)

	send := func(b *testing.B, target Target) {
		sender := NewSender(Config{Client: client})
		if target.Token != nil {
			sender.tokens = newSender(b, nil, as.Server).tokens
		}
		inParallel(b, func() bool { return sender.Send(b.Context(), target, message()).Status == 202 })
	}
	b.Run("send", func(b *testing.B) { send(b, Target{EndpointID: "e", URL: sink.URL}) })
	b.Run("send with token", func(b *testing.B) { send(b, Target{EndpointID: "e", URL: sink.URL, Token: as.config(AuthBasic)}) })
	b.Run("bare client", func(b *testing.B) {
		inParallel(b, func() bool {
			resp, err := bare.Post(sink.URL, "application/cloudevents+json", bytes.NewReader(body))
			if err != nil {
				return false
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			return resp.Body.Close() == nil && resp.StatusCode == 202
		})
	})
}

func inParallel(b *testing.B, once func() bool) {
	b.ReportAllocs()
	b.SetParallelism(16)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if !once() {
				b.Error("not delivered")
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "req/s")
}

func BenchmarkVerdict(b *testing.B) {
	b.ReportAllocs()
	o, f := Outcome{Status: 202}, facts()
	for b.Loop() {
		if Verdict(o, f).Next != NextDelivered {
			b.Fatal("not delivered")
		}
	}
}
