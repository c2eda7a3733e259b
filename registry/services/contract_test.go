package services

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"schakel/registry"
	"schakel/registry/contracts"
	"schakel/store"
	"schakel/store/needs"
	"schakel/templates/i18n"
)

func TestContractInput(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		for _, tt := range []struct {
			field string
			spoil func(*contracts.ContractInput)
		}{
			{"id", func(c *contracts.ContractInput) { c.ID = "Students" }},
			{"id", func(c *contracts.ContractInput) { c.ID = "-x" }},
			{"id", func(c *contracts.ContractInput) { c.ID = "new" }},
			{"kind", func(c *contracts.ContractInput) { c.Kind = "wsdl" }},
			{"title", func(c *contracts.ContractInput) { c.Title = "" }},
			{"contactEmail", func(c *contracts.ContractInput) { c.ContactEmail = "x" }},
			{"visibility", func(c *contracts.ContractInput) { c.Visibility = "" }},
			{"owner", func(c *contracts.ContractInput) { c.OwnerPartnerID = "ptn_x" }},
		} {
			in := contractInput("student-events")
			tt.spoil(&in)
			_, err := w.Contracts.Create(ctx, w.admin, in)
			wantOneField(t, tt.field, tt.field, err)
		}
		c, err := w.Contracts.Create(ctx, w.admin, contractInput("student-events"))
		if err != nil || c.Owner != "Chain Office" {
			t.Fatalf("got %+v, %v", c, err)
		}
		_, err = w.Contracts.Create(ctx, w.admin, contractInput("student-events"))
		wantCode(t, "taken id", registry.CodeConflict, err)
	})
}

// Rules: EDU-06b.
func TestContractVersionLife(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		_, err := w.Contracts.Create(ctx, w.admin, contractInput("student-events"))
		must(t, err)
		upload := func(content []byte) (store.ContractVersion, error) {
			return w.Contracts.Upload(ctx, w.admin, "student-events", contracts.Upload{Content: content, FileName: `C:\docs\students.json`})
		}
		first := asyncDocument("1.0.0", enrolled)
		v, err := upload(first)
		must(t, err)
		sum := sha256.Sum256(first)
		if v.Status != store.VersionDraft || v.Version != "1.0.0" || v.Digest != hex.EncodeToString(sum[:]) || v.FileName != "students.json" {
			t.Errorf("got %+v", v)
		}
		second := asyncDocument("1.0.0", enrolled, leftEvent)
		replaced, err := upload(second)
		if err != nil || replaced.ID != v.ID || replaced.Digest == v.Digest {
			t.Errorf("a draft is replaced: %+v, %v", replaced, err)
		}
		if types, _ := w.EventTypes.Catalogue(ctx, registry.Reader{Administrator: true}); len(types) != 0 {
			t.Errorf("a draft fills the catalogue: %v", types)
		}
		v, err = w.publish(ctx, w.admin, "student-events", "1.0.0", "")
		if err != nil || v.Status != store.VersionPublished || v.PublishedAt.IsZero() {
			t.Fatalf("got %+v, %v", v, err)
		}
		_, err = upload(first)
		wantCode(t, "other bytes", registry.CodeConflict, err)
		same, err := upload(second)
		if err != nil || same.Status != store.VersionPublished {
			t.Errorf("same bytes: %+v, %v", same, err)
		}
		wantCode(t, "delete published", registry.CodeConflict, w.Contracts.DeleteDraft(ctx, w.admin, "student-events", "1.0.0"))
		_, content, err := w.Contracts.Original(ctx, registry.Reader{Internal: true}, "student-events", registry.Latest)
		if err != nil || !bytes.Equal(content, second) {
			t.Errorf("original differs: %v", err)
		}
		types, err := w.EventTypes.Catalogue(ctx, registry.Reader{PartnerID: "x"})
		if err != nil || len(types) != 2 || types[0].Name != enrolled {
			t.Errorf("catalogue %+v, %v", types, err)
		}
		if of, err := w.Contracts.EventTypes(ctx, registry.Reader{Internal: true}, "student-events", "1.0.0"); err != nil || len(of) != 2 {
			t.Errorf("%v, %v", of, err)
		}
	})
}

