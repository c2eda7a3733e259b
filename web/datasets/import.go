package datasets

import (
	"bufio"
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/labstack/echo/v4"
	"schakel/delivery/mutation/archive"
	"schakel/delivery/mutation/format"
	"schakel/delivery/mutation/ingest"
	"schakel/store"
	view "schakel/templates/datasets"
	"schakel/templates/i18n"
	"schakel/templates/ui"
	"schakel/web/site"
)

// Bounds of an import in the portal. The import is read as a stream, so they bound time, not memory.
const (
	maxImportBytes = 1 << 40
	importTime     = 24 * time.Hour
	maxFieldBytes  = 64 << 10
)

// importForm holds the fields typed beside the file.
type importForm struct{ key, kind, replace string }

// newImportKey returns a key that no other import has.
func newImportKey() string { return "import-" + rand.Text() }

// cutShort reports whether a file was truncated already before its upload, which came in whole.
func cutShort(err error) bool {
	if _, broken := errors.AsType[*echo.HTTPError](err); broken {
		return false
	}
	return errors.Is(err, format.ErrTruncated) || errors.Is(err, archive.ErrTruncated) || errors.Is(err, io.ErrUnexpectedEOF)
}

// importPage asks for a mutation file. With a publication it goes on with that one.
func (p *Pages) importPage(c echo.Context) error {
	in := importForm{key: newImportKey()}
	if id := c.QueryParam("publication"); id != "" {
		one, err := p.publication(c, id)
		if err != nil {
			return err
		}
		in.key, in.kind = one.RequestKey, one.Kind
	}
	return p.showDatasetImport(c, http.StatusOK, in, view.ImportView{})
}

// importFile takes a mutation file in while it comes.
func (p *Pages) importFile(c echo.Context) error {
	d, err := p.Registry.Datasets.Get(c.Request().Context(), c.Param("dataset"))
	if err != nil {
		return err
	}
	parts, err := c.Request().MultipartReader()
	if err != nil {
		return echo.NewHTTPError(http.StatusUnsupportedMediaType, i18n.Message("datasets.form.multipart")).SetInternal(err)
	}
	in, part, err := readImport(parts)
	if err != nil {
		return err
	}
	source := &streamError{from: part}
	body := bufio.NewReaderSize(source, 64<<10)
	if start, _ := body.Peek(1); part == nil || len(start) == 0 {
		return p.showDatasetImport(c, http.StatusUnprocessableEntity, in, view.ImportView{Wrong: site.FormErrors{"file": "datasets.import.empty"}})
	}
	receipt, err := p.Ingester.Publish(c.Request().Context(), ingest.Request{
		Dataset: d.ID, ClientID: site.Actor(c).ID, By: site.Actor(c).Name, ByKind: site.Actor(c).Kind, Key: in.key, Kind: in.kind, Name: part.FileName(), Replace: in.replace,
		BytesTotal: max(0, c.Request().ContentLength), Source: importSource(part.FileName(), body),
	})
	if err := errors.Join(err, source.form()); err != nil {
		return p.importRefused(c, in, err)
	}
	text := i18n.M("datasets.import.done", receipt.Publication.Groups)
	if receipt.Replayed {
		text = "datasets.import.replayed"
	}
	return p.Done(c, publicationRow(c.Request().Context(), receipt.Publication).Href, text)
}

// readImport reads the fields up to the file, which is the last; the part is nil without one.
func readImport(parts *multipart.Reader) (in importForm, file *multipart.Part, err error) {
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return in, nil, nil
		}
		if err != nil {
			return in, nil, site.BadForm(fmt.Errorf("read upload: %w", err))
		}
		if part.FormName() == "file" {
			return in, part, nil
		}
		value, err := io.ReadAll(http.MaxBytesReader(nil, part, maxFieldBytes))
		if err != nil || !utf8.Valid(value) {
			return in, nil, site.BadForm(fmt.Errorf("read upload: %w", err))
		}
		switch part.FormName() {
		case "key":
			in.key = site.Clean(string(value))
		case "kind":
			if in.kind = site.Clean(string(value)); in.kind == "auto" {
				in.kind = ""
			}
		case "replace":
			in.replace = site.Clean(string(value))
		}
	}
}

// importSource reads a file of the format, or a delivery when it is a zip, which its first bytes tell.
func importSource(name string, in *bufio.Reader) ingest.Source {
	if start, err := in.Peek(4); err == nil && string(start[:2]) == "PK" {
		return ingest.FromZip(in, archive.Limits{}, format.Limits{})
	}
	return ingest.FromXML(name, in, format.Limits{})
}

