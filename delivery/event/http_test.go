package event

import (
	"errors"
	"net/http"
	"slices"
	"testing"
)

// Rules: CE-40, CE-52.
func TestDetect(t *testing.T) {
	t.Parallel()
	tests := []struct {
		contentType string
		mode        Mode
		refused     bool
	}{
		{"application/cloudevents+json", Structured, false},
		{"application/cloudevents+json; charset=utf-8", Structured, false},
		{"Application/CloudEvents+JSON;charset=UTF-8", Structured, false},
		{`application/cloudevents+json; charset="UTF-8"`, Structured, false},
		{"application/cloudevents+json; charset=utf-16", 0, true},
		{"application/cloudevents+json; profile=x; charset=iso-8859-1", 0, true},
		{"application/cloudevents-batch+json", Batch, false},
		{"application/cloudevents-batch+json; charset=utf-8", Batch, false},
		{"application/cloudevents-batch+avro", 0, true},
		{"application/cloudevents-batch", 0, true},
		{"application/cloudevents+avro", 0, true},
		{"application/cloudevents+protobuf", 0, true},
		{"application/cloudevents+xml", 0, true},
		{"application/cloudevents", 0, true},
		{"application/json", Binary, false},
		{"text/plain", Binary, false},
		{"", Binary, false},
	}
	for _, test := range tests {
		t.Run("CE-52 "+test.contentType, func(t *testing.T) {
			t.Parallel()
			mode, err := Detect(test.contentType)
			if mode != test.mode || errors.Is(err, ErrUnsupportedFormat) != test.refused {
				t.Errorf("got %s, %v", mode, err)
			}
		})
	}
}

// Rules: CE-51, CE-55, CE-56.
func TestReadModes(t *testing.T) {
	t.Parallel()
	structured := http.Header{"Content-Type": {MediaType}, "Ce-Id": {"other"}, "Ce-Datacontenttype": {"x"}}
	mode, events, err := Read(structured, []byte(with("")), Limits{})
	if err != nil || mode != Structured || len(events) != 1 || events[0].ID != "1" {
		t.Errorf("CE-55 conflicting headers: %s %+v %v", mode, events, err)
	}
	mode, events, err = Read(ceHeader("Content-Type", "application/json"), []byte(`{"a":1}`), Limits{})
	if err != nil || mode != Binary || len(events) != 1 || string(events[0].Data) != `{"a":1}` {
		t.Errorf("CE-51 binary: %s %+v %v", mode, events, err)
	}
	mode, events, err = Read(http.Header{"Content-Type": {BatchMediaType}}, []byte("[]"), Limits{})
	if err != nil || mode != Batch || len(events) != 0 {
		t.Errorf("CE-56 empty batch: %s %+v %v", mode, events, err)
	}
}

// Rules: CE-66.
func TestReadUnsupported(t *testing.T) {
	t.Parallel()
	for _, header := range []http.Header{
		{"Content-Type": {"application/json"}},
		{"Content-Type": {"text/plain"}},
		{"Content-Type": {"application/cloudevents+avro"}, "Ce-Id": {"1"}},
		{"Content-Type": {MediaType, MediaType}},
		{},
	} {
		if _, _, err := Read(header, []byte(with("")), Limits{}); !errors.Is(err, ErrUnsupportedFormat) {
			t.Errorf("CE-66 %v: %v", header, err)
		}
	}
}

// TestReadEncoded sends compressed bytes that binary mode would take for the data (RFC 9110, 8.4).
func TestReadEncoded(t *testing.T) {
	t.Parallel()
	for coding, refused := range map[string]bool{"gzip": true, "identity, gzip": true, "Identity": false, "": false} {
		h := http.Header{
			"Content-Type": {"application/octet-stream"}, "Content-Encoding": {coding},
			"Ce-Specversion": {"1.0"}, "Ce-Id": {"1"}, "Ce-Source": {"a"}, "Ce-Type": {"b.c"},
		}
		_, _, err := Read(h, []byte("\x1f\x8b"), Limits{})
		if errors.Is(err, ErrUnsupportedFormat) != refused || (err != nil) != refused {
			t.Errorf("%q: %v", coding, err)
		}
	}
}

