package contracts

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/registry/contracts"
	"schakel/registry/contracts/contract"
	"schakel/registry/contracts/lint"
	"schakel/store"
	"schakel/templates/i18n"
	"schakel/web/api"
	"schakel/web/site"
)

// postVersion keeps a document as a draft version. The body is the document, with
// the version in the query unless the document tells it; or a form of
// multipart/form-data with the parts document, version and main. It can be a zip
// with the files that the document refers to; main names the document in it.
func (m *handlers) postVersion(c echo.Context, who api.Caller) error {
	in, err := readUpload(c)
	if err != nil {
		return err
	}
	id := c.Param("contractId")
	stored, err := m.Registry.Contracts.Upload(c.Request().Context(), who.Actor(), id, in)
	if err != nil {
		return documentProblem(err)
	}
	c.Response().Header().Set("Location", versionPath(id, stored.Version))
	status := http.StatusCreated
	if stored.Status != store.VersionDraft {
		status = http.StatusOK // the same bytes are published already
	}
	answer := newVersionAnswer(stored)
	found, err := contracts.Findings(stored)
	answer.Findings = newFindingAnswers(c.Request().Context(), found)
	files, second := contracts.Files(stored)
	answer.Files = newFileAnswers(files)
	if err := errors.Join(err, second); err != nil {
		return err
	}
	return c.JSON(status, answer)
}

// documentTypes are the media types of a document as the whole body.
func documentTypes() []string {
	return []string{
		"application/json", "application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml", "text/plain", "application/octet-stream",
		"application/zip", "application/x-zip-compressed",
		"application/vnd.oai.openapi", "application/vnd.oai.openapi+json", "application/vnd.oai.openapi+yaml",
		"application/vnd.aai.asyncapi", "application/vnd.aai.asyncapi+json", "application/vnd.aai.asyncapi+yaml",
	}
}

// readUpload reads a document; a body over the limit is a 413.
func readUpload(c echo.Context) (contracts.Upload, error) {
	in := contracts.Upload{Version: c.QueryParam("version"), FileName: c.QueryParam("fileName"), Main: c.QueryParam("main")}
	media, _, err := mime.ParseMediaType(c.Request().Header.Get("Content-Type"))
	if err == nil && media == "multipart/form-data" {
		return readUploadForm(c, in)
	}
	if err != nil || !slices.Contains(documentTypes(), media) {
		return in, site.NewProblem(http.StatusUnsupportedMediaType, "not-a-document",
			"contracts.api.document-media-type")
	}
	in.Content, err = api.ReadAll(c.Request().Body)
	return in, err
}

// readUploadForm reads the parts one by one, so that nothing goes to a temporary file.
func readUploadForm(c echo.Context, in contracts.Upload) (contracts.Upload, error) {
	parts, err := c.Request().MultipartReader()
	if err != nil {
		return in, api.BrokenBody(err)
	}
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return in, api.BrokenBody(err)
		}
		content, err := api.ReadAll(part)
		if err != nil {
			return in, err
		}
		switch part.FormName() {
		case "document":
			in.Content, in.FileName = content, part.FileName()
		case "version":
			in.Version = strings.TrimSpace(string(content))
		case "main":
			in.Main = string(content)
		default:
			return in, site.FieldProblem(part.FormName(), "contracts.api.upload-parts")
		}
	}
	if in.Content == nil {
		return in, site.FieldProblem("document", "contracts.api.upload-part-missing")
	}
	return in, nil
}

// ValidationAnswer describes a document that could be registered.
type ValidationAnswer struct {
	Kind        string          `json:"kind"`
	SpecVersion string          `json:"specVersion"`
	Format      string          `json:"format"`
	Title       string          `json:"title"`
	Version     string          `json:"version"`
	EventTypes  []string        `json:"eventTypes,omitempty"`
	Publishable bool            `json:"publishable"` // false while something is missing or the score is too low
	Files       []FileAnswer    `json:"files,omitempty"`
	Findings    []FindingAnswer `json:"findings"`
	Lint        *LintAnswer     `json:"lint"`
}

