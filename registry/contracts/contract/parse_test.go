package contract

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"schakel/store/needs"
)

// yamlHead and jsonHead start documents that are valid but for what a test adds.
const (
	yamlHead = "openapi: 3.1.0\ninfo: {title: T, version: '1'}\npaths: {}\n"
	jsonHead = `{"openapi":"3.1.0","info":{"title":"T","version":"1"},"paths":{}`
)

func parse(t *testing.T, content string) (*Document, []Finding) {
	t.Helper()
	d, findings, err := Parse([]byte(content), Limits{})
	if err != nil {
		t.Fatalf("parse: %v", err)
	}
	if (d == nil) != HasErrors(findings) {
		t.Fatalf("document %v with findings %v", d != nil, findings)
	}
	return d, findings
}

func TestParseRecognises(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		content, version, format string
		kind                     Kind
	}{
		{"openapi: 3.0.4\ninfo: {title: T, version: V, description: D}\npaths: {}", "3.0.4", FormatYAML, OpenAPI},
		{`{"openapi":"3.1.2","info":{"title":"T","version":"V","description":"D"}}`, "3.1.2", FormatJSON, OpenAPI},
		{"\ufeff{\"openapi\":\"3.2.0\",\"info\":{\"title\":\"T\",\"version\":\"V\",\"description\":\"D\"}}", "3.2.0", FormatJSON, OpenAPI},
		{"---\n\"asyncapi\": 2.6.0\ninfo:\n  title: T\n  version: V\n  description: D", "2.6.0", FormatYAML, AsyncAPI},
		{"asyncapi: '3.0.0'\ninfo: {title: T, version: V, description: D}", "3.0.0", FormatYAML, AsyncAPI},
		{"\ufeffasyncapi: 3.1.0\ninfo: {title: T, version: V, description: D}", "3.1.0", FormatYAML, AsyncAPI},
	} {
		d, findings := parse(t, tt.content)
		if d == nil {
			t.Errorf("%s refused: %v", tt.version, findings)
			continue
		}
		if d.Kind != tt.kind || d.SpecVersion != tt.version || d.Format != tt.format || d.Title != "T" || d.Version != "V" || d.Description != "D" {
			t.Errorf("%s: got %s %s %s %q %q %q", tt.version, d.Kind, d.SpecVersion, d.Format, d.Title, d.Version, d.Description)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, content, code, pointer string
		line, column                 int
	}{
		{"empty", " \n", "document-empty", "", 1, 1},
		{"not UTF-8", "openapi: 3.1.0\nx: \xff", "invalid-utf8", "", 2, 4},
		{"no contract", "a: 1", "not-a-contract", "", 1, 1},
		{"a list", "[]", "not-a-contract", "", 1, 1},
		{"swagger", "swagger: '2.0'", "unsupported-version", "/swagger", 1, 1},
		{"openapi 4", `{"openapi":"4.0.0"}`, "unsupported-version", "/openapi", 1, 2},
		{"openapi without patch", "info: {}\nopenapi: '3.1'", "unsupported-version", "/openapi", 2, 1},
		{"openapi as a number", "openapi: 3.1", "unsupported-version", "/openapi", 1, 1},
		{"openapi 3.1.x", "openapi: 3.1.x", "unsupported-version", "/openapi", 1, 1},
		{"asyncapi 2.5", "asyncapi: 2.5.0", "unsupported-version", "/asyncapi", 1, 1},
		{"asyncapi 3.1.1", "asyncapi: 3.1.1", "unsupported-version", "/asyncapi", 1, 1},

		{"duplicate in JSON", "{\"a\":{\n \"é\":1, \"b\":2,\"b\":3}}", "duplicate-key", "/a/b", 2, 15},
		{"duplicate by escape", `{"ab":1,"\u0061b":2}`, "duplicate-key", "/ab", 1, 9},
		{"comma after the last", "{\"a\":[1,\n2,]}", "json-syntax", "/a/2", 2, 3},
		{"text after the end", "{}\n{}", "json-syntax", "", 2, 1},
		{"open", `{"a":`, "json-syntax", "/a", 1, 6},
		{"open text", `{"a":"b`, "json-syntax", "/a", 1, 8},
		{"leading zero", `{"a":01}`, "json-syntax", "/a", 1, 6},
		{"control character", "{\"a\":\"b\nc\"}", "json-syntax", "/a", 1, 8},
		{"lone surrogate", `{"a":"x\ud800"}`, "json-syntax", "/a", 1, 8},
		{"unknown escape", `{"a":"\x"}`, "json-syntax", "/a", 1, 7},
		{"name without quotes", `{a:1}`, "json-syntax", "", 1, 2},
		{"huge exponent", `{"a":1e1000}`, "number-out-of-range", "/a", 1, 6},

		{"duplicate in YAML", yamlHead + "x-a:\n  b: 1\n  b: 2", "duplicate-key", "/x-a/b", 6, 3},
		{"duplicate as number and text", yamlHead + "x-a:\n  200: 1\n  '200': 2", "duplicate-key", "/x-a/200", 6, 3},
		{"two documents", yamlHead + "---\na: 1", "yaml-syntax", "", 1, 1},
		{"bad indentation", "a:\n  b: 1\n c: 2", "yaml-syntax", "", 3, 2},
		{"alias to itself", yamlHead + "x-a: &a\n  b: [*a]", "alias-cycle", "/x-a/b/0", 5, 7},
		{"unknown alias", "x: *nowhere", "yaml-syntax", "", 1, 4},
		{"merge key", "x: &a {b: 1}\ny:\n  <<: *a", "yaml-merge-key", "/y", 3, 3},
		{"foreign tag", "x: !!binary aGk=", "yaml-tag", "/x", 1, 4},
		{"tag that does not fit", "x: !!int a", "yaml-tag", "/x", 1, 4},
		{"tagged list", "x: !!set [a]", "yaml-tag", "/x", 1, 4},
		{"list as name", "x:\n  ? [a]\n  : b", "yaml-key", "/x", 2, 5},
		{"infinity", "x: -.inf", "number-out-of-range", "/x", 1, 4},
	} {
		d, findings := parse(t, tt.content)
		if d != nil || len(findings) != 1 {
			t.Errorf("%s: accepted, or findings %v", tt.name, findings)
			continue
		}
		f := findings[0]
		if f.Code != tt.code || f.Pointer != tt.pointer || f.Line != tt.line || f.Column != tt.column {
			t.Errorf("%s: got %s %q %d:%d (%s), want %s %q %d:%d", tt.name, f.Code, f.Pointer, f.Line, f.Column, f.Detail, tt.code, tt.pointer, tt.line, tt.column)
		}
		if f.Detail == "" || f.Remedy == "" || f.Severity != SeverityError {
			t.Errorf("%s: incomplete finding %+v", tt.name, f)
		}
	}
}