// Rules: CE-53, CE-54, CE-60.
func TestBinaryRefused(t *testing.T) {
	t.Parallel()
	twice := ceHeader()
	twice["Ce-Id"] = []string{"1", "1"}
	cased := ceHeader()
	cased["ce-id"] = []string{"2"}
	types := ceHeader()
	types["Content-Type"] = []string{"text/plain", "text/xml"}
	tests := []struct {
		name            string
		header          http.Header
		body            string
		attribute, code string
	}{
		{"CE-53 ce-datacontenttype", ceHeader("ce-datacontenttype", "text/plain"), "x", "datacontenttype", CodeHeaderRefused},
		{"CE-53 two ce-id headers", twice, "x", "id", CodeDuplicate},
		{"CE-53 ce-id in two cases", cased, "x", "id", CodeDuplicate},
		{"CE-53 two Content-Type headers", types, "x", "datacontenttype", CodeDuplicate},
		{"CE-02 hyphen", ceHeader("ce-my-ext", "x"), "x", "my-ext", CodeName},
		{"CE-02 data", ceHeader("ce-data", "x"), "x", "data", CodeName},
		{"CE-02 no name", ceHeader("ce-", "x"), "x", "", CodeName},
		{"CE-01 empty id", ceHeader("ce-id", ""), "x", "id", CodeEmpty},
		{"CE-04 control character", ceHeader("ce-ext", "a%0Ab"), "x", "ext", CodeCharacters},
		{"CE-09 space", ceHeader("ce-source", "a%20b"), "x", "source", CodeURIReference},
		{"CE-11 other version", ceHeader("ce-specversion", "1.0.2"), "x", "specversion", CodeSpecVersion},
		{"CE-17 no media type", ceHeader("Content-Type", "xyz"), "x", "datacontenttype", CodeMediaType},
		{"CE-20 garbage", ceHeader("ce-time", "lunchtime"), "x", "time", CodeTime},
		{"CE-43 not JSON", ceHeader("Content-Type", "application/json"), "{\n\"a\":}", "data", CodeDataNotJSON},
		{"CE-43 JSON and more", ceHeader("Content-Type", "text/json"), "{} {}", "data", CodeDataNotJSON},
		{"CE-44 JSON not in UTF-8", ceHeader("Content-Type", "application/x+json"), "\"\xE9\"", "data", CodeDataNotJSON},
		{"CE-54 broken percent", ceHeader("ce-subject", "50% off"), "x", "subject", CodeHeaderEncoding},
		{"CE-54 percent at the end", ceHeader("ce-subject", "50%2"), "x", "subject", CodeHeaderEncoding},
		{"CE-54 overlong", ceHeader("ce-subject", "%C0%A0"), "x", "subject", CodeHeaderEncoding},
		{"CE-54 surrogate", ceHeader("ce-subject", "%ED%A0%80"), "x", "subject", CodeHeaderEncoding},
		{"CE-54 raw Latin-1", ceHeader("ce-subject", "\xE9"), "x", "subject", CodeHeaderEncoding},
		{"CE-54 open quote", ceHeader("ce-subject", `"a`), "x", "subject", CodeHeaderEncoding},
		{"CE-54 open escape", ceHeader("ce-time", `"a\`), "x", "time", CodeHeaderEncoding},
		{"CE-60 empty body", ceHeader("Content-Type", "text/plain"), "", "", CodeEmptyBody},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := ParseBinary(test.header, []byte(test.body), Limits{})
			wantProblem(t, err, test.attribute, test.code)
		})
	}
}

func TestBinaryMissing(t *testing.T) {
	t.Parallel()
	_, err := ParseBinary(http.Header{"Ce-Id": {"1"}}, []byte("x"), Limits{})
	want := []string{"source attribute-missing", "specversion attribute-missing", "type attribute-missing"}
	if got := codes(problemsOf(t, err)); !slices.Equal(got, want) {
		t.Errorf("CE-01 got %q", got)
	}
}

func TestBinaryData(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, contentType, body string
		kind                    DataKind
	}{
		{"CE-53 JSON with white space kept", "application/json", " {\"a\" : 1}\n", DataJSON},
		{"CE-53 text", "text/plain", "caf\u00e9\x00", DataText},
		{"CE-53 XML", "application/xml", "<a/>", DataText},
		{"CE-53 XML suffix", "application/soap+xml; charset=UTF-8", "<a/>", DataText},
		{"CE-53 text that is not UTF-8", "text/plain", "caf\xE9", DataBinary},
		{"CE-53 text in another charset", "text/plain; charset=utf-16", "a\x00", DataBinary},
		{"CE-53 image", "image/png", "\x89PNG", DataBinary},
		{"CE-53 no type, JSON", "", `[1]`, DataJSON},
		{"CE-53 no type, no JSON", "", "abc", DataBinary},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			header := ceHeader()
			if test.contentType != "" {
				header.Set("Content-Type", test.contentType)
			}
			e, err := ParseBinary(header, []byte(test.body), Limits{})
			if err != nil || e.DataKind != test.kind || string(e.Data) != test.body || e.DataContentType != test.contentType {
				t.Errorf("got %+v %q, %v", e, e.Data, err)
			}
		})
	}
}

// Rules: CE-54.
func TestHeaderValues(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, header, value, again string }{
		{"CE-54 euro and face", "Euro%20%E2%82%AC%20%F0%9F%98%80", "Euro € 😀", "Euro%20%E2%82%AC%20%F0%9F%98%80"},
		{"CE-54 lower-case hexadecimal", "%e2%82%ac", "€", "%E2%82%AC"},
		{"CE-54 more than needed", "%61b", "ab", "ab"},
		{"CE-54 one round only", "%2541", "%41", "%2541"},
		{"CE-54 quoted", `"a b \" \\ %20"`, `a b " \  `, `a%20b%20%22%20\%20%20`},
		{"CE-54 quoted in part", `a"b c"d`, "ab cd", "ab%20cd"},
		{"CE-54 bare space", "a b", "a b", "a%20b"},
		{"CE-54 raw UTF-8", "é", "é", "%C3%A9"},
		{"CE-54 tilde and bang stay", "!~", "!~", "!~"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			e, err := ParseBinary(ceHeader("ce-subject", test.header), []byte("x"), Limits{})
			if err != nil || e.Subject != test.value {
				t.Fatalf("got %q, %v", e.Subject, err)
			}
			if again := e.BinaryHeader().Get("ce-subject"); again != test.again {
				t.Errorf("encodes to %q, want %q", again, test.again)
			}
		})
	}
}

func TestCanBinary(t *testing.T) {
	t.Parallel()
	for members, want := range map[string]bool{
		``:           false,
		`"data":1`:   true,
		`"data":"x"`: true,
		`"datacontenttype":"text/plain","data":"x"`:                             true,
		`"datacontenttype":"text/plain","data":""`:                              false,
		`"datacontenttype":"text/plain;charset=iso-8859-1","data":"x"`:          false,
		`"datacontenttype":"application/cloudevents+json","data":{}`:            false,
		`"datacontenttype":"application/cloudevents+avro","data_base64":"AA=="`: false,
	} {
		e, err := ParseJSON([]byte(with(members)), Limits{})
		if err != nil || e.CanBinary() != want {
			t.Errorf("%s: got %v, %v", members, e.CanBinary(), err)
		}
	}
}
