package contracts

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"schakel/registry"
	"schakel/registry/contracts/bundle"
	"schakel/registry/contracts/contract"
	"schakel/store"
	"schakel/templates/i18n"
)

// InvalidDocumentError says that a document cannot be registered, with all that
// is wrong with it. It is also an *Error of CodeInvalid with the field document.
type InvalidDocumentError struct {
	Findings []contract.Finding
}

// Error counts what is wrong.
func (e *InvalidDocumentError) Error() string {
	return fmt.Sprintf("invalid document: %d findings", len(e.Findings))
}

// Unwrap makes it an *Error for whoever does not show findings.
func (e *InvalidDocumentError) Unwrap() error {
	text := i18n.Message("contracts.document.unusable")
	if len(e.Findings) > 0 {
		text = e.Findings[0].Detail
	}
	return registry.Invalid(registry.Problems{"document": text})
}

// Upload is a document for a contract, or a zip of it with the files it refers to.
type Upload struct {
	Version  string // empty: the version its info tells
	FileName string // as its owner calls it; may be empty
	Main     string // the document in a zip; empty: see contract.ReadUpload
	Content  []byte
	// Fetch asks to fetch what the document refers to at addresses, once, and to keep it with the document in a zip.
	Fetch bool
}

// Validate looks at a document without keeping it: what it is, what is found in
// it, and whether it could be registered. It waits while others are looked at.
func (c *Contracts) Validate(ctx context.Context, content []byte) (doc *contract.Document, findings []contract.Finding, err error) {
	read, findings, err := c.ValidateUpload(ctx, Upload{Content: content})
	if read != nil {
		doc = read.Document
	}
	return doc, findings, err
}

// ValidateUpload is Validate for what can also be a zip (EDU-21). The upload is nil
// when it could not be read; with contract.Refused findings it is not kept either.
func (c *Contracts) ValidateUpload(ctx context.Context, in Upload) (read *contract.Upload, findings []contract.Finding, err error) {
	if len(in.Content) == 0 {
		in.Content = []byte{}
	}
	leave, err := c.turns.take(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer leave()
	read, findings, err = contract.ReadUpload(in.Content, strings.TrimSpace(in.Main), contract.Limits{})
	if err != nil {
		return nil, nil, fmt.Errorf("read contract: %w", err)
	}
	if read != nil {
		findings, err = c.judgeSpec(ctx, read.Document, read.Validate())
	}
	return read, findings, err
}

// Upload keeps a document as a draft version. A draft can be replaced; the bytes of a version that was published cannot
// (CodeConflict), and sending the same bytes again changes nothing. A document that refers to what was not uploaded is kept too,
// but not published before the rest is there. It answers an *InvalidDocumentError for a document with errors, and an *Error with
// the field version or document.
func (c *Contracts) Upload(ctx context.Context, actor registry.Actor, id string, in Upload) (store.ContractVersion, error) {
	in, fetched, err := c.fetchReferences(ctx, actor, in)
	if err != nil {
		return store.ContractVersion{}, err
	}
	read, findings, err := c.ValidateUpload(ctx, in)
	if err != nil {
		return store.ContractVersion{}, err
	}
	if read == nil || contract.Refused(findings) {
		return store.ContractVersion{}, &InvalidDocumentError{Findings: findings}
	}
	doc := read.Document
	draft, err := draftOf(id, in, read, findings)
	if err != nil {
		return store.ContractVersion{}, err
	}
	draft.CreatedBy = actor.Name
	err = c.change(ctx, actor, id, func(tx *store.Tx, row *store.Contract) error {
		if row.Kind != string(doc.Kind) {
			return registry.Invalid(registry.Problems{"document": i18n.M("contracts.document.other-kind", string(doc.Kind), row.Kind)})
		}
		if err := refuseCopy(ctx, tx, row.ID); err != nil {
			return err
		}
		return saveDraft(ctx, tx, actor, *row, &draft, fetched)
	})
	if err != nil {
		return store.ContractVersion{}, err
	}
	draft.Original, draft.Bundle = nil, nil
	return draft, nil
}

func draftOf(id string, in Upload, read *contract.Upload, findings []contract.Finding) (store.ContractVersion, error) {
	doc, version := read.Document, strings.TrimSpace(in.Version)
	if version == "" {
		version = strings.TrimSpace(doc.Version)
	}
	if text := registry.CheckVersion(version); text != "" {
		return store.ContractVersion{}, registry.Invalid(registry.Problems{"version": text})
	}
	list, err := json.Marshal(append([]contract.Finding{}, findings...))
	if err != nil {
		return store.ContractVersion{}, fmt.Errorf("write findings: %w", err)
	}
	draft := store.ContractVersion{
		ContractID: id, Version: version, SortKey: registry.VersionSortKey(version), Status: store.VersionDraft,
		SpecVersion: doc.SpecVersion, Format: doc.Format, FileName: cleanFileName(in.FileName),
		InfoTitle: storable(doc.Title), InfoVersion: storable(doc.Version), Original: bytes.Clone(in.Content), Size: int64(len(in.Content)),
		Digest: digestOf(in.Content), Findings: string(list),
	}
	if len(read.Files) == 0 {
		return draft, nil
	}
	files, err := json.Marshal(read.Files)
	draft.Bundle, draft.BundleDigest, draft.Files = read.Content, digestOf(read.Content), string(files)
	return draft, err
}

// storable is text of a document for a column of the database: PostgreSQL has no U+0000, which may well stand in a
// document, as in the pattern of a schema.
func storable(text string) string { return strings.ReplaceAll(text, "\x00", "\ufffd") }

func digestOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// saveDraft adds a draft, or writes it over the draft of the same version.
func saveDraft(ctx context.Context, tx *store.Tx, actor registry.Actor, row store.Contract, draft *store.ContractVersion, fetched int) error {
	old, err := tx.ContractVersion(ctx, row.ID, draft.Version)
	switch {
	case errors.Is(err, store.ErrNotFound):
		err = tx.InsertContractVersion(ctx, draft)
	case err != nil:
		return fmt.Errorf("find version: %w", err)
	case old.Digest == draft.Digest && old.BundleDigest == draft.BundleDigest:
		*draft = old
		return nil
	case old.Status != store.VersionDraft:
		return registry.Conflict("contracts.version-refused.frozen", old.Version, row.Title, stateWord(old.Status))
	default:
		draft.ID = old.ID
		err = tx.ReplaceDraft(ctx, draft)
	}
	if err != nil {
		return fmt.Errorf("save draft: %w", err)
	}
	return registry.Record(ctx, tx, actor, registry.ActionContractUploaded, versionObject(row, *draft), registry.Details{"digest": draft.Digest, "fetched": countText(fetched)})
}

// cleanFileName keeps what can stand in a Content-Disposition header.
func cleanFileName(name string) string {
	name = path.Base(strings.ReplaceAll(name, `\`, "/"))
	name = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == utf8.RuneError || strings.ContainsRune(`"<>|:*?`, r) {
			return -1
		}
		return r
	}, name)
	if len(name) > 200 || strings.Trim(name, "./ ") == "" {
		return ""
	}
	return name
}