func TestParseNil(t *testing.T) {
	t.Parallel()
	if _, _, err := Parse(nil, Limits{}); err == nil {
		t.Error("no content is a fault of the program")
	}
}

func TestParseLimits(t *testing.T) {
	t.Parallel()
	deep := func(n int, open, closing string) string {
		return strings.Repeat(open, n) + "1" + strings.Repeat(closing, n)
	}
	for _, tt := range []struct {
		name, content, code string
		limits              Limits
	}{
		{"bytes", jsonHead + "}", "document-too-large", Limits{Bytes: 20}},
		{"nodes in JSON", jsonHead + `,"x-a":[1,2,3]}`, "document-too-many-nodes", Limits{Nodes: 12}},
		{"nodes in YAML", yamlHead + "x-a: [1,2,3]", "document-too-many-nodes", Limits{Nodes: 15}},
		{"depth in JSON", deep(6, `{"a":`, "}"), "document-too-deep", Limits{Depth: 5}},
		{"depth in YAML", "a: " + deep(6, "[", "]"), "document-too-deep", Limits{Depth: 5}},
		{"depth by alias", "a: &a [[[1]]]\nb: [[*a]]", "document-too-deep", Limits{Depth: 5}},
		{"aliases", "a: &a 1\nb: [*a, *a, *a]", "document-too-many-aliases", Limits{Aliases: 2}},
		{"path", `{"` + strings.Repeat("a", maxPath+1) + `":1}`, "document-path-too-long", Limits{}},
		{"path by alias", "a: &a {" + strings.Repeat("a", 900) + ": 1}\nb: {" + strings.Repeat(strings.Repeat("b", 900)+": {", 8) + strings.Repeat("b", 900) + ": *a" + strings.Repeat("}", 9), "document-path-too-long", Limits{}},
	} {
		d, findings, err := Parse([]byte(tt.content), tt.limits)
		if err != nil || d != nil || len(findings) != 1 || findings[0].Code != tt.code {
			t.Errorf("%s: got %v, want %s", tt.name, findings, tt.code)
		}
	}
}