func TestVersionTransitions(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		_, err := w.Contracts.Create(ctx, w.admin, contractInput("student-events"))
		must(t, err)
		next := 0
		// reach makes a version and brings it to a state.
		reach := map[string]func(v string) error{
			"draft": func(string) error { return nil },
			"published": func(v string) error {
				_, err := w.publish(ctx, w.admin, "student-events", v, "")
				return err
			},
			"deprecated": func(v string) error {
				_, err := w.Contracts.Deprecate(ctx, w.admin, "student-events", v, time.Time{}, "")
				return err
			},
			"undeprecated": func(v string) error {
				_, err := w.Contracts.Undeprecate(ctx, w.admin, "student-events", v)
				return err
			},
			"withdrawn": func(v string) error {
				_, err := w.Contracts.Withdraw(ctx, w.admin, "student-events", v, "a mistake")
				return err
			},
		}
		paths := map[string][]string{
			"draft": nil, "published": {"published"}, "deprecated": {"published", "deprecated"}, "withdrawn": {"published", "withdrawn"},
		}
		allowed := map[string]string{
			"draft published": "published", "published deprecated": "deprecated", "published withdrawn": "withdrawn",
			"deprecated undeprecated": "published", "deprecated withdrawn": "withdrawn",
		}
		for state, path := range paths {
			for verb, do := range reach {
				if verb == "draft" {
					continue
				}
				next++
				v := "1.0." + strconv.Itoa(next)
				_, err := w.Contracts.Upload(ctx, w.admin, "student-events", contracts.Upload{Content: asyncDocument(v, enrolled)})
				must(t, err)
				for _, step := range path {
					must(t, reach[step](v))
				}
				err = do(v)
				now, _ := w.db.ContractVersion(ctx, "student-events", v)
				types, _ := w.db.EventTypesOf(ctx, now.ID)
				if to := allowed[state+" "+verb]; to != "" && (err != nil || now.Status != to || types[0].Status != to) {
					t.Errorf("%s from %s: %v, is %s with types %v", verb, state, err, now.Status, types)
				} else if to == "" {
					wantCode(t, verb+" from "+state, registry.CodeConflict, err)
				}
			}
		}
	})
}

func TestSunset(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		w.catalogue(t)
		_, err := w.Contracts.Deprecate(t.Context(), w.admin, "student-events", "1.0.0", w.clock.Now().Add(-time.Hour), "")
		wantField(t, "sunset", err) // a sunset in the past
		sunset := w.clock.Now().Add(90 * 24 * time.Hour)
		v, err := w.Contracts.Deprecate(t.Context(), w.admin, "student-events", "1.0.0", sunset, "use 2.0.0")
		if err != nil || !v.SunsetAt.Equal(sunset.Truncate(time.Microsecond)) {
			t.Errorf("got %+v, %v", v, err)
		}
		if got := w.lastSentence(t); got != "Admin deprecated contract Student events 1.0.0 until 2026-06-12: “use 2.0.0”" {
			t.Errorf("told as %q", got)
		}
	})
}

func TestUploadRefuses(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		_, err := w.Contracts.Create(ctx, w.admin, contractInput("student-events"))
		must(t, err)
		for name, content := range map[string][]byte{
			"empty": nil, "not a contract": []byte(`{}`), "broken": []byte(`{"asyncapi":`), "no info": []byte(`{"asyncapi":"3.0.0"}`),
		} {
			_, err := w.Contracts.Upload(ctx, w.admin, "student-events", contracts.Upload{Content: content})
			invalid, ok := errors.AsType[*contracts.InvalidDocumentError](err)
			if !ok || len(invalid.Findings) == 0 || fieldsOf(err)["document"] == "" {
				t.Errorf("%s: %v", name, err)
			}
		}
		openapi := []byte(`{"openapi":"3.1.0","info":{"title":"T","version":"1.0.0"},"paths":{}}`)
		_, err = w.Contracts.Upload(ctx, w.admin, "student-events", contracts.Upload{Content: openapi})
		wantField(t, "document", err) // other kind
		_, err = w.Contracts.Upload(ctx, w.admin, "student-events", contracts.Upload{Content: asyncDocument("v1", enrolled)})
		wantField(t, "version", err) // no semantic version
		_, err = w.Contracts.Upload(ctx, w.admin, "student-events", contracts.Upload{Version: "1.0.0", Content: asyncDocument("v1", enrolled)})
		must(t, err)
		must(t, w.Contracts.DeleteDraft(ctx, w.admin, "student-events", "1.0.0"))
		_, err = w.Contracts.Upload(ctx, w.admin, "nothing", contracts.Upload{Content: asyncDocument("1.0.0", enrolled)})
		wantCode(t, "unknown contract", registry.CodeNotFound, err)
	})
}

