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

	"schakel/registry/identity"
	"schakel/registry/identity/token"
	"schakel/server/demo"
	"schakel/server/trial"
	"schakel/store/needs"
	"schakel/web"
)

// TestRealDocuments sends real contracts through upload, publication, listing and
// download. What is broken is refused with a line; the rest comes back byte for byte.
func TestRealDocuments(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(needs.Shared(t, "contracts"), "*", "*"))
	trial.Must(t, err)
	if len(files) == 0 {
		t.Fatal("no sample documents")
	}
	s := trial.NewProgram(t, trial.NewPKI(t), demo.OwnA(), trial.SQLitePath(t))
	var creds demo.Credentials
	s.SetUp(t, func(c *demo.Chain) {
		client, secret, err := c.Clients.Create(t.Context(), c.Admin, "", identity.NewClient{
			Name: "Build server", AuthMethod: token.ClientSecretBasic, Scopes: []string{"registry.read", "registry.write"},
		})
		trial.Must(t, err)
		creds = demo.Credentials{ID: client.ID, Secret: secret}
	})
	s.Start(t)
	access := s.Token(t, creds, "registry.read", "registry.write")
	taken := 0
	for i, file := range files {
		content, err := os.ReadFile(file)
		trial.Must(t, err)
		name := filepath.Base(file)
		kind := "asyncapi"
		if strings.Contains(string(content[:min(len(content), 400)]), "openapi") || strings.HasPrefix(name, "swagger") {
			kind = "openapi"
		}
		d := document{s, access, fmt.Sprintf("document-%d", i), name, content}
		broken := strings.Contains(name, "-own-") && !strings.Contains(name, "ok-base") || strings.HasPrefix(name, "swagger")
		s.Call(t, http.MethodPost, "/registry/v1/contracts", access, nil, map[string]any{
			"id": d.id, "kind": kind, "title": name, "visibility": "public",
		}).Want(t, http.StatusCreated)
		if d.upload(t, broken) {
			taken++
			d.download(t)
		}
	}
	var list struct{ Contracts []struct{ ID string } }
	a := s.Call(t, http.MethodGet, "/registry/v1/contracts?perPage=100", "", nil, nil).Want(t, http.StatusOK)
	a.Into(t, &list)
	own := 0
	for _, d := range web.OwnDocuments() {
		if !d.Internal {
			own++
		}
	}
	if len(list.Contracts) != taken+own || taken < 20 || a.Header.Get("Total-Count") != fmt.Sprint(taken+own) {
		t.Errorf("%d contracts are listed to everyone (Total-Count %s), want %d and %d of our own", len(list.Contracts), a.Header.Get("Total-Count"), taken, own)
	}
}

// document is a contract with one version.
type document struct {
	s               *trial.Program
	token, id, name string
	content         []byte
}

// upload reports whether the document was taken and published.
func (d document) upload(t *testing.T, broken bool) bool {
	t.Helper()
	kind := "application/yaml"
	if strings.HasSuffix(d.name, ".json") {
		kind = "application/json"
	}
	path := "/registry/v1/contracts/" + d.id + "/versions?version=1.0.0&fileName=" + d.name
	a := d.s.Call(t, http.MethodPost, path, d.token, map[string]string{"Content-Type": kind}, d.content)
	if broken {
		var problem struct{ Errors []struct{ Line, Column int } }
		a.Want(t, http.StatusBadRequest).Into(t, &problem)
		if len(problem.Errors) == 0 || problem.Errors[0].Line < 1 || problem.Errors[0].Column < 1 {
			t.Errorf("%s: refused without a line: %s", d.name, a.Body)
		}
		return false
	}
	if a.Status != http.StatusCreated {
		t.Errorf("%s: %d %s", d.name, a.Status, a.Body)
		return false
	}
	published := d.s.Call(t, http.MethodPost, "/registry/v1/contracts/"+d.id+"/versions/1.0.0/publication", d.token, trial.Reviewed(d.content), nil)
	if published.Status == http.StatusConflict && bytes.Contains(published.Body, []byte("is defined by contract")) {
		return false // two of the samples are versions of one contract, and define the same event types
	}
	if published.Status == http.StatusConflict && bytes.Contains(published.Body, []byte("document-incomplete")) && strings.Contains(d.name, "adeo") {
		return false // it refers to a file that is not beside it, and stays a draft
	}
	if published.Status != http.StatusOK {
		t.Errorf("%s: publication %d %s", d.name, published.Status, published.Body)
	}
	return published.Status == http.StatusOK
}

func (d document) download(t *testing.T) {
	t.Helper()
	digest := fmt.Sprintf(`"sha256:%x"`, sha256.Sum256(d.content))
	for _, version := range []string{"1.0.0", "latest"} {
		path := "/registry/v1/contracts/" + d.id + "/versions/" + version + "/original"
		a := d.s.Call(t, http.MethodGet, path, "", nil, nil)
		if a.Status != http.StatusOK || !bytes.Equal(a.Body, d.content) || a.Header.Get("Etag") != digest {
			t.Errorf("%s %s: %d, ETag %s, %d bytes; want %s, %d bytes", d.name, version, a.Status, a.Header.Get("Etag"), len(a.Body), digest, len(d.content))
		}
		again := d.s.Call(t, http.MethodGet, path, "", map[string]string{"If-None-Match": digest}, nil)
		if again.Status != http.StatusNotModified || len(again.Body) > 0 {
			t.Errorf("%s %s: %d with the ETag we have", d.name, version, again.Status)
		}
	}
	changed := append(bytes.Clone(d.content), '\n')
	path := "/registry/v1/contracts/" + d.id + "/versions?version=1.0.0"
	d.s.Call(t, http.MethodPost, path, d.token, map[string]string{"Content-Type": "application/yaml"}, changed).Want(t, http.StatusConflict)
}
