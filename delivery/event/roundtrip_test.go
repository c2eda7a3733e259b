package event

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// CE-58: whatever way an event goes through the three modes, no attribute and
// no byte of data changes. Headers have no types, so values are compared by
// their canonical strings.
//
// Rules: CE-58, EDU-03e, EDU-N07.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 800 {
		e := randomEvent(t, random)
		one, err := ParseJSON(e.AppendJSON(nil), Limits{})
		sameEvent(t, "structured", e, one, err)
		if !bytes.Equal(one.AppendJSON(nil), e.AppendJSON(nil)) {
			t.Fatalf("a second encoding differs:\n%s\n%s", e.AppendJSON(nil), one.AppendJSON(nil))
		}
		batch, err := ParseBatch(appendBatch(nil, []Event{one, e}), Limits{})
		if err != nil || len(batch) != 2 {
			t.Fatalf("batch: %v", err)
		}
		sameEvent(t, "batch", e, batch[1], nil)
		if e.CanBinary() {
			two, err := ParseBinary(e.BinaryHeader(), e.Data, Limits{})
			sameEvent(t, "binary", e, two, err)
			three, err := ParseJSON(two.AppendJSON(nil), Limits{})
			sameEvent(t, "binary to structured", e, three, err)
		}
		stored, err := FromParts(e.Attributes, e.DataKind, e.Data)
		sameEvent(t, "stored", e, stored, err)
	}
}

func sameEvent(t *testing.T, way string, want, got Event, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v\n%s", way, err, want.AppendJSON(nil))
	}
	before, after := maps.Collect(want.All()), maps.Collect(got.All())
	if contentType := want.contentType(); contentType != "" {
		before["datacontenttype"] = contentType
	}
	if contentType := got.contentType(); contentType != "" {
		after["datacontenttype"] = contentType
	}
	if !maps.Equal(before, after) || !bytes.Equal(want.Data, got.Data) {
		t.Fatalf("%s changed it:\n%s\n%s", way, want.AppendJSON(nil), got.AppendJSON(nil))
	}
}

func randomEvent(t *testing.T, random *rand.Rand) Event {
	t.Helper()
	body := []byte(`{"specversion":"1.0","source":"urn:nld:x:` + string(rune('a'+random.IntN(26))) + `","type":"nl.a.b","id":`)
	body = appendText(body, "i"+randomText(random))
	for i := range random.IntN(6) {
		body = append(body, `,"ext`+string(rune('a'+i))+`":`...)
		body = appendValue(body, random)
	}
	body = append(body, randomData(random)...)
	e, err := ParseJSON(append(body, '}'), Limits{})
	if err != nil {
		t.Fatalf("%v\n%s", err, body)
	}
	return e
}

func appendValue(dst []byte, random *rand.Rand) []byte {
	values := []string{"true", "false", "null", "0", "-1", "2147483647", `"\u20ac\ud83d\ude00"`, `"\/"`, `"caf\u00e9 %25"`}
	if n := random.IntN(len(values) + 6); n < len(values) {
		return append(dst, values[n]...)
	}
	return appendText(dst, randomText(random))
}

func randomText(random *rand.Rand) string {
	letters := []rune("ab \"\\%/é€😀~:;,'\u00a0\ufffd")
	text := make([]rune, random.IntN(12))
	for i := range text {
		text[i] = letters[random.IntN(len(letters))]
	}
	return string(text)
}

func randomData(random *rand.Rand) []byte {
	types := []string{"text/plain", "application/xml; charset=utf-8", "text/csv"}
	switch random.IntN(5) {
	case 0:
		return nil
	case 1:
		return slices.Concat([]byte(`,"data":[1.50,{"a":1,"a": `), appendText(nil, randomText(random)), []byte("}]"))
	case 2:
		return slices.Concat([]byte(`,"datacontenttype":"application/vnd.x+json","data":`), appendText(nil, randomText(random)))
	case 3:
		return slices.Concat([]byte(`,"datacontenttype":"`+types[random.IntN(3)]+`","data":`), appendText(nil, "\n"+randomText(random)))
	default:
		e := Event{DataKind: DataBinary, Data: []byte{byte(random.Uint32()), byte(random.Uint32()), 0xFF}, DataContentType: "x"}
		return slices.Concat([]byte(","), e.appendData([]byte("{"), 0)[1:])
	}
}

// appendBatch appends the events as a JSON batch (CE-56).
func appendBatch(dst []byte, events []Event) []byte {
	dst = append(dst, '[')
	for i := range events {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = events[i].AppendJSON(dst)
	}
	return append(dst, ']')
}
