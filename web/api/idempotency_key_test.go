package api

import (
	"regexp"
	"testing"

	"github.com/google/uuid"
)

// FuzzIdempotencyKey holds the reader against a pattern and another reader of UUIDs.
//
// Rules: IDEM-06, IDEM-I01, IDEM-I09.
func FuzzIdempotencyKey(f *testing.F) {
	for _, seed := range []string{`"8e03978e-40d5-43e8-bc93-6894a57f9324"`, `8e03978e-40d5-43e8-bc93-6894a57f9324`, `""`, `"`, ` "a";b`, ""} {
		f.Add(seed, true)
		f.Add(seed, false)
	}
	shape := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	f.Fuzz(func(t *testing.T, value string, lenient bool) {
		key, err := readIdempotencyKey([]string{value}, lenient)
		if (err == nil) != shape.MatchString(key) {
			t.Fatalf("%q gives %q, %v", value, key, err)
		}
		if err != nil {
			return
		}
		if parsed, err := uuid.Parse(key); err != nil || parsed.Version() != 4 || parsed.Variant() != uuid.RFC4122 {
			t.Fatalf("%q gives %q, which is no UUIDv4", value, key)
		}
		if again, err := readIdempotencyKey([]string{`"` + key + `"`}, false); err != nil || again != key {
			t.Fatalf("%q does not read itself: %q %v", key, again, err)
		}
	})
}
