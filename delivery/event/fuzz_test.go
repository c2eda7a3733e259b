package event

import (
	"bytes"
	"encoding/json"
	"net/http"
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
		if problem.Code == "" || problem.Detail == "" || !utf8.ValidString(problem.Pointer+problem.Detail+problem.Attribute) {
			t.Fatalf("%+v", problem)
		}
	}
}

// checkEvent checks the invariants of every accepted event.
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
