package web

import (
	"crypto/sha256"
	"fmt"
	"os"
	"strings"
	"testing"

	"schakel/registry/contracts/contract"
	"schakel/web/api"
)

// TestDescriptionsKeepTheirVersion: what others build on never changes under them.
// Whoever changes a description raises its version.
//
// Rules: EDU-06a, EDU-N03.
func TestDescriptionsKeepTheirVersion(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("api/openapi/digests.txt")
	noError(t, err)
	known := map[string]string{}
	for line := range strings.Lines(string(raw)) {
		if fields := strings.Fields(line); len(fields) == 3 && !strings.HasPrefix(line, "#") {
			known[fields[0]+" "+fields[1]] = fields[2]
		}
	}
	docs, err := api.OwnDocuments()
	noError(t, err)
	for _, d := range docs {
		read, _, err := contract.Parse(d.Content, contract.Limits{})
		noError(t, err)
		name := d.ID + " " + read.Version
		line := fmt.Sprintf("%s %x", name, sha256.Sum256(d.Content))
		switch {
		case known[name] == "":
			t.Errorf("%s has no line in openapi/digests.txt; add:\n%s", name, line)
		case name+" "+known[name] != line:
			t.Errorf("%s has other bytes than it had. Raise version in its info and add the line of that to openapi/digests.txt.\n"+
				"Only where %s was never released, replace its line by:\n%s", name, name, line)
		}
	}
}

// Rules: EDU-21.
func TestDescriptionsAreOpenAPI32(t *testing.T) {
	t.Parallel()
	docs, err := api.ReadAPIDocuments()
	noError(t, err)
	for name, doc := range docs {
		if read, _, err := contract.Parse(doc.Json, contract.Limits{}); err != nil || read.SpecVersion != "3.2.0" {
			t.Errorf("%s is OpenAPI %s, %v", name, read.SpecVersion, err)
		}
	}
}
