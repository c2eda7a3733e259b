package web

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/labstack/echo/v4"
	"schakel/registry/contracts"
	"schakel/registry/contracts/contract"
	view "schakel/templates/contracts"
	"schakel/templates/ui"
)

// uploadForm shows the form for a new version.
func (p *portal) uploadForm(c echo.Context) error {
	return p.showUpload(c, http.StatusOK, documentForm{}, nil, nil)
}

// uploadVersion keeps a document as a draft. What is wrong with a document is
// shown with its lines, and pasted text stays in the form.
func (p *portal) uploadVersion(c echo.Context) error {
	if _, _, err := p.maintained(c); err != nil {
		return err
	}
	in, err := readDocumentForm(c)
	if err != nil {
		return err
	}
	if len(in.content()) == 0 {
		return p.showUpload(c, http.StatusUnprocessableEntity, in, nil, formErrors{"document": "Choose a file, or paste the document."})
	}
	id := c.Param("id")
	version, err := p.Registry.Contracts.Upload(c.Request().Context(), actor(c), id, contracts.Upload{
		Version: in.version, FileName: in.fileName, Main: in.main, Content: in.content(), Fetch: in.fetch,
	})
	if e, ok := errors.AsType[*contracts.InvalidDocumentError](err); ok {
		worstFirst(e.Findings)
		return p.showUpload(c, http.StatusUnprocessableEntity, in, e.Findings, formErrors{in.field(): "The document cannot be registered as it is; see what is wrong with it in the table of findings."})
	}
	if status, wrong := formRefusal(err); wrong != nil {
		if text := wrong["document"]; text != "" {
			wrong = formErrors{in.field(): text}
		}
		return p.showUpload(c, status, in, nil, wrong)
	}
	if err != nil {
		return err
	}
	return p.done(c, contractVersionHref(id, version.Version), "Version "+version.Version+" is uploaded.")
}

// worstFirst puts what stops a document before what is only advice.
func worstFirst(findings []contract.Finding) {
	ranks := []string{contract.SeverityError, contract.SeverityWarning, contract.SeverityInfo}
	slices.SortStableFunc(findings, func(a, b contract.Finding) int {
		return cmp.Compare(slices.Index(ranks, a.Severity), slices.Index(ranks, b.Severity))
	})
}

func (p *portal) showUpload(c echo.Context, status int, in documentForm, findings []contract.Finding, wrong formErrors) error {
	reader, row, err := p.maintained(c)
	if err != nil {
		return err
	}
	page := p.frame(c, "Upload a version of "+row.Title,
		ui.Crumb{Label: "Contracts", Href: "/contracts"}, ui.Crumb{Label: row.Title, Href: contractHref(row.ID)})
	page.Invalid = wrong != nil
	rows, source := refusedSource(in.content(), findings)
	return p.render(c, status, view.UploadPage(page, view.UploadView{
		Action: maintainHref(reader, row.ID) + "/versions", Version: in.version, Main: in.main, Text: in.text, Fetch: in.fetch, Kind: row.Kind, MaxBytes: p.DocumentBytes,
		Findings: rows, Source: source, Wrong: wrong,
	}))
}

// refusedSource is the part of a refused document with the first finding, with
// findings that lead to its lines. What is in a zip has no lines to lead to.
func refusedSource(content []byte, findings []contract.Finding) ([]view.FindingRow, view.SourceView) {
	rows := findingRows(findings, "")
	if len(findings) == 0 || contract.IsArchive(content) {
		return rows, view.SourceView{}
	}
	excerpts(rows, content)
	v := sourceView(content, max(1, findings[0].Line), findings, "")
	v.PrevHref, v.NextHref = "", "" // it is kept nowhere, so there are no other parts
	for i, f := range findings {
		if f.Line >= v.First && f.Line < v.First+len(v.Lines) {
			rows[i].Href = "#L" + strconv.Itoa(f.Line)
		}
	}
	return rows, v
}

// documentForm is an upload as the form sends it.
type documentForm struct {
	file                []byte
	fileName            string
	text, version, main string
	fetch               bool // fetch what it refers to at addresses
}

// content is the file, or the pasted text when there is none.
func (d documentForm) content() []byte {
	if len(d.file) > 0 {
		return d.file
	}
	return []byte(d.text)
}

// field is the field the document came from.
func (d documentForm) field() string {
	if len(d.file) > 0 {
		return "document"
	}
	return "text"
}

// readDocumentForm reads the parts one by one, so that nothing goes to a
// temporary file; the group bounds the body.
func readDocumentForm(c echo.Context) (documentForm, error) {
	var in documentForm
	parts, err := c.Request().MultipartReader()
	if err != nil {
		return in, echo.NewHTTPError(http.StatusUnsupportedMediaType, "Send this form as multipart/form-data.").SetInternal(err)
	}
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return in, nil
		}
		if err != nil {
			return in, badForm(fmt.Errorf("read upload: %w", err))
		}
		content, err := io.ReadAll(part)
		if err != nil {
			return in, badForm(fmt.Errorf("read upload: %w", err))
		}
		if err := in.set(part.FormName(), part.FileName(), content); err != nil {
			return in, err
		}
	}
}

func (d *documentForm) set(name, fileName string, content []byte) error {
	if name == "document" {
		d.file, d.fileName = content, fileName
		return nil
	}
	if !utf8.Valid(content) {
		return echo.NewHTTPError(http.StatusBadRequest, "The form is not valid UTF-8.")
	}
	switch name {
	case "text":
		// Browsers send the lines of a text area with CR LF, whatever was pasted.
		d.text = strings.ReplaceAll(string(content), "\r\n", "\n")
		if strings.TrimSpace(d.text) == "" {
			d.text = ""
		}
	case "version":
		d.version = clean(string(content))
	case "main":
		d.main = clean(string(content))
	case "fetch":
		d.fetch = len(content) > 0
	}
	return nil
}
