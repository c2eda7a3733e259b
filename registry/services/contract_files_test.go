package services

import (
	"archive/zip"
	"bytes"
	"errors"
	"testing"

	"schakel/registry"
	"schakel/registry/contracts"
	"schakel/store"
)

// zipOf packs pairs of name and content.
func zipOf(t *testing.T, files ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := 0; i+1 < len(files); i += 2 {
		f, err := w.Create(files[i])
		must(t, err)
		_, err = f.Write([]byte(files[i+1]))
		must(t, err)
	}
	must(t, w.Close())
	return b.Bytes()
}

const splitContract = `asyncapi: 3.1.0
info: {title: Students, version: 1.0.0}
channels:
  students:
    address: students
    messages:
      enrolled: {name: nl.example.student.enrolled, payload: {$ref: 'schemas/student.yaml'}}
operations:
  send: {action: send, channel: {$ref: '#/channels/students'}}
`

// A document whose files are missing stays a draft until they are there; then what
// was uploaded and what was made of it are both kept.
//
// Rules: EDU-21, EDU-06b.
func TestContractOfSeveralFiles(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		_, err := w.Contracts.Create(ctx, w.admin, contractInput("student-events"))
		must(t, err)
		upload := func(content []byte, main string) (store.ContractVersion, error) {
			return w.Contracts.Upload(ctx, w.admin, "student-events", contracts.Upload{Content: content, Main: main})
		}
		draft, err := upload([]byte(splitContract), "")
		must(t, err)
		if draft.Status != store.VersionDraft || draft.Files != "" || draft.BundleDigest != "" {
			t.Errorf("got %+v", draft)
		}
		_, err = w.publish(ctx, w.admin, "student-events", "1.0.0", "")
		wantCode(t, "publish what is incomplete", registry.CodeConflict, err)
		var missing *contracts.IncompleteError
		if !errors.As(err, &missing) || len(missing.Missing) != 1 || missing.Missing[0].Line != 7 {
			t.Errorf("got %v", err)
		}

		packed := zipOf(t, "asyncapi.yaml", splitContract, "schemas/student.yaml", "{type: object, properties: {name: {type: string}}}", "other.yaml", "asyncapi: 3.1.0")
		if _, err := upload(packed, "other.yaml"); !errors.As(err, new(*contracts.InvalidDocumentError)) {
			t.Errorf("another main: %v", err)
		}
		whole, err := upload(packed, "")
		must(t, err)
		if whole.ID != draft.ID || whole.Digest != hexDigest(packed) || whole.Format != "json" {
			t.Errorf("got %+v", whole)
		}
		files, err := contracts.Files(whole)
		must(t, err)
		if len(files) != 3 || !files[0].Main || !files[2].Used || files[1].Used {
			t.Errorf("got %v", files)
		}
		_, err = w.publish(ctx, w.admin, "student-events", "1.0.0", "")
		must(t, err)
		published, original, err := w.Contracts.Original(ctx, registry.Reader{Internal: true}, "student-events", registry.Latest)
		must(t, err)
		if !bytes.Equal(original, packed) {
			t.Error("what was uploaded is not what is kept")
		}
		_, document, err := w.Contracts.Document(ctx, registry.Reader{Internal: true}, "student-events", registry.Latest)
		must(t, err)
		if hexDigest(document) != published.DocumentDigest() || !bytes.Contains(document, []byte(`"#/components/schemas/student"`)) {
			t.Errorf("got %s", document)
		}
		typ, err := w.db.EventType(ctx, enrolled)
		must(t, err)
		if !bytes.Contains([]byte(typ.DataSchema), []byte(`"name"`)) {
			t.Errorf("schema %s", typ.DataSchema)
		}
		again, err := upload(packed, "asyncapi.yaml")
		must(t, err)
		if again.Status != store.VersionPublished {
			t.Errorf("the same bytes: %s", again.Status)
		}
	})
}
