package bundle

import (
	"strings"
	"testing"

	"schakel/registry/contracts/contract"
)

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
