package event

import (
	"errors"
	"maps"
	"math/rand/v2"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// Rules: CE-23, CE-41, CE-58.
func TestAttributesAreKept(t *testing.T) {
	t.Parallel()
	body := "{ \"type\" : \"nl.caf\\u00e9.x\",\n\"ext\":-5, \"data\" : [1], \"specversion\":\"1.0\",\"subject\":null,\"\\u0069d\":\"\\/\",\"source\":\"a\",\"flag\":true}"
	e := accept(t, body)
	want := `{"type":"nl.caf\u00e9.x","ext":-5,"specversion":"1.0","id":"\/","source":"a","flag":true}`
	if string(e.Attributes) != want {
		t.Errorf("CE-23 got  %s\nwant %s", e.Attributes, want)
	}
	if e.Type != "nl.café.x" || e.ID != "/" || e.Subject != "" {
		t.Errorf("fields are %+v", e)
	}
	if _, ok := e.Extension("subject"); ok {
		t.Error("CE-41 a null attribute is there")
	}
	out := want[:len(want)-1] + `,"datacontenttype":"application/json","data":[1]}`
	if got := string(e.AppendJSON([]byte("x"))); got != "x"+out {
		t.Errorf("CE-58 got %s", got)
	}
	again := accept(t, out)
	if got := string(again.AppendJSON(nil)); got != out {
		t.Errorf("CE-58 the second encoding differs: %s", got)
	}
}

func TestFromParts(t *testing.T) {
	t.Parallel()
	e := accept(t, with(`"subject":"a\u20acb","time":"2026-01-01T00:00:00Z","dataschema":"a:b","datacontenttype":"text/plain","n":1,"b":false,"data":"x"`))
	again, err := FromParts(e.Attributes, e.DataKind, e.Data)
	if err != nil || !reflect.DeepEqual(again, e) {
		t.Errorf("got  %+v, %v\nwant %+v", again, err, e)
	}
	if _, err := FromParts([]byte("{}"), DataNone, nil); err != nil {
		t.Errorf("no attributes: %v", err)
	}
	for _, broken := range []string{"", "[]", "{", `{"a"}`, `{"a":{}}`, `{"a":[]}`, `{"a":null}`, `{"a":1} x`, `{"a":"\ud800"}`, `{"a":`, `{"a":"`} {
		if _, err := FromParts([]byte(broken), DataNone, nil); !errors.Is(err, errAttributes) {
			t.Errorf("%q: %v", broken, err)
		}
	}
}

func TestEncodeOddEvents(t *testing.T) {
	t.Parallel()
	for want, e := range map[string]Event{
		`{}`: {},
		`{"datacontenttype":"application/json","data":1}`:                     {DataKind: DataJSON, Data: []byte("1")},
		`{"datacontenttype":"application/octet-stream","data_base64":"AQ=="}`: {DataKind: DataBinary, Data: []byte{1}},
		`{"datacontenttype":"text/plain","data":"\u0001\b\t\n\f\r\"\\é"}`:     {DataKind: DataText, Data: []byte("\x01\b\t\n\f\r\"\\é")},
	} {
		if got := string(e.AppendJSON(nil)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if got := string(appendBatch(nil, nil)); got != "[]" {
		t.Errorf("an empty batch is %s", got)
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	e, err := New(map[string]string{"type": "nl.a.b", "id": "1", "source": "a", "zz": "\"é", "aa": "x"}, []byte(`{"a":1}`), Limits{})
	want := `{"specversion":"1.0","id":"1","source":"a","type":"nl.a.b","aa":"x","zz":"\"é"}`
	if err != nil || string(e.Attributes) != want || e.DataKind != DataJSON {
		t.Errorf("got %s %s, %v", e.Attributes, e.DataKind, err)
	}
	_, err = New(map[string]string{"type": "nl.a.b", "id": "1", "source": "a", "Zz": "x"}, nil, Limits{})
	wantProblem(t, err, "Zz", CodeName)
	_, err = New(map[string]string{"type": "nl.a.b", "id": "1", "source": "a\xff"}, nil, Limits{})
	wantProblem(t, err, "source", CodeCharacters)
	_, err = New(map[string]string{"type": "nl.a.b", "id": "1", "source": "a", "datacontenttype": "application/json"}, []byte{}, Limits{})
	wantProblem(t, err, "data", CodeDataNotJSON)
	_, err = New(map[string]string{"id": "1"}, make([]byte, MinEventBytes), Limits{})
	wantTooLarge(t, err, TooLarge{"event bytes", -1, MinEventBytes, MinEventBytes + 3})
}

// Rules: CE-30, CE-42, CE-43.
func TestData(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, members string
		kind          DataKind
		data          string
	}{
		{"CE-30 none", ``, DataNone, ""},
		{"CE-30 XML", `"datacontenttype":"application/xml","data":"<a>\u20ac</a>"`, DataText, "<a>€</a>"},
		{"CE-42 base64", `"datacontenttype":"application/octet-stream","data_base64":"TWE="`, DataBinary, "Ma"},
		{"CE-42 base64 with escaped slash", `"datacontenttype":"application/octet-stream","data_base64":"\/\/\/\/"`, DataBinary, "\xFF\xFF\xFF"},
		{"CE-42 null data_base64 is unset", `"data":{"a":1},"data_base64":null`, DataJSON, `{"a":1}`},
		{"CE-42 JSON in base64", `"datacontenttype":"application/json","data_base64":"eyJhIjoxfQ=="`, DataJSON, `{"a":1}`},
		{"CE-42 text in base64", `"datacontenttype":"text/plain","data_base64":"TWE="`, DataText, "Ma"},
		{"CE-42 Latin-1 text in base64", `"datacontenttype":"text/plain; charset=iso-8859-1","data_base64":"6Q=="`, DataBinary, "\xE9"},
		{"CE-42 bytes of no known type", `"data_base64":"TWE="`, DataBinary, "Ma"},
		{"CE-42 no bytes", `"datacontenttype":"image/png","data_base64":""`, DataBinary, ""},
		{"CE-43 null value", `"data":null`, DataJSON, "null"},
		{"CE-43 number", `"data":1.50e+400`, DataJSON, "1.50e+400"},
		{"CE-43 string is JSON", `"data":"te\u0078t"`, DataJSON, `"te\u0078t"`},
		{"CE-43 text/json", `"datacontenttype":"text/json","data":[1 , 2]`, DataJSON, "[1 , 2]"},
		{"CE-43 suffix", `"datacontenttype":"application/vnd.x+JSON; v=1","data":{}`, DataJSON, "{}"},
		{"CE-43 text after data", `"data":"a\nb","datacontenttype":"text/plain"`, DataText, "a\nb"},
		{"CE-43 empty text", `"datacontenttype":"text/plain","data":""`, DataText, ""},
		{"CE-43 exact bytes", `"data":{"a":123456789012345678901234567890.10,"a": "\/\ud800" , "b" :[ ] }`, DataJSON, `{"a":123456789012345678901234567890.10,"a": "\/\ud800" , "b" :[ ] }`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			e := accept(t, with(test.members))
			if e.DataKind != test.kind || string(e.Data) != test.data {
				t.Errorf("got %s %q, want %s %q", e.DataKind, e.Data, test.kind, test.data)
			}
			again := accept(t, string(e.AppendJSON(nil)))
			if again.DataKind != test.kind || string(again.Data) != test.data {
				t.Errorf("after a round trip: %s %q", again.DataKind, again.Data)
			}
		})
	}
}

// Rules: CE-31, CE-32.
func TestSize(t *testing.T) {
	t.Parallel()
	filled := func(size int) string {
		frame := len(with(`"data":""`))
		return with(`"data":"` + strings.Repeat("x", size-frame) + `"`)
	}
	t.Run("CE-31 exactly 64 KiB passes and goes on no larger", func(t *testing.T) {
		t.Parallel()
		e := accept(t, filled(MinEventBytes))
		out := e.AppendJSON(nil)
		if len(out) != MinEventBytes {
			t.Errorf("%d bytes go on", len(out))
		}
		accept(t, string(out))
	})
	t.Run("CE-32 one byte more", func(t *testing.T) {
		t.Parallel()
		_, err := ParseJSON([]byte(filled(MinEventBytes+1)), Limits{EventBytes: 10})
		wantTooLarge(t, err, TooLarge{"event bytes", -1, MinEventBytes, MinEventBytes + 1})
	})
	t.Run("CE-32 raised", func(t *testing.T) {
		t.Parallel()
		if _, err := ParseJSON([]byte(filled(MinEventBytes+1)), Limits{EventBytes: 1 << 20}); err != nil {
			t.Error(err)
		}
	})
	t.Run("CE-31 in a batch", func(t *testing.T) {
		t.Parallel()
		body := "[" + filled(MinEventBytes) + "," + filled(MinEventBytes) + "]"
		if _, err := ParseBatch([]byte(body), Limits{}); err != nil {
			t.Error(err)
		}
		body = "[" + filled(MinEventBytes) + "," + filled(MinEventBytes+1) + "]"
		_, err := ParseBatch([]byte(body), Limits{})
		wantTooLarge(t, err, TooLarge{"event bytes", 1, MinEventBytes, MinEventBytes + 1})
	})
	t.Run("CE-31 in binary mode with its headers", func(t *testing.T) {
		t.Parallel()
		header := ceHeader("Content-Type", "text/plain")
		room := MinEventBytes - attributeBytes(header)
		if _, err := ParseBinary(header, []byte(strings.Repeat("x", room)), Limits{}); err != nil {
			t.Error(err)
		}
		_, err := ParseBinary(header, []byte(strings.Repeat("x", room+1)), Limits{})
		wantTooLarge(t, err, TooLarge{"event bytes", -1, MinEventBytes, MinEventBytes + 1})
	})
}

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

// Rules: CE-08, CE-09, CE-12, CE-13, EDU-26.
func TestAdvice(t *testing.T) {
	t.Parallel()
	const oin = "urn:nld:oin:00000001823288444000:systeem:BRP"
	for _, test := range []struct {
		name   string
		policy Policy
		add    map[string]string
		want   []string
	}{
		{"nothing to say", Policy{Source: SourceOIN}, nil, nil},
		{"CE-02 21 characters", Policy{}, map[string]string{"abcdefghijklmnopqrstu": "x"}, []string{"abcdefghijklmnopqrstu attribute-name-length"}},
		{"CE-08 other URN", Policy{}, map[string]string{"source": "urn:isbn:1"}, []string{"source source-not-urn-nld"}},
		{"CE-08 any", Policy{Source: SourceAny}, map[string]string{"source": "#a"}, nil},
		{"CE-08 KvK number", Policy{}, map[string]string{"source": "urn:nld:kvknr:09220932.burgerzaken"}, nil},
		{"CE-08 KvK number where an OIN is wanted", Policy{Source: SourceOIN}, map[string]string{"source": "urn:nld:kvknr:09220932.burgerzaken"}, []string{"source source-oin"}},
		{"CE-08 OIN of 11 digits", Policy{}, map[string]string{"source": "urn:nld:oin:00000001823:systeem:A"}, []string{"source source-oin"}},
		{"CE-09 web address", Policy{Source: SourceAny}, map[string]string{"source": "HTTPS://example.nl/1"}, []string{"source source-location"}},
		{"CE-12 one word", Policy{}, map[string]string{"type": "verhuisd"}, []string{"type type-not-reverse-dns"}},
		{"CE-12 empty label", Policy{}, map[string]string{"type": "nl..brp"}, []string{"type type-not-reverse-dns"}},
		{"CE-12 space", Policy{}, map[string]string{"type": "nl.brp verhuisd"}, []string{"type type-not-reverse-dns"}},
		{"CE-12 any", Policy{AnyType: true}, map[string]string{"type": "verhuisd.v1.2"}, nil},
		{"CE-13 one version", Policy{}, map[string]string{"type": "nl.brp.persoon-verhuisd.v12"}, nil},
		{"CE-13 two versions", Policy{}, map[string]string{"type": "nl.brp.v1.verhuisd.v2"}, []string{"type type-version"}},
		{"CE-13 v1.2", Policy{}, map[string]string{"type": "nl.brp.verhuisd.v1.2"}, []string{"type type-version"}},
		{"CE-13 no prefix", Policy{}, map[string]string{"type": "nl.brp.verhuisd.2"}, []string{"type type-version"}},
		{"CE-18 fragment", Policy{}, map[string]string{"dataschema": "https://example.nl/a#b"}, []string{"dataschema dataschema-fragment"}},
		{"CE-22 sequence", Policy{}, map[string]string{"sequence": "one", "sequencetype": "integer"}, []string{"sequence sequence-not-integer"}},
		{"CE-22 sequence of its own kind", Policy{}, map[string]string{"sequence": "one"}, nil},
		{"CE-24 expirytime", Policy{}, map[string]string{"expirytime": "soon"}, []string{"expirytime extension-time"}},
		{"EDU-26 BSN", Policy{}, map[string]string{"subject": "leerling/123456782"}, []string{"subject sensitive-bsn"}},
		{"EDU-26 nine digits that fail the test of eleven", Policy{}, map[string]string{"subject": "123456789"}, nil},
		{"EDU-26 part of a longer word", Policy{}, map[string]string{"subject": "1123456782 a123456782"}, nil},
		{"EDU-26 e-mail", Policy{}, map[string]string{"subject": "voor jan.jansen@school.example.nl."}, []string{"subject sensitive-email"}},
		{"EDU-26 e-mail in a source", Policy{}, map[string]string{"source": oin + ":jan%40school.nl"}, []string{"source sensitive-email"}},
		{"EDU-26 no e-mail", Policy{}, map[string]string{"subject": "@school.nl a@b c@1.2 d@"}, nil},
		{"EDU-26 allowed", Policy{AllowPrivate: true}, map[string]string{"subject": "123456782 a@b.nl"}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			attributes := map[string]string{"id": "1", "source": oin, "type": "nl.brp.persoon-verhuisd"}
			for name, value := range test.add {
				attributes[name] = value
			}
			e, err := New(attributes, nil, Limits{})
			if err != nil {
				t.Fatal(err)
			}
			problems := e.Advice(test.policy)
			if got := codes(problems); !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
			for _, problem := range problems {
				if strings.Contains(problem.Detail.String(), "123456782") || strings.Contains(problem.Detail.String(), "jansen") {
					t.Error("advice repeats a value")
				}
			}
		})
	}
}

// with returns a minimal event in JSON with more members behind it.
func with(members string) string {
	if members != "" {
		members = "," + members
	}
	return `{"specversion":"1.0","id":"1","source":"urn:nld:oin:00000001823288444000:systeem:BRP","type":"nl.brp.persoon-verhuisd"` + members + `}`
}

// ceHeader returns the headers of a minimal binary event and more pairs.
func ceHeader(pairs ...string) http.Header {
	header := http.Header{}
	for _, pair := range [][2]string{
		{"Ce-Specversion", "1.0"},
		{"Ce-Id", "1"},
		{"Ce-Source", "urn:nld:oin:00000001823288444000:systeem:BRP"},
		{"Ce-Type", "nl.brp.persoon-verhuisd"},
	} {
		header.Set(pair[0], pair[1])
	}
	for i := 0; i < len(pairs); i += 2 {
		header.Set(pairs[i], pairs[i+1])
	}
	return header
}

func accept(t *testing.T, body string) Event {
	t.Helper()
	e, err := ParseJSON([]byte(body), Limits{})
	if err != nil {
		t.Fatalf("ParseJSON(%q): %v", body, err)
	}
	return e
}

// problemsOf returns the problems of err and fails when it is no *Invalid.
func problemsOf(t *testing.T, err error) []Problem {
	t.Helper()
	var invalid *Invalid
	if !errors.As(err, &invalid) {
		t.Fatalf("got error %v, want *Invalid", err)
	}
	if len(invalid.Problems) == 0 {
		t.Fatal("an Invalid without problems")
	}
	return invalid.Problems
}

// wantProblem checks for exactly one problem, about this attribute and of this code.
func wantProblem(t *testing.T, err error, attribute, code string) Problem {
	t.Helper()
	problems := problemsOf(t, err)
	if len(problems) != 1 || problems[0].Attribute != attribute || problems[0].Code != code {
		t.Fatalf("got %+v, want one problem %s of %q", problems, code, attribute)
	}
	if problems[0].Detail == "" {
		t.Error("a problem without a remedy")
	}
	return problems[0]
}

func codes(problems []Problem) []string {
	list := make([]string, 0, len(problems))
	for _, problem := range problems {
		list = append(list, problem.Attribute+" "+problem.Code)
	}
	slices.Sort(list)
	return list
}