// Rules: EDU-N05.
func TestEventTypeHasOneContract(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.catalogue(t)
		_, err := w.Contracts.Create(ctx, w.admin, contractInput("copycat"))
		must(t, err)
		_, err = w.Contracts.Upload(ctx, w.admin, "copycat", contracts.Upload{Content: asyncDocument("1.0.0", enrolled)})
		must(t, err)
		_, err = w.publish(ctx, w.admin, "copycat", "1.0.0", "")
		wantCode(t, "type of another contract", registry.CodeConflict, err)
		if v, _ := w.db.ContractVersion(ctx, "copycat", "1.0.0"); v.Status != store.VersionDraft {
			t.Errorf("the refused version is %s", v.Status)
		}
	})
}

func TestUploadRealDocuments(t *testing.T) {
	files := needs.Files(t, "contracts", "asyncapi")
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		_, err := w.Contracts.Create(ctx, w.admin, contractInput("real"))
		must(t, err)
		n := 0
		for _, file := range files {
			content, err := os.ReadFile(file)
			if err != nil || len(content) > 1<<20 {
				continue
			}
			n++
			version := "1.0." + strconv.Itoa(n)
			_, err = w.Contracts.Upload(ctx, w.admin, "real", contracts.Upload{Version: version, Content: content})
			if _, refused := errors.AsType[*registry.Error](err); err != nil && !refused {
				t.Errorf("%s: %v", filepath.Base(file), err)
			}
			if err != nil {
				continue
			}
			reader := registry.Reader{Internal: true}
			_, err = w.publish(ctx, w.admin, "real", version, "another document altogether")
			if _, ok := errors.AsType[*contracts.IncompleteError](err); ok {
				reader.Administrator = true // it stays a draft
			} else if err != nil {
				t.Errorf("%s: publish: %v", filepath.Base(file), err)
			}
			if _, got, err := w.Contracts.Original(ctx, reader, "real", version); err != nil || !bytes.Equal(got, content) {
				t.Errorf("%s: does not come back as it went in: %v", filepath.Base(file), err)
			}
		}
	})
}

// A contract names its basis and its contact. Its owner is recorded with the agreement, and so is a transfer.
//
// Rules: EDU-06c, EDU-22, EDU-25, OPEN-09.
func TestContractOwnerIsAgreedAndRecorded(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		p, _, _, _ := w.twoPartners(t)
		in := contractInput("student-events")
		in.Owner, in.Maintainer, in.ContactName, in.ContactEmail = "Chain Office", "Team A", "Ada", "ada@example.nl"
		in.BasedOn, in.Agreement = "Edustandaard OSO 2.4", "Chain board, 1 May 2026"
		_, err := w.Contracts.Create(ctx, w.admin, in)
		must(t, err)
		c, err := w.Contracts.Get(ctx, registry.Reader{Administrator: true}, in.ID)
		if err != nil || c.Owner != "Chain Office" || c.ContactEmail != "ada@example.nl" || c.BasedOn != "Edustandaard OSO 2.4" || c.Agreement == "" {
			t.Errorf("got %+v, %v", c, err)
		}
		in.Owner, in.OwnerPartnerID, in.Agreement = "Noord", p.ID, "Chain board, 1 June 2026"
		_, err = w.Contracts.Update(ctx, w.admin, in.ID, in)
		must(t, err)
		entries, total, err := w.db.Audits(ctx, store.AuditFilter{Action: registry.ActionContractTransferred})
		if err != nil || total != 1 {
			t.Fatalf("%d entries, %v", total, err)
		}
		for _, words := range []string{"Chain Office", "Noord", "1 June 2026"} {
			if !strings.Contains(entries[0].Detail, words) {
				t.Errorf("the entry does not tell %q: %s", words, entries[0].Detail)
			}
		}
		if entries[0].ActorName == "" || entries[0].At.IsZero() {
			t.Errorf("entry %+v", entries[0])
		}
	})
}

