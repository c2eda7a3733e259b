package bundle

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"schakel/registry/contracts/contract"
	"schakel/store/needs"
)

// served answers paths with bodies; a body that starts with "→" redirects, one with three digits and a space is a status.
func served(t *testing.T, files map[string]string) (base string, cfg Config, asked map[string]int) {
	t.Helper()
	asked = map[string]int{}
	var server *httptest.Server
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, ok := files[r.URL.Path]
		to, redirect := strings.CutPrefix(body, "→")
		switch {
		case !ok:
			http.NotFound(w, r)
		case redirect:
			http.Redirect(w, r, to, http.StatusFound)
		case strings.HasPrefix(body, "<html"):
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			fmt.Fprint(w, body)
		default:
			w.Header().Set("Content-Type", "text/plain")
			fmt.Fprint(w, strings.ReplaceAll(body, "BASE", server.URL))
		}
	}))
	t.Cleanup(server.Close)
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	now := time.Date(2026, 11, 22, 15, 0, 0, 0, time.UTC)
	return server.URL, Config{HTTP: counting{client, asked}, Now: func() time.Time { return now }, Parallel: 1}, asked
}

type counting struct {
	next  Doer
	asked map[string]int
}

func (c counting) Do(r *http.Request) (*http.Response, error) {
	c.asked[r.URL.Path]++
	return c.next.Do(r)
}

func bundled(t *testing.T, cfg Config, in Source) (Result, *contract.Upload) {
	t.Helper()
	made, findings, err := Make(t.Context(), cfg, in)
	if err != nil || len(findings) > 0 {
		t.Fatalf("%v %v", findings, err)
	}
	u, findings, err := contract.ReadUpload(made.Zip, "", contract.Limits{})
	if err != nil || u == nil {
		t.Fatalf("%v %v", findings, err)
	}
	for _, f := range u.Validate() {
		if f.Severity == contract.SeverityError {
			t.Errorf("%s %s:%d %s", f.Code, f.File, f.FileLine, f.Detail)
		}
	}
	return made, u
}

const openAPI = `openapi: 3.1.0
info: {title: Schools, version: 1.0.0, description: d}
servers: [{url: https://schools.example/v1}]
paths:
  /schools:
    get:
      responses:
        '200':
          description: d
          content:
            application/json:
              schema: {$ref: 'BASE/v1/school.yaml'}
            application/problem+json:
              schema: {$ref: 'BASE/v1/shared.json#/$defs/problem'}
            application/xml:
              schema: {$ref: 'BASE/v1/shared.json#named'}
`

// A document that refers to addresses becomes one that holds all of it: relative references in what was fetched, those by
// $id and $anchor, references in a circle, and files of JSON and YAML that refer to each other.
//
// Rules: EDU-21
func TestMake(t *testing.T) {
	t.Parallel()
	base, cfg, asked := served(t, map[string]string{
		"/v1/school.yaml":       "type: object\nproperties:\n  town: {$ref: parts/town.json}\n  parent: {$ref: '#'}\n  staff: {$ref: '../v2/staff'}\n",
		"/v1/parts/town.json":   `{"type": "object", "properties": {"school": {"$ref": "../school.yaml"}, "code": {"$ref": "#/$defs/code"}}, "$defs": {"code": {"type": "string", "maxLength": 7}}}`,
		"/v2/staff":             "→/v3/people/staff.json",
		"/v3/people/staff.json": `{"$id": "https://ids.example/staff", "type": "array", "items": {"$ref": "person"}, "$defs": {"p": {"$id": "person", "type": "object", "properties": {"address": {"$ref": "#/$defs/address"}, "boss": {"$ref": "#boss"}}, "$defs": {"address": {"type": "string", "minLength": 3}, "b": {"$anchor": "boss", "type": "integer"}}}}}`,
		"/v1/shared.json":       `{"$defs": {"problem": {"type": "object", "required": ["title"]}, "other": {"$anchor": "named", "type": "boolean"}}}`,
	})
	document := []byte(strings.ReplaceAll(openAPI, "BASE", base))
	made, u := bundled(t, cfg, Source{Content: document, Name: "schools.yaml"})
	if len(made.Fetched) != 4 {
		t.Errorf("fetched %v", made.Fetched)
	}
	for path, n := range asked {
		if n != 1 {
			t.Errorf("%s was asked %d times", path, n)
		}
	}
	for _, text := range []string{`"maxLength": 7`, `"minLength": 3`, `"type": "integer"`, `"title"`, `"type": "boolean"`} {
		if !bytes.Contains(u.Content, []byte(text)) {
			t.Errorf("%s is not in %s", text, u.Content)
		}
	}
	if bytes.Contains(u.Content, []byte(base)) {
		t.Errorf("the document refers to addresses still: %s", u.Content)
	}
	pinned := map[string]contract.File{}
	for _, f := range u.Files {
		pinned[f.URL] = f
	}
	if f := pinned[base+"/v2/staff"]; f.FetchedAt != "2026-11-22T15:00:00Z" || !strings.HasPrefix(f.Digest, "sha256:") || !f.Used {
		t.Errorf("pinned %+v", f)
	}
	// What is pinned stays: bundling again fetches nothing and gives the same bytes.
	again, findings, err := Make(t.Context(), Config{HTTP: nobody{}}, Source{Content: made.Zip})
	if err != nil || findings != nil || !bytes.Equal(again.Zip, made.Zip) || len(again.Fetched) != 0 {
		t.Errorf("again: %v %v, %d fetched", findings, err, len(again.Fetched))
	}
}

