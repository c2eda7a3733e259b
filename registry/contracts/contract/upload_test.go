package contract

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"schakel/store/needs"
)

// packed makes a zip of pairs of name and content.
func packed(t testing.TB, files ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := 0; i+1 < len(files); i += 2 {
		f, err := w.Create(files[i])
		if err == nil {
			_, err = f.Write([]byte(files[i+1]))
		}
		must(t, err)
	}
	must(t, w.Close())
	return b.Bytes()
}

func codes(findings []Finding) string {
	var list []string
	for _, f := range findings {
		if f.Severity != SeverityInfo {
			list = append(list, strings.TrimSpace(fmt.Sprintf("%s %s:%d", f.Code, f.File, f.FileLine)))
		}
	}
	return strings.Join(list, ", ")
}

// TestReadUpload brings the files of a zip together.
// Rules: EDU-21.
func TestReadUpload(t *testing.T) {
	t.Parallel()
	api := openapi("3.1.0", "paths:\n  /a:\n    get:\n      responses: {200: {$ref: 'parts/answers.yaml#/ok'}}\n  /b: {$ref: paths/b.yaml}\n")
	answers := "ok:\n  description: d\n  content: {application/json: {schema: {$ref: ../schemas/pet.json}}}\n"
	pet := `{"$id": "https://e.x/pet", "properties": {"kind": {"$ref": "#/$defs/kind"}, "next": {"$ref": "pet.json"}}, "$defs": {"kind": {"type": "string"}}}`
	path := "get: {responses: {200: {$ref: '../parts/answers.yaml#/ok'}}}\n"
	events := asyncapi("3.1.0", "channels: {c: {address: a, messages: {m: {$ref: 'm.yaml#/m'}, n: {payload: {schemaFormat: 'application/vnd.apache.avro;version=1.9.0', schema: {$ref: r.avsc}}}}}}\n"+
		"operations: {o: {action: send, channel: {$ref: '#/channels/c'}, messages: [{$ref: '#/channels/c/messages/m'}]}}\n")
	for _, tt := range []struct {
		name, main string
		files      []string
		findings   string
		contains   []string
	}{
		{"one file", "", []string{"openapi.yaml", openapi("3.1.0", "paths: {}")}, "", []string{"paths: {}"}},
		{
			"references between files", "",
			[]string{"openapi.yaml", api, "parts/answers.yaml", answers, "schemas/pet.json", pet, "paths/b.yaml", path},
			"",
			[]string{`"#/components/responses/ok"`, `"#/components/schemas/pet"`, `"#/components/schemas/kind"`, `"#/components/pathItems/b"`},
		},
		{"all in one folder", "", []string{"x/openapi.yaml", api, "x/parts/answers.yaml", answers, "x/schemas/pet.json", pet, "x/paths/b.yaml", path}, "", nil},
		{
			"something is not there", "",
			[]string{"openapi.yaml", api, "parts/answers.yaml", answers, "paths/b.yaml", path},
			"reference-missing parts/answers.yaml:3",
			[]string{`"../schemas/pet.json"`},
		},
		{"a pointer leads nowhere", "", []string{"openapi.yaml", openapi("3.1.0", "components: {schemas: {a: {$ref: 'b.yaml#/x'}}}"), "b.yaml", "y: {}"}, "reference-missing openapi.yaml:3", nil},
		{"remote", "", []string{"openapi.yaml", openapi("3.1.0", "components: {schemas: {a: {$ref: 'https://example.nl/a.yaml'}}}")}, "reference-missing openapi.yaml:3", nil},
		{"out of the zip", "", []string{"openapi.yaml", openapi("3.1.0", "components: {schemas: {a: {$ref: '../../etc/passwd'}, b: {$ref: '/etc/passwd'}}}")}, "reference-missing openapi.yaml:3, reference-missing openapi.yaml:3", nil},
		{"a fault in a file", "", []string{"openapi.yaml", openapi("3.1.0", "components: {schemas: {a: {$ref: b.yaml}}}"), "b.yaml", "properties:\n  c:\n    type: strng\n"}, "schema-value b.yaml:3", nil},
		{"a file that cannot be read", "", []string{"openapi.yaml", openapi("3.1.0", "components: {schemas: {a: {$ref: b.yaml}}}"), "b.yaml", "a: 1\na: 2"}, "duplicate-key b.yaml:2", nil},
		{"named", "x/a.yaml", []string{"openapi.yaml", openapi("3.1.0", "paths: {}"), "x/a.yaml", openapi("3.0.0", "paths: {}")}, "", []string{"3.0.0"}},
		{"named, not there", "b.yaml", []string{"openapi.yaml", openapi("3.1.0", "paths: {}")}, "archive-main :0", nil},
		{"two could be it", "", []string{"a.yaml", "a: 1", "b.yaml", "b: 1"}, "archive-main :0", nil},
		{"names are taken", "", []string{"openapi.yaml", openapi("3.1.0", "components: {schemas: {b: {$ref: b.yaml}, 'b-2': {type: string}}}"), "b.yaml", "{}"}, "", []string{`"#/components/schemas/b-3"`}},
		{"itself by name", "", []string{"openapi.yaml", openapi("3.1.0", "components: {schemas: {a: {$ref: './openapi.yaml#/components/schemas/b'}, b: {}}}")}, "", []string{`"#/components/schemas/b"`}},
		{"back to the document", "", []string{"openapi.yaml", openapi("3.1.0", "components: {schemas: {a: {$ref: b.yaml}, c: {}}}"), "b.yaml", "items: {$ref: 'openapi.yaml#/components/schemas/c'}"}, "", []string{`"#/components/schemas/c"`}},
		{"path items of 3.0", "", []string{"openapi.yaml", openapi("3.0.1", "paths: {/a: {$ref: p.yaml, description: d}}"), "p.yaml", "get: {responses: {200: {description: e}}}"}, "", []string{`"description": "d"`, `"get": {`}},
		{"discriminator", "", []string{"openapi.yaml", openapi("3.1.0", "components: {schemas: {a: {properties: {p: {}}, discriminator: {propertyName: p, mapping: {x: b.yaml}}}}}"), "b.yaml", "{}"}, "", []string{`"x": "#/components/schemas/b"`}},
		{
			"messages and Avro", "",
			[]string{"asyncapi.yaml", events, "m.yaml", "m: {payload: {$ref: '#/s'}}\ns: {properties: {n: {$ref: '#/s'}}}", "r.avsc", `{"type": "record", "name": "R", "fields": []}`},
			"",
			[]string{`"#/components/messages/m"`, `"#/components/schemas/s"`, `"name": "R"`},
		},
		{"a circle of foreign files", "", []string{"asyncapi.yaml", asyncapi("3.1.0", "channels: {c: {bindings: {$ref: 'b.yaml#/x'}}}"), "b.yaml", "x: {kafka: {$ref: '#/x'}}"}, "reference-cycle b.yaml:0", nil},
	} {
		u, findings, err := ReadUpload(packed(t, tt.files...), tt.main, Limits{})
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if u != nil {
			findings = u.Validate()
		}
		if got := codes(findings); got != tt.findings {
			t.Errorf("%s: got %q, want %q: %v", tt.name, got, tt.findings, findings)
		}
		for _, text := range tt.contains {
			if u == nil || !bytes.Contains(u.Content, []byte(text)) {
				t.Errorf("%s: %s is not in it", tt.name, text)
			}
		}
		if u == nil {
			continue
		}
		again, _, _ := ReadUpload(packed(t, tt.files...), tt.main, Limits{})
		if !bytes.Equal(again.Content, u.Content) {
			t.Errorf("%s: another document at the second time", tt.name)
		}
	}
}

