package e2e

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"schakel/registry/datasets"
	"schakel/registry/identity"
	"schakel/server/demo"
	"schakel/server/trial"
	"schakel/store"
	"schakel/store/needs"
)

// exampleOfGroups is the example of a publication in the document of our API.
func exampleOfGroups(t *testing.T) []byte {
	t.Helper()
	raw, err := os.ReadFile("../../web/api/openapi/mutations.yaml")
	trial.Must(t, err)
	var doc struct {
		Paths map[string]struct {
			Post struct {
				RequestBody struct {
					Content map[string]struct{ Example any }
				} `yaml:"requestBody"`
			}
		}
	}
	trial.Must(t, yaml.Unmarshal(raw, &doc))
	example, err := json.Marshal(doc.Paths["/datasets/{datasetId}/mutation-groups"].Post.RequestBody.Content["application/json"].Example)
	trial.Must(t, err)
	return example
}

// TestExampleIsValid publishes the example of our API document, an object without an element of the dataset around it. The
// files of a delta and of a snapshot are valid by the schema that the program prints, and a copy has the object as published.
//
// Rules: MUT-24, MUT-62.
func TestExampleIsValid(t *testing.T) {
	t.Parallel()
	const space, object = "http://www.example.nl/schemas/buildings/1.0", `<sb:School xmlns:sb="http://www.example.nl/schemas/buildings/1.0"><sb:code>01AB</sb:code></sb:School>`
	xmllint := needs.Program(t, "xmllint")
	s := trial.NewProgram(t, trial.NewPKI(t), demo.OwnA(), trial.SQLitePath(t))
	var w trial.MutationWorld
	s.SetUp(t, func(c *demo.Chain) {
		w = s.DeliverMutations(t, c, datasets.DatasetInput{
			ID: "schools", Title: "Schools", RootPrefix: "sb", RootSpace: space, RootLocal: "buildingMutations", ObjectTypes: []string{"School"},
		}, "")
	})
	s.Start(t)
	access := s.Token(t, w.Publisher, identity.ScopeMutationsPublish)
	s.Call(t, "POST", "/mutations/v1/datasets/schools/mutation-groups", access, trial.EventHeader("application/json"), string(exampleOfGroups(t))).Want(t, 201)
	var delta string
	s.Open(t, func(db *store.DB) {
		trial.Must(t, db.Write(t.Context(), func(tx *store.Tx) error { return tx.AskSnapshot(t.Context(), "schools") }))
	})
	trial.Eventually(t, "a snapshot is there", func() (ready bool, said string) {
		s.Open(t, func(db *store.DB) {
			d, err := db.LastMutationDelta(t.Context(), "schools")
			_, missing := db.LatestMutationSnapshot(t.Context(), "schools")
			ready, delta = err == nil && missing == nil, d.ID
		})
		return ready, ""
	})

	dir := t.TempDir()
	code, told := s.Command(t, "", "mutations", "schema", "--namespace", space, "--root", "buildingMutations", "--prefix", "sb", "--dir", dir)
	if code != 0 {
		t.Fatalf("exit %d: %s", code, told)
	}
	reader := s.Token(t, w.Followers[0].Credentials, identity.ScopeMutationsRead)
	for _, path := range []string{"/deltas/" + delta, "/snapshots/latest"} {
		raw := s.Call(t, "GET", "/mutations/v1/datasets/schools"+path+"/content", reader, nil, nil).Want(t, 200).Body
		z, err := zip.NewReader(bytes.NewReader(raw), int64(len(raw)))
		trial.Must(t, err)
		for _, f := range z.File {
			in, err := f.Open()
			trial.Must(t, err)
			text, err := io.ReadAll(in)
			trial.Must(t, err)
			cmd := exec.CommandContext(t.Context(), xmllint, "--noout", "--nonet", "--schema", filepath.Join(dir, "buildingMutations.xsd"), "-")
			cmd.Stdin = bytes.NewReader(text)
			if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(text), "01AB") {
				t.Errorf("%s: %v: %s\n%s", path, err, out, text)
			}
		}
	}
	copied := filepath.Join(dir, "copy.db")
	f := w.Followers[0].Credentials
	if code, out := s.Command(t, "", "mutations", "follow", "--url", s.Base+"/mutations/v1/datasets/schools", "--token-url", s.Base+"/oauth/token",
		"--client-id", f.ID, "--client-secret", f.Secret, "--database", "sqlite:"+copied, "--verify", "stop"); code != 0 {
		t.Fatalf("exit %d: %s", code, out)
	}
	if content, err := os.ReadFile(copied); err != nil || !bytes.Contains(content, []byte(object)) {
		t.Errorf("the copy does not have the object as it was published: %v", err)
	}
}