// postValidation looks at a document without keeping it: the dry run of an upload.
func (m *handlers) postValidation(c echo.Context) error {
	in, err := readUpload(c)
	if err != nil {
		return err
	}
	read, found, err := m.Registry.Contracts.ValidateUpload(c.Request().Context(), in)
	if err != nil {
		return err
	}
	if read == nil || contract.Refused(found) {
		return documentProblem(&contracts.InvalidDocumentError{Findings: found})
	}
	doc := read.Document
	answer := ValidationAnswer{
		Kind: string(doc.Kind), SpecVersion: doc.SpecVersion, Format: doc.Format, Title: doc.Title, Version: doc.Version,
		Publishable: !contract.HasErrors(found), Files: newFileAnswers(read.Files), Findings: newFindingAnswers(c.Request().Context(), found),
	}
	report, err := m.Registry.Advice.OnUpload(c.Request().Context(), read)
	if err != nil {
		return err
	}
	enough, err := m.Registry.Advice.GoodEnough(c.Request().Context(), report)
	if err != nil {
		return err
	}
	answer.Lint, answer.Publishable = newLintAnswer(c.Request().Context(), report), answer.Publishable && enough
	for _, t := range doc.EventTypes() {
		answer.EventTypes = append(answer.EventTypes, t.Type)
	}
	return c.JSON(http.StatusOK, answer)
}

// documentProblem is the answer to a document that cannot be registered, with
// all that is wrong with it and where.
func documentProblem(err error) error {
	invalid, ok := errors.AsType[*contracts.InvalidDocumentError](err)
	if !ok {
		return err
	}
	p := site.NewProblem(http.StatusBadRequest, "document-invalid", "contracts.api.document-invalid")
	for _, f := range invalid.Findings {
		p.Errors = append(p.Errors, site.ProblemError{
			Severity: f.Severity, Pointer: f.Pointer, Line: f.Line, Column: f.Column, Code: f.Code, Detail: findingText(f),
		})
	}
	return p
}

// findingText joins a finding, the file of a zip that it stands in, and its remedy.
func findingText(f contract.Finding) i18n.Message {
	text := withRemedy(f.Detail, i18n.Message(f.Remedy))
	if file := inFile(f); file != "" {
		return i18n.M("contracts.api.finding-in-file", file, text)
	}
	return text
}

// withRemedy adds a second sentence to a first, if there is one.
func withRemedy(detail, remedy i18n.Message) i18n.Message {
	if remedy == "" {
		return detail
	}
	return i18n.M("contracts.api.finding", detail, remedy)
}

// inFile names the file of a zip that has a finding; nothing for a document by itself.
func inFile(f contract.Finding) i18n.Message {
	switch {
	case f.File == "":
		return ""
	case f.FileLine > 0:
		return i18n.M("contracts.version.file-line", f.File, f.FileLine)
	}
	return i18n.Raw(f.File)
}

// LintAnswer is the advice on a document.
type LintAnswer struct {
	Score    int              `json:"score"`
	Sets     []lintSetAnswer  `json:"sets"`
	Rules    []lintRuleAnswer `json:"rules"`
	Findings []FindingAnswer  `json:"findings"`
}

type lintSetAnswer struct {
	Name  string `json:"name"`
	Score int    `json:"score"`
}

// lintRuleAnswer is a rule and how the document does by it.
type lintRuleAnswer struct {
	Code     string `json:"code"`
	ID       string `json:"id"`
	Set      string `json:"set"`
	Title    string `json:"title"`
	Severity string `json:"severity"`
	State    string `json:"state"`
	Count    int    `json:"count"`
	Link     string `json:"link"`
}

func newLintAnswer(ctx context.Context, r lint.Report) *LintAnswer {
	answer := &LintAnswer{Score: r.Score, Sets: []lintSetAnswer{}, Findings: newFindingAnswers(ctx, r.Findings)}
	for _, set := range lint.Sets() {
		if score, applies := r.SetScore(set); applies {
			answer.Sets = append(answer.Sets, lintSetAnswer{i18n.Message(set).In(ctx), score})
		}
	}
	for _, o := range r.Outcomes {
		answer.Rules = append(answer.Rules, lintRuleAnswer{o.Code, o.ID, i18n.Message(o.Set).In(ctx), o.Title.In(ctx), o.Severity, string(o.State), o.Count, o.Link})
	}
	return answer
}

// lintOf is the advice on a version that the reader may see.
func (m *handlers) lintOf(c echo.Context, reader registry.Reader, id, version string) (*LintAnswer, error) {
	ctx := c.Request().Context()
	_, report, err := m.Registry.Advice.On(ctx, reader, id, version)
	if err != nil {
		return nil, err
	}
	return newLintAnswer(ctx, report), nil
}
