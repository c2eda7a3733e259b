package event

import (
	"errors"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
)

// Size equals the length that AppendJSON writes, also around the limit where an implied content type is left out.
func TestSizeIsWhatIsWritten(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	check := func(e Event) {
		t.Helper()
		if got, want := e.Size(), len(e.AppendJSON(nil)); got != want {
			t.Fatalf("size %d, want %d: %.200s", got, want, e.AppendJSON(nil))
		}
	}
	for range 500 {
		check(randomEvent(t, random))
	}
	attributes := map[string]string{"id": "1", "source": "urn:x", "type": "nl.a"}
	for n := MinEventBytes - 150; n < MinEventBytes; n++ {
		e, err := New(attributes, []byte(`"`+strings.Repeat("x", n)+`"`), Limits{EventBytes: 2 * MinEventBytes})
		if err != nil {
			t.Fatal(err)
		}
		check(e)
	}
	check(Event{Attributes: []byte("{}")})
	check(Event{Attributes: []byte("{}"), DataKind: DataJSON, Data: []byte("1")})
	check(Event{Attributes: []byte(`{"datacontenttype":"text/plain"}`), DataContentType: "text/plain", DataKind: DataText, Data: []byte("\"\\\b\t\n\f\r\x01\x1f é")})
}

// An event that refers to its data is the same but for that.
// Rules: CE-21, EDU-01a.
func TestRefer(t *testing.T) {
	t.Parallel()
	const address = "https://schakel.example.nl/events/v1/objects/obj_1"
	random := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		e := randomEvent(t, random)
		if _, given := e.Extension("dataref"); given {
			continue
		}
		light, err := e.Refer(address)
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseJSON(light.AppendJSON(nil), Limits{})
		if err != nil || again.DataKind != DataNone {
			t.Fatalf("%s: %v", light.AppendJSON(nil), err)
		}
		want, got := maps.Collect(e.All()), maps.Collect(again.All())
		want["dataref"] = address
		if !maps.Equal(want, got) || light.ID != e.ID || light.Source != e.Source || light.Type != e.Type {
			t.Fatalf("%s became %s", e.AppendJSON(nil), light.AppendJSON(nil))
		}
		if _, err := light.Refer(address); !errors.Is(err, ErrDataRef) {
			t.Fatalf("a second reference: %v", err)
		}
	}
}
