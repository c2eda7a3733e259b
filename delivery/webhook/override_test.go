package webhook

import (
	"reflect"
	"testing"
	"time"
)

// Rules: EDU-18.
func TestOverride(t *testing.T) {
	t.Parallel()
	chain := Schedule{Waits: []time.Duration{time.Second}, MaxAttempts: 5, Deadline: time.Hour, Jitter: 0.2, MaxRetryAfter: time.Minute}
	tests := []struct {
		text string
		want func(s *Schedule)
	}{
		{"", func(*Schedule) {}},
		{"{}", func(*Schedule) {}},
		{`{"waits":["5s","1m30s"]}`, func(s *Schedule) { s.Waits = []time.Duration{5 * time.Second, 90 * time.Second} }},
		{`{"maxAttempts":10}`, func(s *Schedule) { s.MaxAttempts = 10 }},
		{`{"deadline":"24h"}`, func(s *Schedule) { s.Deadline = 24 * time.Hour }},
	}
	for _, tt := range tests {
		o, err := ParseOverride(tt.text)
		want := chain
		tt.want(&want)
		if got := chain.With(o); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v; want %+v", tt.text, got, err, want)
		}
	}
	for _, text := range []string{"[]", `{"waits":["soon"]}`, `{"waits":["-1s"]}`, `{"waits":["0s"]}`, `{"deadline":"later"}`} {
		if _, err := ParseOverride(text); err == nil {
			t.Errorf("%s was taken", text)
		}
	}
}

func FuzzParseOverride(f *testing.F) {
	f.Add(`{"waits":["5s","1m"],"maxAttempts":10,"deadline":"24h"}`)
	f.Fuzz(func(t *testing.T, text string) {
		o, err := ParseOverride(text)
		if err != nil {
			return
		}
		for _, wait := range o.Waits {
			if wait <= 0 {
				t.Fatalf("pause %v", wait)
			}
		}
	})
}