// TestHostileArchives are refused before anything is unpacked that does not fit.
// Rules: EDU-21.
func TestHostileArchives(t *testing.T) {
	needs.Unraced(t)
	t.Parallel()
	document := openapi("3.1.0", "components: {schemas: {a: {$ref: b.yaml}}}")
	with := func(change func(*zip.FileHeader), content string) []byte {
		var b bytes.Buffer
		w := zip.NewWriter(&b)
		main, err := w.Create("openapi.yaml")
		must(t, err)
		_, _ = main.Write([]byte(document))
		h := &zip.FileHeader{Name: "b.yaml", Method: zip.Deflate}
		change(h)
		f, err := w.CreateHeader(h)
		must(t, err)
		_, _ = f.Write([]byte(content))
		_ = w.Close()
		return b.Bytes()
	}
	name := func(name string) func(*zip.FileHeader) { return func(h *zip.FileHeader) { h.Name = name } }
	many := make([]string, 0, 2*maxArchiveFiles+2)
	for i := range maxArchiveFiles + 1 {
		many = append(many, fmt.Sprintf("%d.yaml", i), "a")
	}
	lying := with(name("b.yaml"), strings.Repeat("a", 100_000))
	for i := range len(lying) - 4 {
		if bytes.Equal(lying[i:i+4], []byte{0xa0, 0x86, 1, 0}) {
			copy(lying[i:], []byte{10, 0, 0, 0})
		}
	}
	for _, tt := range []struct {
		name    string
		content []byte
		code    string
	}{
		{"nothing", []byte("PK\x05\x06"), "archive-invalid"},
		{"cut off", packed(t, "openapi.yaml", document)[:60], "archive-invalid"},
		{"no files", packed(t), "archive-main"},
		{"up and out", with(name("../b.yaml"), "a"), "archive-name"},
		{"from the root", with(name("/etc/b.yaml"), "a"), "archive-name"},
		{"a drive", with(name("c:b.yaml"), "a"), "archive-name"},
		{"backslashes", with(name(`..\b.yaml`), "a"), "archive-name"},
		{"case", with(name("OpenAPI.yaml"), "a"), "archive-name"},
		{"twice", with(name("openapi.yaml"), "a"), "archive-name"},
		{"a link", with(func(h *zip.FileHeader) { h.SetMode(fs.ModeSymlink | 0o777) }, "/etc/passwd"), "archive-link"},
		{"encrypted", with(func(h *zip.FileHeader) { h.Flags |= 1 }, "a"), "archive-encrypted"},
		{"ratio", with(name("b.yaml"), strings.Repeat(" ", 8<<20)), "archive-ratio"},
		{"many files", packed(t, many...), "archive-too-many-files"},
		{"more than it says", lying, "archive-invalid"},
	} {
		u, findings, err := ReadUpload(tt.content, "", Limits{})
		if err != nil || u != nil || len(findings) != 1 || findings[0].Code != tt.code || findings[0].Remedy == "" {
			t.Errorf("%s: got %v %v, want %s", tt.name, findings, err, tt.code)
		}
	}
}

