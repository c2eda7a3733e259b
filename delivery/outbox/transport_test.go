package outbox

import (
	"encoding/json"
	"errors"
	"net/http"
	"testing"

	"schakel/store"
)

func TestHeaders(t *testing.T) {
	t.Parallel()
	for _, h := range []http.Header{
		nil,
		{},
		{"A": nil},
		{"A": {}},
		{"Content-Type": {"text/plain"}, "Idempotency-Key": {`"8e03978e"`}, "Via": {"a", "b"}},
		{"X": {"a\\b <&> \x00\x7f é \xff \u2028"}, "Y\"": {""}},
	} {
		want := ""
		if len(h) > 0 {
			b, err := json.Marshal(h)
			if err != nil {
				t.Fatal(err)
			}
			want = string(b)
		}
		if got := headers(h); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// FuzzHeaders holds our own encoding against the library's.
func FuzzHeaders(f *testing.F) {
	f.Add("Content-Type", "text/plain", "a\x00")
	f.Add("", "\\", "\xff<")
	f.Fuzz(func(t *testing.T, name, one, two string) {
		h := http.Header{name: {one, two}, name + "x": {two}}
		want, err := json.Marshal(h)
		if err != nil {
			t.Fatal(err)
		}
		if got := headers(h); got != string(want) {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

// TestSecrets unseals once, and again when the sealed secret changed.
func TestSecrets(t *testing.T) {
	t.Parallel()
	var cache secretCache
	opened := 0
	unseal := func(ep store.Endpoint) (string, error) {
		opened++
		if ep.TokenSecret == "broken" {
			return "", errors.New("sealed with another key")
		}
		return "plain " + ep.TokenSecret, nil
	}
	for i, tc := range []struct {
		id, sealed string
		opened     int
	}{{"a", "1", 1}, {"a", "1", 1}, {"b", "2", 2}, {"a", "3", 3}, {"b", "2", 3}, {"a", "broken", 4}, {"a", "broken", 5}, {"a", "3", 5}} {
		got, err := cache.open(store.Endpoint{ID: tc.id, TokenSecret: tc.sealed}, unseal)
		if broken := tc.sealed == "broken"; broken != (err != nil) || (!broken && got != "plain "+tc.sealed) || opened != tc.opened {
			t.Errorf("step %d: %q, %v, opened %d times", i, got, err, opened)
		}
	}
}