type nobody struct{}

func (nobody) Do(r *http.Request) (*http.Response, error) { panic("asked for " + r.URL.String()) }

// Avro schemas refer to each other by address, also in a circle and more than once: a named type is put in once and then
// named, as Avro wants.
//
// Rules: EDU-21
func TestMakeAvro(t *testing.T) {
	t.Parallel()
	base, cfg, _ := served(t, map[string]string{
		"/order.avsc": `{"type": "record", "namespace": "nl.example", "name": "Order", "fields": [{"name": "line", "type": {"$ref": "line.avsc"}}, {"name": "last", "type": {"$ref": "line.avsc"}}]}`,
		"/line.avsc":  `{"type": "record", "namespace": "nl.example", "name": "Line", "fields": [{"name": "of", "type": ["null", {"$ref": "BASE/order.avsc"}]}]}`,
		"/json.yaml":  "type: object\nproperties: {next: {$ref: '#'}}\n",
	})
	document := "asyncapi: 3.0.0\ninfo: {title: Orders, version: 1.0.0}\nchannels:\n  c:\n    address: a\n    messages:\n" +
		"      avro: {payload: {schemaFormat: 'application/vnd.apache.avro;version=1.9.0', schema: {$ref: '" + base + "/order.avsc'}}}\n" +
		"      json: {payload: {$ref: '" + base + "/json.yaml'}}\n" +
		"operations: {o: {action: send, channel: {$ref: '#/channels/c'}}}\n"
	_, u := bundled(t, cfg, Source{Content: []byte(document)})
	content := string(u.Content)
	if strings.Count(content, `"name": "Line"`) != 1 || strings.Count(content, `"name": "Order"`) != 1 {
		t.Errorf("a type is defined twice: %s", content)
	}
	if !strings.Contains(content, `"type": "nl.example.Line"`) || !strings.Contains(content, `"nl.example.Order"`) {
		t.Errorf("a type is not named: %s", content)
	}
}

// What cannot be fetched is said with the place of the reference and what to do.
//
// Rules: EDU-21
func TestMakeRefuses(t *testing.T) {
	t.Parallel()
	base, cfg, _ := served(t, map[string]string{
		"/page": "<html></html>", "/loop": "→/loop", "/ftp": "→ftp://example.nl/x", "/broken.json": "{\n", "/ok.yaml": "{}",
		"/deep/1": "items: {$ref: '2'}", "/deep/2": "items: {$ref: '3'}", "/deep/3": "items: {$ref: '4'}",
		"/large": "d: " + strings.Repeat("x", 500), "/to-missing": "items: {$ref: missing}",
	})
	for path, want := range map[string]struct{ code, file, detail string }{
		"/missing":     {"fetch-failed", "openapi.yaml", "answers 404"},
		"/page":        {"fetch-media-type", "openapi.yaml", "no document"},
		"/loop":        {"fetch-redirects", "openapi.yaml", "more than 2 times"},
		"/ftp":         {"fetch-redirects", "openapi.yaml", "not https"},
		"/broken.json": {"json-syntax", "references/", ""},
		"/deep/1":      {"fetch-too-deep", "references/", "more than 2 addresses deep"},
		"/large":       {"fetch-too-large", "openapi.yaml", "more than 600 bytes"},
		"/to-missing":  {"fetch-failed", "references/", "answers 404"},
	} {
		cfg := cfg
		cfg.MaxDepth, cfg.MaxRedirects, cfg.MaxBytes = 2, 2, 600
		document := "openapi: 3.1.0\ninfo: {title: Schools, version: 1.0.0}\ncomponents:\n  schemas:\n    a: {$ref: '" + base + path + "'}\n"
		_, findings, err := Make(t.Context(), cfg, Source{Content: []byte(document)})
		if err != nil || len(findings) != 1 {
			t.Errorf("%s: %v %v", path, findings, err)
			continue
		}
		f := findings[0]
		if f.Code != want.code || !strings.HasPrefix(f.File, want.file) || f.FileLine == 0 || !strings.Contains(f.Detail.String(), want.detail) || f.Remedy == "" {
			t.Errorf("%s: %+v", path, f)
		}
	}
	many := cfg
	many.MaxFiles = 1
	document := "openapi: 3.1.0\ninfo: {title: Schools, version: 1.0.0}\ncomponents: {schemas: {a: {$ref: '" + base + "/ok.yaml'}, b: {$ref: '" + base + "/large'}}}\n"
	if _, findings, err := Make(t.Context(), many, Source{Content: []byte(document)}); err != nil || len(findings) != 1 || findings[0].Code != "fetch-too-many" {
		t.Errorf("too many: %v %v", findings, err)
	}
	ended, stop := context.WithCancel(t.Context())
	stop()
	if _, findings, _ := Make(ended, cfg, Source{Content: []byte(document)}); len(findings) != 1 || findings[0].Code != codeStopped {
		t.Errorf("ended: %v", findings)
	}
}

