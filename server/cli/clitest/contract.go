package clitest

import (
	"os"
	"path/filepath"
	"testing"
)

// A contract without faults, and one with errors.
const (
	GoodContract = `openapi: 3.2.0
info: {title: Schools, version: 1.0.0}
paths:
  /schools:
    get:
      operationId: listSchools
      responses:
        "200":
          description: The schools.
          content: {application/json: {schema: {$ref: '#/components/schemas/School'}}}
components:
  schemas:
    School: {type: object, required: [name, town], properties: {name: {type: string}, town: {type: string}}}
`
	BrokenContract = "openapi: 3.1.0\ninfo:\n  title: Schools\n  version: 1.0.0\npaths:\n  /schools/{id}:\n    get:\n      responses: {\"200\": {description: One}}\n"
)

// WriteFiles writes files in a new folder. It returns a function that gives the path of each.
func WriteFiles(t *testing.T, files map[string]string) func(string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return func(name string) string { return filepath.Join(dir, name) }
}
