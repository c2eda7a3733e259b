package token

import (
	"testing"

	"github.com/go-jose/go-jose/v4"
)

func BenchmarkVerifyCached(b *testing.B) {
	s := newBench(b)
	raw := s.token(b)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := s.Verify(b.Context(), raw); err != nil {
				b.Error(err)
			}
		}
	})
}

func BenchmarkVerifyNotCached(b *testing.B) {
	s := newBench(b, func(c *Config) { c.CacheSize = 1 })
	raws := []string{s.token(b), s.token(b)}
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		if _, err := s.Verify(b.Context(), raws[n%2]); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkExchangeSecret(b *testing.B) {
	s := newBench(b)
	req := s.basicRequest()
	b.ReportAllocs()
	for b.Loop() {
		if _, fail := s.Exchange(b.Context(), req); fail != nil {
			b.Fatal(fail)
		}
	}
}

func BenchmarkExchangeAssertion(b *testing.B) {
	s := newBench(b)
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		raw := joseAssertion(b, s, jose.SigningKey{Algorithm: jose.ES256, Key: s.key})
		b.StartTimer()
		if _, fail := s.Exchange(b.Context(), assertionRequest(raw)); fail != nil {
			b.Fatal(fail)
		}
	}
}
