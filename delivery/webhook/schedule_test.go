package webhook

import (
	"net/http"
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

// Rules: EDU-10, CE-65.
func TestParseRetryAfter(t *testing.T) {
	t.Parallel()
	tests := []struct {
		value string
		want  time.Duration
		ok    bool
	}{
		{"0", 0, true},
		{"120", 2 * time.Minute, true},
		{" 120\t", 2 * time.Minute, true},
		{"31536000", 365 * 24 * time.Hour, true},
		{"99999999999999999999999999", maxParsedWait, true},
		{now().Add(time.Hour).Format(http.TimeFormat), time.Hour, true},
		{now().Add(-time.Hour).Format(http.TimeFormat), 0, true},
		{"Monday, 02-Mar-26 10:00:30 GMT", 30 * time.Second, true},
		{"Mon Mar  2 10:00:30 2026", 30 * time.Second, true},
		{"Fri, 31 Dec 9999 23:59:59 GMT", maxParsedWait, true},
		{"", 0, false},
		{"-1", 0, false},
		{"1.5", 0, false},
		{"1e3", 0, false},
		{"soon", 0, false},
		{"120, 240", 0, false},
	}
	for _, tt := range tests {
		if got, ok := ParseRetryAfter(tt.value, now()); got != tt.want || ok != tt.ok {
			t.Errorf("%q: %v, %v; want %v, %v", tt.value, got, ok, tt.want, tt.ok)
		}
	}
}

func FuzzParseRetryAfter(f *testing.F) {
	for _, seed := range []string{"", "5", "99999999999999999999", "Mon, 02 Mar 2026 10:00:30 GMT", "-1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		got, ok := ParseRetryAfter(value, now())
		if got < 0 || got > maxParsedWait || !ok && got != 0 {
			t.Fatalf("%q: %v, %v", value, got, ok)
		}
	})
}