// U+0000 may well stand in a document, and is no text to PostgreSQL: the document is kept as it is, with what is shown of
// it cleaned.
func TestContractWithNULInItsTexts(t *testing.T) {
	const document = `asyncapi: 3.0.0
info: {title: "a\0b", version: 1.0.0}
channels:
  c: {address: a, messages: {m: {name: nl.example.text, title: "x\0y", summary: "s\0", description: "d\0", contentType: application/json, payload: {type: string, pattern: "[^\0-\x1f]"}}}}
operations: {o: {action: send, channel: {$ref: '#/channels/c'}}}
`
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		_, err := w.Contracts.Create(ctx, w.admin, contractInput("student-events"))
		must(t, err)
		v, err := w.Contracts.Upload(ctx, w.admin, "student-events", contracts.Upload{Content: []byte(document)})
		must(t, err)
		if v.InfoTitle != "a\ufffdb" {
			t.Errorf("title %q", v.InfoTitle)
		}
		_, err = w.publish(ctx, w.admin, "student-events", "1.0.0", "")
		must(t, err)
		got, err := w.db.EventType(ctx, "nl.example.text")
		if err != nil || got.Title != "x\ufffdy" {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

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

// What changed is told since the newest release below a version, not since a pre-release between them.
//
// Rules: EDU-08
func TestPairSkipsPreReleases(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		_, err := w.Contracts.Create(ctx, w.admin, contractInput("student-events"))
		must(t, err)
		publish := func(version string) {
			t.Helper()
			_, err := w.Contracts.Upload(ctx, w.admin, "student-events", contracts.Upload{Content: asyncDocument(version, enrolled)})
			must(t, err)
			_, err = w.publish(ctx, w.admin, "student-events", version, "")
			must(t, err)
		}
		publish("1.0.0-rc.1")
		publish("1.0.0-rc.2")
		for version, want := range map[string]string{"1.0.0-rc.2": "1.0.0-rc.1"} { // no release is below it
			if before, _, err := w.Contracts.Pair(ctx, registry.Reader{Administrator: true}, "student-events", version, ""); err != nil || before.Version != want {
				t.Errorf("%s is compared with %q, %v", version, before.Version, err)
			}
		}
		for _, version := range []string{"1.0.0", "1.1.0-rc.1", "1.1.0-rc.2", "1.1.0"} {
			publish(version)
		}
		for version, want := range map[string]string{"1.0.0": "1.0.0-rc.2", "1.1.0-rc.2": "1.0.0", "1.1.0": "1.0.0"} {
			if before, _, err := w.Contracts.Pair(ctx, registry.Reader{Administrator: true}, "student-events", version, ""); err != nil || before.Version != want {
				t.Errorf("%s is compared with %q, %v", version, before.Version, err)
			}
		}
	})
}

// A mirror whose filter fits none of the contracts of its source says so.
func TestMirrorFilterThatMatchesNothing(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		o := newOtherRegister(t)
		o.put("students", "1.0.0", "published", "first")
		for pattern, want := range map[string]bool{"stduents": true, "students": false} {
			s := w.mirrors(t, o, func(in *contracts.MirrorInput) { in.Contracts, in.Name = []string{pattern}, pattern })
			run, err := w.Mirrors.Run(t.Context(), s.ID, contracts.MirrorScheduled)
			must(t, err)
			said := i18n.Message(run.Error).String()
			if got := strings.Contains(said, "None of the 1 contracts"); got != want || want && !strings.Contains(said, "the first of the source are students") {
				t.Errorf("%s: %q", pattern, said)
			}
		}
	})
}
