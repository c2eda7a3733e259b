package event

import (
	"bytes"
	"encoding/json"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func FuzzParseJSON(f *testing.F) {
	for _, body := range validVectors() {
		f.Add([]byte(body))
	}
	for _, body := range invalidVectors() {
		f.Add([]byte(body))
	}
	f.Add([]byte(with(`"ext":"\ud83d\ude00","data":{"a":[1.5e3,null,"\ud800"]}`)))
	f.Add([]byte(with(`"data_base64":5`)))
	f.Fuzz(func(t *testing.T, body []byte) {
		e, err := ParseJSON(body, Limits{})
		if err != nil {
			checkProblems(t, err)
			return
		}
		checkEvent(t, e)
		agree(t, body, e)
	})
}

func FuzzParseBatch(f *testing.F) {
	f.Add([]byte(`[]`))
	f.Add([]byte("[" + with("") + " , " + with(`"data":[]`) + "]"))
	f.Add([]byte(`["x",{"id":1},[[]]]`))
	f.Fuzz(func(t *testing.T, body []byte) {
		events, err := ParseBatch(body, Limits{})
		if err != nil {
			checkProblems(t, err)
			return
		}
		if !json.Valid(body) {
			t.Fatal("accepted what encoding/json refuses")
		}
		for _, e := range events {
			checkEvent(t, e)
		}
		again, err := ParseBatch(appendBatch(nil, events), Limits{})
		if err != nil || len(again) != len(events) {
			t.Fatalf("not readable again: %v", err)
		}
	})
}

func FuzzParseBinary(f *testing.F) {
	f.Add("ext", "Euro%20%E2%82%AC", `"a b"`, "application/json", []byte(`{"a":1}`))
	f.Add("id", "%C0%A0", "a", "text/plain; charset=utf-8", []byte("x"))
	f.Add("Data", "", "2026-01-01T00:00:00Z", "", []byte{0xFF})
	f.Fuzz(func(t *testing.T, name, value, subject, contentType string, body []byte) {
		header := ceHeader("ce-subject", subject)
		header["Ce-"+name] = []string{value}
		if contentType != "" {
			header["Content-Type"] = []string{contentType}
		}
		e, err := ParseBinary(header, body, Limits{})
		if err != nil {
			checkProblems(t, err)
			return
		}
		checkEvent(t, e)
		if e.CanBinary() {
			again, err := ParseBinary(e.BinaryHeader(), e.Data, Limits{EventBytes: 1 << 20})
			sameEvent(t, "binary", e, again, err)
			checkHeader(t, e.BinaryHeader())
		}
	})
}

func checkHeader(t *testing.T, header http.Header) {
	t.Helper()
	for key, values := range header {
		for i := 0; i < len(values[0]); i++ {
			if c := values[0][i]; (c < 0x21 || c > 0x7E) && (key != "Content-Type" || c != ' ' && c != '\t') {
				t.Fatalf("%s: byte %#x goes out in a header", key, c)
			}
		}
	}
}

func checkProblems(t *testing.T, err error) {
	t.Helper()
	invalid, ok := err.(*Invalid)
	if !ok {
		return
	}
	if len(invalid.Problems) == 0 || len(invalid.Problems) > maxProblems {
		t.Fatalf("%d problems", len(invalid.Problems))
	}
	for _, problem := range invalid.Problems {
		if problem.Code == "" || problem.Detail == "" || !utf8.ValidString(problem.Pointer+problem.Detail.String()+problem.Attribute) {
			t.Fatalf("%+v", problem)
		}
	}
}

func checkEvent(t *testing.T, e Event) {
	t.Helper()
	if e.ID == "" || e.Source == "" || e.Type == "" || !json.Valid(e.Attributes) {
		t.Fatalf("accepted %+v", e)
	}
	if e.DataKind == DataJSON && !json.Valid(e.Data) {
		t.Fatalf("data is not JSON: %q", e.Data)
	}
	e.Advice(Policy{})
	out := e.AppendJSON(nil)
	again, err := ParseJSON(out, Limits{EventBytes: 1 << 20})
	if err != nil {
		t.Fatalf("not readable again: %v\n%s", err, out)
	}
	if !bytes.Equal(bytes.Trim(again.Data, " \t\r\n"), bytes.Trim(e.Data, " \t\r\n")) {
		t.Fatalf("data changed from %q to %q", e.Data, again.Data)
	}
	if !bytes.HasPrefix(again.Attributes, e.Attributes[:len(e.Attributes)-1]) {
		t.Fatalf("attributes changed from %s to %s", e.Attributes, again.Attributes)
	}
}

// agree compares our reading with that of encoding/json.
func agree(t *testing.T, body []byte, e Event) {
	t.Helper()
	var members map[string]json.RawMessage
	if err := json.Unmarshal(body, &members); err != nil {
		t.Fatalf("accepted what encoding/json refuses: %v", err)
	}
	for name, value := range e.All() {
		raw := string(members[name])
		if !strings.HasPrefix(raw, `"`) {
			if raw != value {
				t.Fatalf("%s is %q, not %q", name, raw, value)
			}
			continue
		}
		var text string
		if err := json.Unmarshal(members[name], &text); err != nil || text != value {
			t.Fatalf("%s is %q, not %q", name, text, value)
		}
	}
}

// CE-58: whatever way an event goes through the three modes, no attribute and no byte of data changes. Headers have no types, so
// values are compared by their canonical strings.
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

// sample is an event of some 700 bytes, as the education chain would send it.
func sample() []byte {
	return []byte(`{"specversion":"1.0","id":"3f1d5b0e-6f0c-4c6e-9f39-0f6b2f1f7a11","source":"urn:nld:oin:00000001823288444000:systeem:leerlingadministratie",` +
		`"type":"nl.edu-v.leerlingen.leerling-gewijzigd.v1","subject":"leerling/8f14e45f","time":"2026-05-01T09:30:00.123+02:00",` +
		`"datacontenttype":"application/json","dataschema":"https://register.example.nl/contracts/leerlingen/1.0.0","sequence":"0000000042",` +
		`"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",` +
		`"data":{"notificationType":"object","objectType":"leerling","objectId":"8f14e45f-ceea-467f-a9d0-2b6f4f1e1c11","school":{"brin":"00AA","vestiging":"00AA01"},` +
		`"created":"2026-05-01T09:29:58Z","url":"https://api.example.nl/leerlingen/8f14e45f","isDeleteNotification":false}}`)
}

func BenchmarkParseJSON(b *testing.B) {
	body := sample()
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseJSON(body, Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppendJSON(b *testing.B) {
	e, err := ParseJSON(sample(), Limits{})
	if err != nil {
		b.Fatal(err)
	}
	buffer := e.AppendJSON(nil)
	b.SetBytes(int64(len(buffer)))
	b.ReportAllocs()
	for b.Loop() {
		buffer = e.AppendJSON(buffer[:0])
	}
}

func BenchmarkParseBatch(b *testing.B) {
	body := []byte("[" + strings.Repeat(string(sample())+",", 99) + string(sample()) + "]")
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if events, err := ParseBatch(body, Limits{}); err != nil || len(events) != 100 {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseBinary(b *testing.B) {
	e, err := ParseJSON(sample(), Limits{})
	if err != nil {
		b.Fatal(err)
	}
	header := e.BinaryHeader()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseBinary(header, e.Data, Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFromParts(b *testing.B) {
	e, err := ParseJSON(sample(), Limits{})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := FromParts(e.Attributes, e.DataKind, e.Data); err != nil {
			b.Fatal(err)
		}
	}
}
