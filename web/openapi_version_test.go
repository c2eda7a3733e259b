package web

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"schakel/registry/contracts/contract"
)

// TestDescriptionsKeepTheirVersion: what others build on never changes under them.
// Whoever changes a description raises its version.
//
// Rules: EDU-06a, EDU-N03.
func TestDescriptionsKeepTheirVersion(t *testing.T) {
	t.Parallel()
	versions, held := map[string]string{}, map[string]bool{}
	for _, d := range OwnDocuments() {
		read, _, err := contract.Parse(d.Content, contract.Limits{})
		noError(t, err)
		versions[d.ID] = read.Version
	}
	names, err := filepath.Glob("*/*.yaml")
	noError(t, err)
	for _, name := range names {
		raw, err := os.ReadFile(name)
		noError(t, err)
		line, content, _ := strings.Cut(string(raw), "\n")
		id, _, _ := strings.Cut(strings.TrimPrefix(line, "# "), " ")
		held[id] = true
		if want := fmt.Sprintf("# %s %s sha256 %x", id, versions[id], sha256.Sum256([]byte(content))); versions[id] == "" || line != want {
			t.Errorf("%s has other bytes than it had. Raise version in the info of its document.\n"+
				"In any case, and without that only where this version was never released, let its first line be:\n%s", name, want)
		}
	}
	for id := range versions {
		if !held[id] {
			t.Errorf("no file holds the digest of %s", id)
		}
	}
}

// Rules: EDU-21.
func TestDescriptionsAreOpenAPI32(t *testing.T) {
	t.Parallel()
	for name, doc := range apiDocuments() {
		content, err := doc.JSON()
		noError(t, err)
		if read, _, err := contract.Parse(content, contract.Limits{}); err != nil || read.SpecVersion != "3.2.0" {
			t.Errorf("%s is OpenAPI %s, %v", name, read.SpecVersion, err)
		}
	}
}