// importRefused shows why a file was not taken in, and what of it was.
func (p *Pages) importRefused(c echo.Context, in importForm, err error) error {
	ctx, v, status := c.Request().Context(), view.ImportView{Wrong: site.FormErrors{}}, http.StatusUnprocessableEntity
	refused, ok := errors.AsType[*ingest.Refused](err)
	switch {
	case ok:
		for _, one := range refused.Problems {
			v.Problems = append(v.Problems, view.ImportProblem{
				File: one.File, Line: one.Line, Group: one.Group, Mutation: one.Mutation, Code: one.Code, ID: one.ID, Detail: one.Detail.In(ctx), Remedy: one.Remedy.In(ctx),
			})
		}
		if refused.Publication.Groups > 0 {
			row := publicationRow(ctx, refused.Publication)
			v.Publication = &row
		}
	case errors.Is(err, ingest.ErrKind):
		v.Wrong["kind"] = "datasets.import.kind-missing"
	case errors.Is(err, ingest.ErrNotEmpty):
		v.Wrong["replace"] = "datasets.import.not-empty"
	case errors.Is(err, ingest.ErrOtherContent):
		in.key = newImportKey()
		v.Wrong["file"] = "datasets.import.other-content"
	case errors.Is(err, ingest.ErrCancelled):
		in.key = newImportKey()
		v.Wrong["file"] = "datasets.import.cancelled"
	case errors.Is(err, ingest.ErrReplaced):
		in.key = newImportKey()
		v.Wrong["file"] = "datasets.import.replaced"
	case errors.Is(err, ingest.ErrElsewhere):
		v.Wrong[""], status = "datasets.import.elsewhere", http.StatusConflict
	case errors.Is(err, ingest.ErrEnded):
		v.Wrong[""], status = "datasets.import.dataset-ended", http.StatusConflict
	case cutShort(err):
		v.Wrong["file"] = "datasets.import.cut-short"
	default:
		return err
	}
	return p.showDatasetImport(c, status, in, v)
}

func (p *Pages) showDatasetImport(c echo.Context, status int, in importForm, v view.ImportView) error {
	d, page, err := p.datasetOf(c, "datasets.admin.import")
	if err != nil {
		return err
	}
	if d.Status != store.DatasetActive {
		return p.OwnPages("/admin").Closed(c, nil, "/datasets/"+d.ID)
	}
	v.Action, v.Cancel, v.Dataset, v.Now = datasetHref(d.ID)+"/import", datasetHref(d.ID), d.Title, p.Cfg.Now()
	v.Key, v.Kind, v.Replace = in.key, cmp.Or(in.kind, "auto"), in.replace
	page.Invalid = len(v.Wrong)+len(v.Problems) > 0
	return p.Render(c, status, view.ImportPage(page, v))
}

// publicationEvery sets how often the page of a publication refreshes its progress.
const publicationEvery = 2 * time.Second

// publication finds a publication of the dataset of the address.
func (p *Pages) publication(c echo.Context, id string) (store.MutationPublication, error) {
	one, err := p.DB.Publication(c.Request().Context(), id)
	if err == nil && one.DatasetID != c.Param("dataset") {
		err = store.ErrNotFound
	}
	return one, err
}

// publicationPage shows how far a publication is.
func (p *Pages) publicationPage(c echo.Context) error {
	one, err := p.publication(c, c.Param("publication"))
	if err != nil {
		return err
	}
	d, page, err := p.datasetOf(c, i18n.M("datasets.import.title", one.CreatedAt.Time))
	if err != nil {
		return err
	}
	row := publicationRow(c.Request().Context(), one)
	v := view.PublicationView{
		PublicationRow: row, Here: row.Href, Dataset: ui.Named{Name: d.Title, Href: datasetHref(d.ID)},
		First: one.FirstSeq, Last: one.LastSeq, Updated: one.UpdatedAt.Time, Now: p.Cfg.Now(), Every: publicationEvery,
	}
	own := one.ClientID == site.Actor(c).ID && one.RequestKey != "" && d.Status == store.DatasetActive
	if own && (one.Status == store.MutationFailed || one.Status == store.MutationRunning) {
		v.AgainHref = datasetHref(d.ID) + "/import?publication=" + one.ID
	}
	page.Badge = ui.State(one.Status)
	return p.Render(c, http.StatusOK, view.PublicationPage(page, v))
}

// cancelPublication stops a publication; what is in stays in.
func (p *Pages) cancelPublication(c echo.Context) error {
	one, err := p.publication(c, c.Param("publication"))
	if err != nil {
		return err
	}
	err = p.Registry.Datasets.CancelPublication(c.Request().Context(), site.Actor(c), one.DatasetID, one.ID)
	return p.OwnPages("/admin").Settled(c, err, publicationRow(c.Request().Context(), one).Href, "datasets.import.stopped")
}
