package outbox

import (
	"encoding/json"
	"net/http"
	"testing"
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
