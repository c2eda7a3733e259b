package outbox

import (
	"errors"
	"testing"

	"schakel/store"
)

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
