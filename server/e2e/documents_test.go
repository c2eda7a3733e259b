package e2e

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"schakel/registry"
	"schakel/registry/token"
	"schakel/server/demo"
)

// TestRealDocuments sends real contracts through upload, publication, listing and
// download. What is broken is refused with a line; the rest comes back byte for byte.
func TestRealDocuments(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../../shared/data/contracts/*/*")
	must(t, err)
	if len(files) == 0 {
		t.Skip("the sample documents are not beside the repository")
	}
	s := newProgram(t, newPKI(t), demo.OwnA(), sqlitePath(t))
	var creds demo.Credentials
	s.setUp(t, func(c *demo.Chain) {
		client, secret, err := c.Clients.Create(t.Context(), c.Admin, "", registry.NewClient{
			Name: "Build server", AuthMethod: token.ClientSecretBasic, Scopes: []string{"registry.read", "registry.write"},
		})
		must(t, err)
		creds = demo.Credentials{ID: client.ID, Secret: secret}
	})
	s.start(t)
	access := s.token(t, creds, "registry.read", "registry.write")
	taken := 0
	for i, file := range files {
		content, err := os.ReadFile(file)
		must(t, err)
		name := filepath.Base(file)
		kind := "asyncapi"
		if strings.Contains(string(content[:min(len(content), 400)]), "openapi") || strings.HasPrefix(name, "swagger") {
			kind = "openapi"
		}
		d := document{s, access, fmt.Sprintf("document-%d", i), name, content}
		broken := strings.Contains(name, "-own-") && !strings.Contains(name, "ok-base") || strings.HasPrefix(name, "swagger")
		s.call(t, http.MethodPost, "/registry/v1/contracts", access, nil, map[string]any{
			"id": d.id, "kind": kind, "title": name, "visibility": "public",
		}).want(t, http.StatusCreated)
		if d.upload(t, broken) {
			taken++
			d.download(t)
		}
	}
	var list struct{ Contracts []struct{ ID string } }
	a := s.call(t, http.MethodGet, "/registry/v1/contracts?perPage=100", "", nil, nil).want(t, http.StatusOK)
	a.into(t, &list)
	if len(list.Contracts) != taken || taken < 20 || a.header.Get("Total-Count") != fmt.Sprint(taken) {
		t.Errorf("%d contracts are listed to everyone (Total-Count %s), want %d", len(list.Contracts), a.header.Get("Total-Count"), taken)
	}
}

// document is a contract with one version.
type document struct {
	s               *program
	token, id, name string
	content         []byte
}

// upload tells whether the document was taken and published.
func (d document) upload(t *testing.T, broken bool) bool {
	t.Helper()
	kind := "application/yaml"
	if strings.HasSuffix(d.name, ".json") {
		kind = "application/json"
	}
	path := "/registry/v1/contracts/" + d.id + "/versions?version=1.0.0&fileName=" + d.name
	a := d.s.call(t, http.MethodPost, path, d.token, map[string]string{"Content-Type": kind}, d.content)
	if broken {
		var problem struct{ Errors []struct{ Line, Column int } }
		a.want(t, http.StatusBadRequest).into(t, &problem)
		if len(problem.Errors) == 0 || problem.Errors[0].Line < 1 || problem.Errors[0].Column < 1 {
			t.Errorf("%s: refused without a line: %s", d.name, a.body)
		}
		return false
	}
	if a.status != http.StatusCreated {
		t.Errorf("%s: %d %s", d.name, a.status, a.body)
		return false
	}
	published := d.s.call(t, http.MethodPost, "/registry/v1/contracts/"+d.id+"/versions/1.0.0/publication", d.token, nil, nil)
	if published.status == http.StatusConflict && bytes.Contains(published.body, []byte("is defined by contract")) {
		return false // two of the samples are versions of one contract, and define the same event types
	}
	if published.status != http.StatusOK {
		t.Errorf("%s: publication %d %s", d.name, published.status, published.body)
	}
	return published.status == http.StatusOK
}

func (d document) download(t *testing.T) {
	t.Helper()
	digest := fmt.Sprintf(`"sha256:%x"`, sha256.Sum256(d.content))
	for _, version := range []string{"1.0.0", "latest"} {
		path := "/registry/v1/contracts/" + d.id + "/versions/" + version + "/original"
		a := d.s.call(t, http.MethodGet, path, "", nil, nil)
		if a.status != http.StatusOK || !bytes.Equal(a.body, d.content) || a.header.Get("Etag") != digest {
			t.Errorf("%s %s: %d, ETag %s, %d bytes; want %s, %d bytes", d.name, version, a.status, a.header.Get("Etag"), len(a.body), digest, len(d.content))
		}
		again := d.s.call(t, http.MethodGet, path, "", map[string]string{"If-None-Match": digest}, nil)
		if again.status != http.StatusNotModified || len(again.body) > 0 {
			t.Errorf("%s %s: %d with the ETag we have", d.name, version, again.status)
		}
	}
	changed := append(bytes.Clone(d.content), '\n')
	path := "/registry/v1/contracts/" + d.id + "/versions?version=1.0.0"
	d.s.call(t, http.MethodPost, path, d.token, map[string]string{"Content-Type": "application/yaml"}, changed).want(t, http.StatusConflict)
}
