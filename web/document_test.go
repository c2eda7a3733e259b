package web

import (
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"schakel/registry/contracts/contract"
	"schakel/store/needs"
	"schakel/web/api"
)

// sameDocument converts a document there and back and wants the same values.
func sameDocument(t *testing.T, name string, content []byte) {
	t.Helper()
	original, _, err := contract.Parse(content, contract.Limits{})
	noError(t, err)
	if original == nil {
		return
	}
	asJSON, err := api.DocumentToJSON(content)
	noError(t, err)
	asYAML, err := api.DocumentToYAML(asJSON)
	noError(t, err)
	for form, made := range map[string][]byte{"json": asJSON, "yaml": asYAML} {
		again, findings, err := contract.Parse(made, contract.Limits{})
		noError(t, err)
		if again == nil {
			t.Errorf("%s: the %s cannot be read: %v", name, form, findings)
		} else if !reflect.DeepEqual(again.Root, original.Root) {
			t.Errorf("%s: the %s has other values", name, form)
		}
	}
	if parsed, _, _ := contract.Parse(asYAML, contract.Limits{}); parsed != nil && parsed.Format != contract.FormatYAML {
		t.Errorf("%s: YAML came out as JSON", name)
	}
}

func TestConvertKeepsOrderAndValues(t *testing.T) {
	t.Parallel()
	const source = `# a comment
openapi: 3.1.0
info: &info
  version: "1.10"
  title: 'yes'
  description: |
    Two lines,
      one of them indented: "quoted" # not a comment
  x-numbers: [1.50, 1e3, 0x1F, 100000000000000000000, -0.0]
  x-words: ["no", "on", "null", "1_000", "2026-05-01", "12:30", "~", "", " ", "é\t", "a: b", "- c", "*d", "trailing "]
paths: {}
x-copy: *info
x-keys: {200: a, "true": b, 1.5: c}
`
	asJSON, err := api.DocumentToJSON([]byte(source))
	noError(t, err)
	last := -1
	for _, name := range []string{`"openapi"`, `"info"`, `"version"`, `"title"`, `"x-numbers"`, `"paths"`, `"x-copy"`, `"x-keys"`} {
		at := strings.Index(string(asJSON), name)
		if at <= last {
			t.Errorf("%s does not stand in its place:\n%s", name, asJSON)
		}
		last = at
	}
	if !strings.Contains(string(asJSON), "1.50") || !strings.Contains(string(asJSON), "100000000000000000000") {
		t.Errorf("numbers changed:\n%s", asJSON)
	}
	sameDocument(t, "sample", []byte(source))
}

// TestConvertSamples converts real contracts.
func TestConvertSamples(t *testing.T) {
	t.Parallel()
	err := filepath.WalkDir(needs.Shared(t, "contracts"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err != nil || info.Size() > 300<<10 {
			return err // the largest would only take time
		}
		content, err := os.ReadFile(path)
		if err == nil && len(content) > 0 {
			sameDocument(t, path, content)
		}
		return err
	})
	noError(t, err)
}

// FuzzConvert looks for documents that change when they are converted.
func FuzzConvert(f *testing.F) {
	f.Add([]byte(sampleContract))
	f.Add([]byte(`{"openapi":"3.1.0","info":{"title":"\u2028\u0085 yes","version":"1"},"x":[1e5,-0,"0o7",".inf","a\n\n b\n"]}`))
	f.Add([]byte("openapi: 3.1.0\ninfo: {title: &a '~', version: *a}\nx: {? 0x1F : 1, <: 2}\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		if len(content) > 4096 || content == nil {
			return
		}
		original, _, err := contract.Parse(content, contract.Limits{})
		noError(t, err)
		if original == nil {
			return
		}
		asJSON, err := api.DocumentToJSON(content)
		noError(t, err)
		asYAML, err := api.DocumentToYAML(asJSON)
		noError(t, err)
		for _, made := range [][]byte{asJSON, asYAML} {
			again, _, err := contract.Parse(made, contract.Limits{})
			noError(t, err)
			if again == nil || !reflect.DeepEqual(again.Root, original.Root) {
				t.Fatalf("%q became %q", content, made)
			}
		}
	})
}