// judgeSpec adds what the profile says of the version of the specification that a
// document follows: OpenAPI 3.2 and AsyncAPI 3.1 are asked for (EDU-21, OPEN-10).
func (c *Contracts) judgeSpec(ctx context.Context, doc *contract.Document, findings []contract.Finding) ([]contract.Finding, error) {
	state, err := c.profile.InForce(ctx)
	if err != nil {
		return nil, err
	}
	if state.SpecVersions == registry.PolicyAccept || specAsked(doc) {
		return findings, nil
	}
	found := contract.Finding{
		Severity: contract.SeverityWarning, Code: "spec-version", Pointer: "/" + string(doc.Kind),
		Detail: i18n.M("contracts.document.spec-version", doc.SpecVersion),
		Remedy: "contracts.document.spec-version-remedy",
	}
	if state.SpecVersions == registry.PolicyRefuse {
		found.Severity = contract.SeverityError
	}
	found.Line, found.Column = doc.Locate(found.Pointer)
	return append([]contract.Finding{found}, findings...), nil
}

func specAsked(doc *contract.Document) bool {
	if doc.Kind == contract.OpenAPI {
		return strings.HasPrefix(doc.SpecVersion, "3.2.")
	}
	return strings.HasPrefix(doc.SpecVersion, "3.1.")
}

// fetchTime bounds how long an upload waits for what it refers to; the answer must be out within a minute.
const fetchTime = 40 * time.Second

// fetchReferences makes an upload that asks for it a zip with what it refers to at addresses, and counts what was fetched.
// It needs no turn: it waits for other servers most of the time.
func (c *Contracts) fetchReferences(ctx context.Context, actor registry.Actor, in Upload) (Upload, int, error) {
	if !in.Fetch {
		return in, 0, nil
	}
	http, err := c.fetcher(ctx, actor)
	if err != nil {
		return in, 0, err
	}
	leave, err := c.fetches.take(ctx)
	if err != nil {
		return in, 0, err
	}
	defer leave()
	made, findings, err := bundle.Make(ctx, bundle.Config{HTTP: http, Now: c.cfg.Now, TotalTimeout: fetchTime},
		bundle.Source{Content: in.Content, Name: in.FileName, Main: strings.TrimSpace(in.Main)})
	if err != nil {
		return in, 0, err
	}
	if len(findings) > 0 {
		return in, 0, &InvalidDocumentError{Findings: findings}
	}
	if len(made.Fetched) == 0 {
		return in, 0, nil
	}
	if c.cfg.MaxDocumentBytes > 0 && int64(len(made.Zip)) > c.cfg.MaxDocumentBytes {
		return in, 0, &InvalidDocumentError{Findings: []contract.Finding{{
			Severity: contract.SeverityError, Code: "fetch-too-large", Line: 1, Column: 1,
			Detail: "contracts.document.fetched-too-large", Remedy: "contracts.document.fetched-too-large-remedy",
		}}}
	}
	if name := in.FileName; name != "" && !contract.IsArchive(in.Content) {
		in.FileName = strings.TrimSuffix(name, path.Ext(name)) + ".zip"
	}
	if !contract.IsArchive(in.Content) {
		in.Main = ""
	}
	in.Content = made.Zip
	return in, len(made.Fetched), nil
}

// fetcher is the client for the references of an actor's document. Only the own organisation may read what stands at private
// addresses that the installation allows: the document shows it to whoever uploads.
func (c *Contracts) fetcher(ctx context.Context, actor registry.Actor) (bundle.Doer, error) {
	reader, err := c.maintainer(ctx, actor)
	if err != nil {
		return nil, err
	}
	http := c.cfg.PublicHTTP
	if reader.Administrator || actor.Administrator {
		http = c.cfg.MirrorHTTP
	}
	if http == nil {
		return nil, &registry.Error{Code: registry.CodeForbidden, Message: "contracts.document.no-fetch"}
	}
	return http, nil
}

// countText writes a count for the audit trail, and nothing for none.
func countText(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}
