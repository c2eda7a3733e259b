package amqp

import (
	"cmp"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/labstack/echo/v4"
	registryamqp "schakel/registry/amqp"
	view "schakel/templates/amqp"
	"schakel/templates/i18n"
	"schakel/templates/ui"
	"schakel/web/site"
)

// maxAMQPDocument is the largest CPA, CPP or communication details that is taken, in bytes.
const maxAMQPDocument = 2 << 20

// importPage asks for a document about parties.
func (a AMQPArea) importPage(c echo.Context) error {
	return a.showAMQPImport(c, http.StatusOK, "", nil)
}

func (a AMQPArea) showAMQPImport(c echo.Context, status int, text string, wrong site.FormErrors) error {
	page := a.pageFrame(c, "Import a CPA, CPP or communication details")
	page.Lead = "Nothing changes before you have seen what would."
	page.Invalid = len(wrong) > 0
	return a.Render(c, status, view.AMQPImportPage(page, view.AMQPImportView{Action: a.root() + "/import", Cancel: a.root(), Text: text, Wrong: wrong}))
}

// importDetails shows what a document would change, or takes it over for the party that was chosen.
func (a AMQPArea) importDetails(c echo.Context) error {
	in, err := site.ReadDocumentForm(c)
	if err != nil {
		return err
	}
	content := in.Content()
	switch {
	case len(content) == 0:
		return a.showAMQPImport(c, http.StatusUnprocessableEntity, in.Text, site.FormErrors{"document": "Choose a file, or paste it."})
	case !utf8.Valid(content):
		return a.showAMQPImport(c, http.StatusUnprocessableEntity, "", site.FormErrors{"document": "Save the document as UTF-8 first."})
	}
	if in.Main == "" {
		return a.previewImport(c, http.StatusOK, in, nil)
	}
	her, err := strconv.ParseInt(in.Main, 10, 32)
	if err != nil {
		return echo.NewHTTPError(http.StatusBadRequest, "main must be a HER-id.")
	}
	return site.SubmitRead(c, in, func(site.DocumentForm) error {
		row, err := a.Registry.AMQP.TakeImport(c.Request().Context(), site.Actor(c), content, her)
		return a.saved(c, err, a.party(row.ID), "What the document says of "+row.Name+" is taken over.")
	}, a.previewImport)
}

func (a AMQPArea) previewImport(c echo.Context, status int, in site.DocumentForm, wrong site.FormErrors) error {
	told, err := a.Registry.AMQP.ReadImport(c.Request().Context(), site.Actor(c), in.Content())
	if fields, ok := site.Refused(err); ok {
		return a.showAMQPImport(c, http.StatusUnprocessableEntity, in.Text, site.FormErrors{in.Field(): fields["text"]})
	}
	if err != nil {
		return err
	}
	v := view.AMQPImportView{Action: a.root() + "/import", Text: string(in.Content()), Kind: told.Kind, Findings: told.Findings, Wrong: joinedProblems(wrong)}
	for _, p := range told.Parties {
		v.Parties = append(v.Parties, a.importRow(p))
	}
	page := a.pageFrame(c, "What the "+told.Kind+" changes", ui.Crumb{Label: "Import", Href: a.root() + "/import"})
	page.Invalid = len(wrong) > 0
	return a.Render(c, status, view.AMQPImportPreview(page, v))
}

// joinedProblems joins the problems of all fields into one line: the fields are not on the page.
func joinedProblems(wrong site.FormErrors) map[string]i18n.Message {
	var texts []string
	for _, f := range site.SortedFields(wrong) {
		texts = append(texts, f.Text.String())
	}
	if len(texts) == 0 {
		return nil
	}
	return map[string]i18n.Message{"": i18n.Raw(strings.Join(texts, " "))}
}

func (a AMQPArea) importRow(p registryamqp.ImportParty) view.AMQPImportRow {
	her := strconv.Itoa(p.Details.HerID)
	row := view.AMQPImportRow{Title: cmp.Or(p.Details.Name, "HER-id "+her), Her: her, Changes: p.Changes, Asides: p.Asides}
	switch {
	case p.Party == nil:
		row.About = "Nobody here has HER-id " + her + ". Add the party first: one of ours on the AMQP page, a partner's at its endpoint of kind AMQP. Then import the document again."
		return row
	case len(p.Changes) == 0:
		row.About = "HER-id " + her + ": nothing changes, it is like this already."
	default:
		row.About = "HER-id " + her + ": this would change."
	}
	row.Here = ui.Named{Name: p.Party.Name, Href: a.party(p.Party.ID)}
	for _, one := range p.Open {
		q := url.Values{"name": {one.Name}, "subject": {one.Subject}, "service": {one.Service}, "toRole": {one.Role}, "cpaId": {p.Details.CPAID}}
		row.Open = append(row.Open, ui.Named{Name: cmp.Or(one.Name, one.Subject) + " (" + one.Subject + ")", Href: a.party(p.Party.ID) + "/processes/new?" + q.Encode()})
	}
	return row
}