// A document that was fetched itself refers to what lies beside it at its address.
//
// Rules: EDU-21
func TestMakeOfAnAddress(t *testing.T) {
	t.Parallel()
	base, cfg, _ := served(t, map[string]string{
		"/specs/openapi.yaml": "openapi: 3.1.0\ninfo: {title: Schools, version: 1.0.0}\npaths: {}\ncomponents: {schemas: {a: {$ref: 'parts/a.yaml'}, c: {type: string}}}\n",
		"/specs/parts/a.yaml": "properties: {c: {$ref: '../openapi.yaml#/components/schemas/c'}}\n",
	})
	content, from, findings := Document(t.Context(), cfg, base+"/specs/openapi.yaml")
	if findings != nil {
		t.Fatal(findings)
	}
	made, u := bundled(t, cfg, Source{Content: content, From: from})
	if len(made.Fetched) != 1 || !bytes.Contains(u.Content, []byte(`"#/components/schemas/c"`)) {
		t.Errorf("fetched %v: %s", made.Fetched, u.Content)
	}
	if !Same(made.Zip, made.Zip) || Same(made.Zip, content) {
		t.Error("what is the same is not")
	}
}

// A zip holds thousands of files that were fetched.
//
// Rules: EDU-21
func TestMakeManyFiles(t *testing.T) {
	needs.Unraced(t)
	t.Parallel()
	const n = 3000
	files := map[string]string{}
	var document strings.Builder
	document.WriteString("openapi: 3.1.0\ninfo: {title: Schools, version: 1.0.0}\npaths: {}\ncomponents:\n  schemas:\n")
	for i := range n {
		files[fmt.Sprintf("/s/%d.json", i)] = fmt.Sprintf(`{"type": "object", "properties": {"next": {"$ref": "%d.json"}}}`, (i+1)%n)
		fmt.Fprintf(&document, "    s%d: {$ref: 'BASE/s/%d.json'}\n", i, i)
	}
	base, cfg, _ := served(t, files)
	made, _ := bundled(t, cfg, Source{Content: []byte(strings.ReplaceAll(document.String(), "BASE", base))})
	if len(made.Fetched) != n {
		t.Errorf("fetched %d", len(made.Fetched))
	}
}

// linked refers to an example and to an operation that stand elsewhere.
const linked = `openapi: 3.1.0
info: {title: Schools, version: 1.0.0, description: d}
servers: [{url: https://schools.example/v1}]
paths:
  /schools:
    get:
      responses:
        '200':
          description: d
          content:
            application/json:
              schema: {type: object}
              examples:
                one: {externalValue: 'BASE/one.json'}
                own: {value: {a: 1}}
            text/plain:
              schema: {type: string}
              examples:
                two: {summary: Two, externalValue: 'BASE/EXAMPLE'}
          links:
            students: {operationRef: 'BASE/students.yaml#/paths/~1students/get'}
`

const students = `openapi: 3.1.0
info: {title: Students, version: 1.0.0}
paths: {/students: {get: {responses: {'200': {description: d}}}}}
`

func linkedTo(base, example string) []byte {
	return []byte(strings.NewReplacer("BASE", base, "EXAMPLE", example).Replace(linked))
}