func TestLocateJSON(t *testing.T) {
	t.Parallel()
	const text = "{\n  \"é\": {\"a\": [1,\n 2]},\n  \"b\": 3}"
	for pointer, want := range map[string][2]int{
		"": {1, 1}, "/é": {2, 3}, "/é/a/1": {3, 2}, "/b": {4, 3}, "/b/c": {4, 3}, "/none": {1, 1},
	} {
		if line, column := LocateJSON([]byte(text), pointer); line != want[0] || column != want[1] {
			t.Errorf("%s is at %d:%d, want %v", pointer, line, column, want)
		}
	}
}

func TestYAMLValues(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"null": "null", "~": "null", "": "null", "Null": "null", "true": "true", "FALSE": "false",
		"yes": `"yes"`, "No": `"No"`, "on": `"on"`, "'true'": `"true"`, `"1"`: `"1"`,
		"1": "1", "-12": "-12", "+5": "5", "007": "7", "0o17": "15", "0x1F": "31", "1_000": `"1_000"`, "0b1": `"0b1"`,
		"1.50": "1.50", "1.": "1.0", ".5": "0.5", "-.5e3": "-0.5e3", "01.5": "1.5", "1e3": "1e3", "+1.0": "1.0", "0x": `"0x"`,
		"12345678901234567890": "12345678901234567890", "-": "[null]", "1.2.3": `"1.2.3"`, "1:30": `"1:30"`,
		"2020-01-01": `"2020-01-01"`, "2020-01-01T00:00:00Z": `"2020-01-01T00:00:00Z"`,
		"!!str 1": `"1"`, "!!float 1": "1", "!!int 0x10": "16", "!!null null": "null",
		"|\n  a\n  b": `"a\nb"`, "{1: a, true: b, null: c}": `{"1":"a","null":"c","true":"b"}`, "&a [1]": "[1]",
	} {
		root, _, p := readYAML([]byte("a: "+source), Limits{}.withDefaults())
		if source == "-" {
			root, _, p = readYAML([]byte("a:\n- "), Limits{}.withDefaults())
		}
		if p != nil {
			t.Errorf("%q refused: %s", source, p.detail)
			continue
		}
		got, err := json.Marshal(root.(map[string]any)["a"])
		if err != nil || string(got) != want {
			t.Errorf("%q: got %s (%v), want %s", source, got, err, want)
		}
	}
}

