package event

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// Rules: CE-40, CE-52.
func TestDetect(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
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
	} {
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
	for _, test := range []struct {
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
	} {
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
	for _, test := range []struct {
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
	} {
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
	for _, test := range []struct{ name, header, value, again string }{
		{"CE-54 euro and face", "Euro%20%E2%82%AC%20%F0%9F%98%80", "Euro € 😀", "Euro%20%E2%82%AC%20%F0%9F%98%80"},
		{"CE-54 lower-case hexadecimal", "%e2%82%ac", "€", "%E2%82%AC"},
		{"CE-54 more than needed", "%61b", "ab", "ab"},
		{"CE-54 one round only", "%2541", "%41", "%2541"},
		{"CE-54 quoted", `"a b \" \\ %20"`, `a b " \  `, `a%20b%20%22%20\%20%20`},
		{"CE-54 quoted in part", `a"b c"d`, "ab cd", "ab%20cd"},
		{"CE-54 bare space", "a b", "a b", "a%20b"},
		{"CE-54 raw UTF-8", "é", "é", "%C3%A9"},
		{"CE-54 tilde and bang stay", "!~", "!~", "!~"},
	} {
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

// Rules: CE-44, CE-60.
func TestSyntax(t *testing.T) {
	t.Parallel()
	deep := with(`"data":` + strings.Repeat("[", 128) + strings.Repeat("]", 128))
	for _, test := range []struct {
		name, body, code string
		line, column     int
	}{
		{"CE-60 empty body", "", CodeEmptyBody, 0, 0},
		{"CE-44 white space only", " \n ", CodeSyntax, 2, 2},
		{"CE-44 trailing bytes", "{}\n x", CodeSyntax, 2, 2},
		{"CE-44 two events", with("") + with(""), CodeSyntax, 1, len(with("")) + 1},
		{"CE-44 trailing comma", `{"id":"1",}`, CodeSyntax, 1, 11},
		{"CE-44 comma before the first", `{,"id":"1"}`, CodeSyntax, 1, 2},
		{"CE-44 no colon", `{"id" "1"}`, CodeSyntax, 1, 7},
		{"CE-44 name without quotes", `{id:"1"}`, CodeSyntax, 1, 2},
		{"CE-44 breaks off", `{"id":"1"`, CodeSyntax, 1, 10},
		{"CE-44 breaks off in a string", `{"é":"1`, CodeSyntax, 1, 8},
		{"CE-44 breaks off after the colon", `{"data_base64":`, CodeSyntax, 1, 16},
		{"CE-44 bare control character", "{\"id\":\"a\tb\"}", CodeSyntax, 1, 9},
		{"CE-44 unknown escape", `{"id":"\x41"}`, CodeSyntax, 1, 8},
		{"CE-44 broken unicode escape", `{"id":"\u12G4"}`, CodeSyntax, 1, 8},
		{"CE-44 leading zero", `{"ext":012}`, CodeSyntax, 1, 9},
		{"CE-44 plus sign", `{"ext":+1}`, CodeSyntax, 1, 8},
		{"CE-44 minus alone", `{"ext":-}`, CodeSyntax, 1, 9},
		{"CE-44 point without digits", `{"data":1.}`, CodeSyntax, 1, 11},
		{"CE-44 exponent without digits", `{"data":1e+}`, CodeSyntax, 1, 12},
		{"CE-44 NaN", `{"data":NaN}`, CodeSyntax, 1, 9},
		{"CE-44 word with a tail", `{"ext":trueish}`, CodeSyntax, 1, 12},
		{"CE-44 comment", `{"id":"1" /* one */}`, CodeSyntax, 1, 11},
		{"CE-44 single quotes", `{'id':'1'}`, CodeSyntax, 1, 2},
		{"CE-44 broken array in data", `{"data":[1 2]}`, CodeSyntax, 1, 12},
		{"CE-44 byte order mark", "\uFEFF{}", CodeSyntax, 1, 1},
		{"CE-44 stray byte", "{\"id\":\"\n\xFF\"}", CodeUTF8, 2, 1},
		{"CE-44 overlong", "{\"id\":\"\xC0\xA0\"}", CodeUTF8, 1, 8},
		{"CE-44 surrogate in UTF-8", "{\"data\":\"\xED\xA0\x80\"}", CodeUTF8, 1, 10},
		{"CE-44 nesting", deep, CodeDepth, 1, strings.Index(deep, "[") + 128},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := ParseJSON([]byte(test.body), Limits{})
			problems := problemsOf(t, err)
			last := problems[len(problems)-1]
			if last.Code != test.code || last.Line != test.line || last.Column != test.column {
				t.Errorf("got %+v, want %s at %d:%d", last, test.code, test.line, test.column)
			}
		})
	}
}

func TestNotAnEvent(t *testing.T) {
	t.Parallel()
	for _, body := range []string{`[]`, `"text"`, `5`, `null`, `true`} {
		_, err := ParseJSON([]byte(body), Limits{})
		wantProblem(t, err, "", CodeNotObject)
	}
}

func TestDeepestDataPasses(t *testing.T) {
	t.Parallel()
	accept(t, with(`"data":`+strings.Repeat("[", 127)+strings.Repeat("]", 127)))
	_, err := ParseJSON([]byte(with(`"data":[[]]`)), Limits{Depth: 2})
	wantProblem(t, err, "", CodeDepth)
}

// All mistakes of an event come in one answer (CE-57 wants them per index).
func TestAllProblemsAtOnce(t *testing.T) {
	t.Parallel()
	_, err := ParseJSON([]byte("{\n \"id\":5, \"source\":\"a b\",\n \"Ext\":1, \"time\":\"x\", \"a/b~c\":1, \"data\":1, \"data_base64\":2}"), Limits{})
	got := codes(problemsOf(t, err))
	want := []string{
		"Ext attribute-name", "a/b~c attribute-name", "data_base64 data-twice", "id attribute-type", "source uri-reference",
		"specversion attribute-missing", "time time", "type attribute-missing",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	for _, problem := range problemsOf(t, err) {
		if problem.Attribute == "a/b~c" && problem.Pointer != "/a~1b~0c" {
			t.Errorf("pointer is %q", problem.Pointer)
		}
		if problem.Attribute == "source" && (problem.Line != 2 || problem.Column != 19) {
			t.Errorf("source is at %d:%d", problem.Line, problem.Column)
		}
	}
}

func TestProblemsAreBounded(t *testing.T) {
	t.Parallel()
	body := "[" + strings.Repeat(`{"x":"\uD800"},`, 90) + `{}` // 5 mistakes each, and it breaks off
	_, err := ParseBatch([]byte(body), Limits{})
	problems := problemsOf(t, err)
	if len(problems) != maxProblems || problems[maxProblems-1].Code != CodeSyntax {
		t.Errorf("got %d problems, the last %+v", len(problems), problems[len(problems)-1])
	}
}

func TestAttributeCount(t *testing.T) {
	t.Parallel()
	_, err := ParseJSON([]byte(with(`"a":1,"b":2,"c":3,"d":4`)), Limits{Attributes: 4})
	wantProblem(t, err, "", CodeCount)
}

func wantTooLarge(t *testing.T, err error, want TooLarge) {
	t.Helper()
	var tooLarge *TooLarge
	if !errors.Is(err, ErrTooLarge) || !errors.As(err, &tooLarge) || *tooLarge != want {
		t.Errorf("got %v, want %+v", err, want)
	}
}

// Rules: CE-56.
func TestBatch(t *testing.T) {
	t.Parallel()
	for body, count := range map[string]int{
		`[]`: 0, " [ ] \n": 0, `[` + with("") + `]`: 1, "[ " + with("") + " ,\n" + with(`"data":[{}]`) + " ]": 2,
	} {
		events, err := ParseBatch([]byte(body), Limits{})
		if err != nil || len(events) != count {
			t.Errorf("CE-56 %s: %d events, %v", body, len(events), err)
		}
	}
}

// Rules: CE-56, CE-57.
func TestBatchRefused(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, body string
		want       Problem
	}{
		{"CE-56 mixed specversion", "[" + with("") + "," + strings.Replace(with(""), `"1.0"`, `"0.9"`, 1) + "]", Problem{Index: 1, Attribute: "specversion", Pointer: "/1/specversion", Code: CodeSpecVersion}},
		{"CE-56 no object", `["not an object",` + with("") + "]", Problem{Index: 0, Pointer: "/0", Code: CodeNotObject}},
		{"CE-56 no array", with(""), Problem{Index: -1, Code: CodeNotArray}},
		{"CE-56 null", "null", Problem{Index: -1, Code: CodeNotArray}},
		{"CE-57 one bad time", "[" + with("") + "," + with("") + "," + with("") + "," + with(`"time":"x"`) + "]", Problem{Index: 3, Attribute: "time", Pointer: "/3/time", Code: CodeTime}},
		{"CE-57 duplicate names per event only", "[" + with("") + "," + with(`"id":"1"`) + "]", Problem{Index: 1, Attribute: "id", Pointer: "/1/id", Code: CodeDuplicate}},
		{"CE-60 empty body", "", Problem{Index: -1, Code: CodeEmptyBody}},
		{"CE-44 trailing comma", "[" + with("") + ",]", Problem{Index: 1, Pointer: "/1", Code: CodeSyntax}},
		{"CE-44 trailing bytes", "[] []", Problem{Index: -1, Code: CodeSyntax}},
		{"CE-44 breaks off", "[" + with(""), Problem{Index: -1, Code: CodeSyntax}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			events, err := ParseBatch([]byte(test.body), Limits{})
			got := wantProblem(t, err, test.want.Attribute, test.want.Code)
			if got.Index != test.want.Index || got.Pointer != test.want.Pointer || events != nil {
				t.Errorf("got %+v and %d events", got, len(events))
			}
		})
	}
}

func TestBatchCollects(t *testing.T) {
	t.Parallel()
	_, err := ParseBatch([]byte(`[{"specversion":"1.0","id":"1","source":"a"},`+with("")+`,{"specversion":"1.0","source":"a","type":"b.c"}]`), Limits{})
	problems := problemsOf(t, err)
	if len(problems) != 2 || problems[0].Pointer != "/0/type" || problems[1].Pointer != "/2/id" {
		t.Errorf("got %+v", problems)
	}
}

// Rules: CE-56.
func TestBatchLimits(t *testing.T) {
	t.Parallel()
	body := "[" + strings.Repeat(with("")+",", 100) + with("") + "]"
	_, err := ParseBatch([]byte(body), Limits{})
	wantTooLarge(t, err, TooLarge{"batch events", -1, 100, 101})
	if events, err := ParseBatch([]byte(body), Limits{BatchEvents: 101}); err != nil || len(events) != 101 {
		t.Errorf("%d events, %v", len(events), err)
	}
	large := strings.Repeat(" ", 1<<20)
	_, err = ParseBatch([]byte(large+"[]"), Limits{})
	wantTooLarge(t, err, TooLarge{"batch bytes", -1, 1 << 20, 1<<20 + 2})
}