// TestMakeExternal fetches examples and the document of an operation once: an example becomes a value, the document is pinned
// and the link keeps its address. Bundling the zip anew fetches nothing.
func TestMakeExternal(t *testing.T) {
	t.Parallel()
	base, cfg, asked := served(t, map[string]string{"/one.json": `{"name":"De Berkel"}`, "/two.txt": "plain, and no JSON: {", "/students.yaml": students})
	made, u := bundled(t, cfg, Source{Content: linkedTo(base, "two.txt")})
	if len(made.Fetched) != 3 {
		t.Fatalf("fetched %+v", made.Fetched)
	}
	content := string(u.Content)
	for _, want := range []string{"De Berkel", "plain, and no JSON", base + "/students.yaml#/paths/~1students/get", "Two"} {
		if !strings.Contains(content, want) {
			t.Errorf("the document lacks %q:\n%s", want, content)
		}
	}
	if strings.Contains(content, "externalValue") {
		t.Errorf("an example stands elsewhere still:\n%s", content)
	}
	for _, f := range u.Validate() {
		t.Errorf("%s %s", f.Code, f.Detail)
	}
	again, _ := bundled(t, cfg, Source{Content: made.Zip})
	if len(again.Fetched) != 0 || asked["/one.json"] != 1 || asked["/students.yaml"] != 1 {
		t.Errorf("fetched again: %+v, %v", again.Fetched, asked)
	}
}

// TestMakeExternalRefused: an example that cannot be fetched stays where it is, with a warning; a document of an operation that
// cannot be fetched is refused, as any reference is.
func TestMakeExternalRefused(t *testing.T) {
	t.Parallel()
	base, cfg, _ := served(t, map[string]string{"/one.json": `{"name":"De Berkel"}`, "/photo": "<html>", "/students.yaml": students})
	for _, example := range []string{"photo", "gone.json"} {
		made, u := bundled(t, cfg, Source{Content: linkedTo(base, example)})
		codes := ""
		for _, f := range u.Validate() {
			codes += f.Code + " " + f.Severity
		}
		if len(made.Fetched) != 2 || codes != "example-elsewhere "+string(contract.SeverityWarning) || !strings.Contains(string(u.Content), base+"/"+example) {
			t.Errorf("%s: %q, %+v", example, codes, made.Fetched)
		}
	}
	content := strings.Replace(string(linkedTo(base, "one.json")), "students.yaml#", "nowhere.yaml#", 1)
	_, findings, err := Make(t.Context(), cfg, Source{Content: []byte(content)})
	if err != nil || len(findings) != 1 || findings[0].Code != "fetch-failed" || findings[0].FileLine != 21 {
		t.Errorf("%+v, %v", findings, err)
	}
}

// TestMakeExternalRelative: a relative link leads to where it led from the file it is in, also from the document that this is
// put in, and from a document that was fetched itself.
func TestMakeExternalRelative(t *testing.T) {
	t.Parallel()
	answers := "ok:\n  description: d\n  links:\n    students: {operationRef: '../students.yaml#/paths/~1students/get'}\n    own: {operationRef: '#/own/get'}\nown:\n  get: {}\n"
	base, cfg, asked := served(t, map[string]string{"/parts/answers.yaml": answers, "/students.yaml": students})
	content := "openapi: 3.1.0\ninfo: {title: Schools, version: 1.0.0}\npaths: {/schools: {get: {responses: {'200': {$ref: '" + base + "/parts/answers.yaml#/ok'}}}}}\n"
	made, u := bundled(t, cfg, Source{Content: []byte(content)})
	if len(made.Fetched) != 2 || asked["/students.yaml"] != 1 {
		t.Errorf("fetched %+v, %v", made.Fetched, asked)
	}
	for _, want := range []string{base + "/students.yaml#/paths/~1students/get", base + "/parts/answers.yaml#/own/get"} {
		if !strings.Contains(string(u.Content), `"`+want+`"`) {
			t.Errorf("the document lacks %q:\n%s", want, u.Content)
		}
	}
	for _, f := range u.Validate() {
		t.Errorf("%s %s", f.Code, f.Detail)
	}
	content = `openapi: 3.1.0
info: {title: Schools, version: 1.0.0}
paths:
  /schools:
    get:
      responses:
        '200':
          description: d
          links:
            students: {operationRef: 'students.yaml#/paths/~1students/get'}
            self: {operationRef: 'main.yaml#/paths/~1schools/get'}
`
	_, u = bundled(t, cfg, Source{Content: []byte(content), Name: "main.yaml", From: contract.Pinned{URL: base + "/main.yaml"}})
	for _, want := range []string{base + "/students.yaml#/paths/~1students/get", "#/paths/~1schools/get"} {
		if !strings.Contains(string(u.Content), `"`+want+`"`) {
			t.Errorf("the document lacks %q:\n%s", want, u.Content)
		}
	}
}