func TestFilesOfAnUpload(t *testing.T) {
	t.Parallel()
	u, _, err := ReadUpload(packed(t, "openapi.yaml", openapi("3.1.0", "components: {schemas: {a: {$ref: b.yaml}}}"), "b.yaml", "{}", "readme.md", "x", ".DS_Store", "x"), "", Limits{})
	if err != nil || u == nil {
		t.Fatal(err)
	}
	want := []File{{Name: "b.yaml", Size: 2, Used: true}, {Name: "openapi.yaml", Size: u.Files[1].Size, Main: true}, {Name: "readme.md", Size: 1}}
	if !slices.Equal(u.Files, want) {
		t.Errorf("got %v", u.Files)
	}
}

func FuzzReadUpload(f *testing.F) {
	f.Add(packed(f, "openapi.yaml", openapi("3.1.0", "components: {schemas: {a: {$ref: 'b.yaml#/x'}}}"), "b.yaml", "x: {items: {$ref: c.json}}", "c.json", `{"$ref": "b.yaml#/x"}`))
	f.Add(packed(f, "asyncapi.yaml", asyncapi("2.6.0", "channels: {c: {$ref: 'b.yaml'}}"), "b.yaml", "publish: {message: {payload: {$ref: x.avsc}}}", "x.avsc", "{}"))
	f.Fuzz(func(t *testing.T, content []byte) {
		u, findings, err := ReadUpload(content, "", small())
		if err != nil || (u == nil) != HasErrors(findings) {
			t.Fatalf("upload %v, findings %v, error %v", u != nil, findings, err)
		}
		if u != nil {
			findings = u.Validate()
			if again, _, _ := Parse(u.Content, small()); again == nil {
				t.Error("the document made of it cannot be read")
			}
		}
		for _, finding := range findings {
			if finding.Code == "" || finding.Detail == "" || finding.Remedy == "" {
				t.Errorf("finding %+v", finding)
			}
		}
	})
}

// FuzzFiles makes the zip, so that the fuzzer need not find checksums.
func FuzzFiles(f *testing.F) {
	f.Add(openapi("3.1.0", "components: {schemas: {a: {$ref: 'b.yaml#/x'}}}"), "x: {items: {$ref: c.json}}", `{"$ref": "b.yaml#/x"}`)
	f.Add(asyncapi("3.1.0", "channels: {c: {bindings: {$ref: 'b.yaml#/x'}}}"), "x: {kafka: {$ref: '#/x'}}", "{}")
	f.Add(openapi("3.0.1", "paths: {/a: {$ref: b.yaml}}"), "get: {responses: {200: {$ref: c.json}}}", `{"description": "d"}`)
	f.Fuzz(func(t *testing.T, a, b, c string) {
		u, findings, err := ReadUpload(packed(t, "openapi.yaml", a, "b.yaml", b, "c.json", c), "", small())
		if err != nil || (u == nil) != HasErrors(findings) {
			t.Fatalf("upload %v, findings %v, error %v", u != nil, findings, err)
		}
		if u != nil {
			u.Validate()
		}
	})
}