func TestYAMLSharesAliases(t *testing.T) {
	t.Parallel()
	root, _, p := readYAML([]byte("k: &k name\nv: &v {a: [1]}\nuse: {*k : *v, again: *v}"), Limits{}.withDefaults())
	if p != nil {
		t.Fatal(p.detail)
	}
	got, _ := json.Marshal(root.(map[string]any)["use"])
	if want := `{"again":{"a":[1]},"name":{"a":[1]}}`; string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestJSONValuesEqualThoseOfTheStandardLibrary(t *testing.T) {
	t.Parallel()
	source := `{"a":[1,-0.5e+3,1E2,true,false,null,"",{}, [ ]],"\ud83d\ude00\u00e9":"\"\\\/\b\f\n\r\t\u0000é😀","b":{"b":{}}}`
	got, p := readJSON([]byte(source), Limits{}.withDefaults())
	if p != nil {
		t.Fatal(p.detail)
	}
	var want any
	decoder := json.NewDecoder(strings.NewReader(source))
	decoder.UseNumber()
	must(t, decoder.Decode(&want))
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestPlace(t *testing.T) {
	t.Parallel()
	json := "{\n  \"é/~\": {\"\\u0061\": [1,\n {\"x\": \"}\\\"\", \"b\": null}]},\n\t\"z\": 1}"
	yaml := "é/~: \n  a:\n  - 1\n  - {x: '}\"', b: &b }\nz: 1\nalias: &s {k: v}\nuse: *s"
	for _, tt := range []struct {
		content, pointer string
		line, column     int
	}{
		{json, "", 1, 1},
		{json, "/é~1~0", 2, 3},
		{json, "/é~1~0/a", 2, 11},
		{json, "/é~1~0/a/0", 2, 22},
		{json, "/é~1~0/a/1/b", 3, 15},
		{json, "/é~1~0/a/1/missing", 3, 2},
		{json, "/z", 4, 2},
		{yaml, "", 1, 1},
		{yaml, "/é~1~0/a", 2, 3},
		{yaml, "/é~1~0/a/1/b", 4, 15},
		{yaml, "/é~1~0/a/1/missing/more", 4, 5},
		{yaml, "/z", 5, 1},
		{yaml, "/use/k", 6, 12},
	} {
		d := &Document{content: []byte(tt.content), limits: Limits{}.withDefaults()}
		if p := d.read(); p != nil {
			t.Fatal(p.detail)
		}
		if line, column := d.Locate(tt.pointer); line != tt.line || column != tt.column {
			t.Errorf("%s %q: got %d:%d, want %d:%d", d.Format, tt.pointer, line, column, tt.line, tt.column)
		}
	}
}

func small() Limits { return Limits{Bytes: 1 << 16, Nodes: 5000, Depth: 60, Aliases: 100} }

// exercise does with a document all that can be done with it.
func exercise(t *testing.T, content []byte) {
	d, findings, err := Parse(content, small())
	if err != nil || (d == nil) != HasErrors(findings) {
		t.Fatalf("document %v, findings %v, error %v", d != nil, findings, err)
	}
	if d != nil {
		findings = append(findings, d.Validate()...)
		for _, e := range d.EventTypes() {
			if e.Type == "" || e.Schema != nil && !json.Valid(e.Schema) || e.Example != nil && !json.Valid(e.Example) {
				t.Errorf("event type %+v", e)
			}
		}
	}
	lines := 1 + bytes.Count(content, []byte("\n")) + bytes.Count(content, []byte("\r")) + bytes.Count(content, []byte("\u0085")) +
		bytes.Count(content, []byte("\u2028")) + bytes.Count(content, []byte("\u2029"))
	for _, f := range findings {
		if f.Code == "" || f.Detail == "" || f.Remedy == "" || f.Line > lines || f.Line < 1 && f.Code != "findings-cut" {
			t.Errorf("finding %+v", f)
		}
	}
}

func FuzzParseJSON(f *testing.F) {
	f.Add([]byte(jsonHead + "}"))
	f.Add([]byte(`{"asyncapi":"3.1.0","info":{"title":"T","version":"1"},"components":{"messages":{"m":{"name":"nl.x.a","payload":{"$ref":"#/components/schemas/s"}}},"schemas":{"s":{"type":"object"}}}}`))
	f.Add([]byte(`{"a":[1.5e3,-0,"\ud83d\ude00",{"b":null}]}`))
	f.Add([]byte(`{"asyncapi":"2.6.0","info":{"title":"T","version":"1"},"channels":{"a/{b}":{"publish":{"message":{"oneOf":[{"payload":5}]}}}}}`))
	addSamples(f, "*.json")
	f.Fuzz(func(t *testing.T, content []byte) {
		exercise(t, content)
		if !utf8.Valid(content) {
			return
		}
		got, p := readJSON(content, small().withDefaults())
		if p != nil {
			return
		}
		var want any
		decoder := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(content, []byte("\ufeff"))))
		decoder.UseNumber()
		if err := decoder.Decode(&want); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %v, want %v (%v)", got, want, err)
		}
	})
}

func FuzzParseYAML(f *testing.F) {
	f.Add([]byte(yamlHead))
	f.Add([]byte(asyncapi("3.1.0", async3)))
	f.Add([]byte(asyncapi("2.6.0", async2)))
	f.Add([]byte("a: &a [1, *a]\n? b\n: !!str 5\n<<: *a\n"))
	addSamples(f, "*.yaml")
	f.Fuzz(func(t *testing.T, content []byte) { exercise(t, content) })
}

// addSamples gives the fuzzer the small ones of the real documents, where they are at hand.
func addSamples(f *testing.F, pattern string) {
	if !needs.Has() {
		return // the seeds that are made here remain
	}
	files, _ := filepath.Glob(filepath.Join(needs.Shared(f, "contracts"), "*", pattern))
	for _, file := range files {
		if content, err := os.ReadFile(file); err == nil && len(content) < 8<<10 {
			f.Add(content)
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
