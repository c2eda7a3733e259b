package amqp

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/labstack/echo/v4"
	registryamqp "schakel/registry/amqp"
	"schakel/registry/amqp/cpa"
	view "schakel/templates/amqp"
	"schakel/templates/i18n"
	"schakel/templates/ui"
	"schakel/web/site"
)

// maxAMQPDocument bounds the bytes of a CPA, a CPP or communication details. maxTakenForm bounds a form that has one in a field, encoded, or sealed
// while its sender proves who it is.
const (
	maxAMQPDocument = 2 << 20
	maxTakenForm    = 4 * maxAMQPDocument
)

// importPage asks for a document about parties.
func (a AMQPArea) importPage(c echo.Context) error {
	return a.showAMQPImport(c, http.StatusOK, "", nil)
}

func (a AMQPArea) showAMQPImport(c echo.Context, status int, text string, wrong site.FormErrors) error {
	ctx := c.Request().Context()
	page := a.pageFrame(c, i18n.T(ctx, "amqp.import.title"))
	page.Lead = i18n.T(ctx, "amqp.import.lead")
	page.Invalid = len(wrong) > 0
	return a.Render(c, status, view.AMQPImportPage(page, view.AMQPImportView{Action: a.root() + "/import", Cancel: a.root(), Text: text, Wrong: wrong}))
}

// previewDetails shows what a document would change.
func (a AMQPArea) previewDetails(c echo.Context) error {
	in, err := site.ReadDocumentForm(c)
	if err != nil {
		return err
	}
	content := in.Content()
	switch {
	case len(content) == 0:
		return a.showAMQPImport(c, http.StatusUnprocessableEntity, in.Text, site.FormErrors{"document": "amqp.import.document-missing"})
	case !utf8.Valid(content):
		return a.showAMQPImport(c, http.StatusUnprocessableEntity, "", site.FormErrors{"document": "amqp.import.not-utf8"})
	}
	return a.previewImport(c, http.StatusOK, in, nil)
}

// takeDetails takes a document over for the party that was chosen.
func (a AMQPArea) takeDetails(c echo.Context) error {
	read := func(form site.Form) site.DocumentForm {
		return site.DocumentForm{Text: strings.ReplaceAll(form.Raw("text"), "\r\n", "\n"), Main: form.Get("main")}
	}
	return site.Submit(c, read, func(in site.DocumentForm) error {
		her, err := strconv.ParseInt(in.Main, 10, 32)
		if err != nil {
			return echo.NewHTTPError(http.StatusBadRequest, i18n.T(c.Request().Context(), "amqp.import.main-bad"))
		}
		row, err := a.Registry.AMQP.TakeImport(c.Request().Context(), site.Actor(c), in.Content(), her)
		return a.saved(c, err, a.party(row.ID), i18n.M("amqp.import.taken", row.Name))
	}, a.previewImport)
}

func (a AMQPArea) previewImport(c echo.Context, status int, in site.DocumentForm, wrong site.FormErrors) error {
	ctx := c.Request().Context()
	told, err := a.Registry.AMQP.ReadImport(ctx, site.Actor(c), in.Content())
	if fields, ok := site.Refused(err); ok {
		return a.showAMQPImport(c, http.StatusUnprocessableEntity, in.Text, site.FormErrors{in.Field(): fields["text"]})
	}
	if err != nil {
		return err
	}
	v := view.AMQPImportView{Action: a.root() + "/import", Text: string(in.Content()), Findings: texts(ctx, told.Findings), Wrong: joinedProblems(ctx, wrong)}
	for _, p := range told.Parties {
		v.Parties = append(v.Parties, a.importRow(ctx, p))
	}
	page := a.pageFrame(c, previewTitle(ctx, told.Kind), ui.Crumb{Label: i18n.T(ctx, "amqp.import.crumb"), Href: a.root() + "/import"})
	page.Invalid = len(wrong) > 0
	return a.Render(c, status, view.AMQPImportPreview(page, v))
}

func previewTitle(ctx context.Context, kind cpa.Kind) string {
	switch kind {
	case cpa.Agreement:
		return i18n.T(ctx, "amqp.import.preview-cpa")
	case cpa.Profile:
		return i18n.T(ctx, "amqp.import.preview-cpp")
	}
	return i18n.T(ctx, "amqp.import.preview-details")
}

// texts writes messages for the reader of a context.
func texts(ctx context.Context, list []i18n.Message) []string {
	written := make([]string, len(list))
	for i, one := range list {
		written[i] = one.In(ctx)
	}
	return written
}

// joinedProblems joins the problems of all fields into one line: the fields are not on the page.
func joinedProblems(ctx context.Context, wrong site.FormErrors) map[string]i18n.Message {
	var lines []string
	for _, f := range site.SortedFields(wrong) {
		lines = append(lines, f.Text.In(ctx))
	}
	if len(lines) == 0 {
		return nil
	}
	return map[string]i18n.Message{"": i18n.Raw(strings.Join(lines, " "))}
}

func (a AMQPArea) importRow(ctx context.Context, p registryamqp.ImportParty) view.AMQPImportRow {
	her := strconv.Itoa(p.Details.HerID)
	row := view.AMQPImportRow{Title: cmp.Or(p.Details.Name, i18n.T(ctx, "amqp.her-id-named", her)), Her: her, Changes: texts(ctx, p.Changes), Asides: texts(ctx, p.Asides)}
	switch {
	case p.Party == nil:
		row.About = i18n.T(ctx, "amqp.import.nobody", her)
		return row
	case len(p.Changes) == 0:
		row.About = i18n.T(ctx, "amqp.import.same", her)
	default:
		row.About = i18n.T(ctx, "amqp.import.would-change", her)
	}
	row.Here = ui.Named{Name: p.Party.Name, Href: a.party(p.Party.ID)}
	for _, one := range p.Open {
		q := url.Values{"name": {one.Name}, "subject": {one.Subject}, "service": {one.Service}, "toRole": {one.Role}, "cpaId": {p.Details.CPAID}}
		row.Open = append(row.Open, ui.Named{Name: i18n.T(ctx, "amqp.import.process-of-subject", cmp.Or(one.Name, one.Subject), one.Subject), Href: a.party(p.Party.ID) + "/processes/new?" + q.Encode()})
	}
	return row
}
