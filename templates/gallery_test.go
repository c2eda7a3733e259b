package templates

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"
	"golang.org/x/net/html"
	"schakel/templates/i18n"
	"schakel/templates/ui"
	"schakel/templates/ui/uitest"
)

// galleryPage is a page as an administrator with everything switched on sees it.
func galleryPage() ui.Page {
	return ui.Page{
		Title: "Dead letters", Lead: "Deliveries that are no longer tried. Nothing leaves this list by itself.",
		Badge:   ui.State("dead"),
		Actions: ui.LinkButton(ui.Secondary, "Download as CSV", "/admin/dead-letters.csv"),
		User:    &ui.UserView{Name: "Anna de Vries", Role: "Administrator", PartnerName: "Stichting Schakelhuis"},
		Nav: []ui.NavItem{
			{Label: "Overview", Href: "/admin"},
			{Label: "Registrations", Href: "/admin/registrations", Count: 3, Group: "Waiting"},
			{Label: "Dead letters", Href: "/admin/dead-letters", Current: true, Count: 1204, Group: "Waiting"},
			{Label: "Partners", Href: "/admin/partners", Group: "Exchange"},
			{Label: "Contracts", Href: "/contracts", Group: "Exchange"},
		},
		Crumbs:  []ui.Crumb{{Label: "Overview", Href: "/admin"}, {Label: "Queues", Href: "/admin/queues"}, {Label: "Dead letters", Href: ""}},
		Flash:   &ui.Flash{Kind: ui.KindOK, Text: "12 deliveries will be sent again within a minute."},
		Version: "0.1.0",
	}
}

// gallery renders every component on one page.
func gallery(t *testing.T) string {
	t.Helper()
	return uitest.Render(t, galleryDocument(galleryPage(), uitest.Now()))
}

func plain(s string) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		_, err := io.WriteString(w, templ.EscapeString(s))
		return err
	})
}

func galleryDocument(p ui.Page, now time.Time) templ.Component {
	return uitest.With(ui.Layout(p),
		galleryErrors(),
		galleryTiles(now),
		galleryFilter(),
		uitest.With(ui.Live("dead-live", "/admin/dead-letters", 5*time.Second), galleryTable(now)),
		uitest.With(ui.Table(galleryEmpty())),
		galleryForm(),
		galleryDanger(),
		galleryStates(),
		galleryDetail(now),
	)
}

func galleryErrors() templ.Component {
	return templ.Join(
		ui.ErrorSummary([]ui.FieldError{{Field: "oin", Text: "An OIN has 20 digits; this one has 19"}, {Field: "kinds", Text: "Choose at least one kind of endpoint"}, {Field: "", Text: "The form is older than a day"}}),
		uitest.With(ui.Alert(ui.KindInfo), ui.Text("The endpoint was tried for the last time ten minutes ago.")),
		uitest.With(ui.Alert(ui.KindWarning), ui.Text("This contract version is deprecated."), ui.Text("Use 2.0.0 instead.")),
		uitest.With(ui.Alert(ui.KindError), ui.Text("The endpoint answered 401 three times.")),
	)
}

func galleryTiles(now time.Time) templ.Component {
	return ui.Tiles([]ui.Tile{
		{Label: "Delivered", Value: "182,034", Hint: "in the last 24 hours", Href: "/admin/deliveries"},
		{Label: "Retrying", Value: "17", Hint: "next try in 20 s", Kind: ui.KindWarning},
		{Label: "Dead letters", Value: "1,204", Hint: "oldest " + "2 d 2 h ago", Href: "/admin/dead-letters", Kind: ui.KindError},
		{Label: "Largest event", Value: "1 MiB"},
	})
}

func galleryFilter() templ.Component {
	return uitest.With(ui.FilterBar("/admin/dead-letters", "/admin/dead-letters"),
		ui.Select(ui.Field{Name: "partner", Label: "Partner", Options: []ui.Option{{Value: "", Label: "All partners"}, {Value: "prt_1", Label: "ROC Noorderpoort", Selected: true}}}),
		ui.TextField(ui.Field{Name: "type", ID: "filter-type", Label: "Event type", Value: "nl.example.student"}),
		ui.TextField(ui.Field{Name: "from", Label: "From", Type: "date"}),
	)
}

func galleryTable(now time.Time) templ.Component {
	var rows []templ.Component
	for i := range 4 {
		id := fmt.Sprintf("dlv_01HZX%04d", i)
		rows = append(rows, uitest.With(ui.Row(),
			ui.CellTick("dead", id, id),
			uitest.With(ui.CellHead("Event"), ui.Link("nl.example.student.enrolled.v1", "/admin/deliveries/"+id)),
			uitest.With(ui.Cell("Partner"), plain("ROC Noorderpoort")),
			uitest.With(ui.Cell("State"), ui.State([]string{"dead", "retrying", "held", "delivered"}[i])),
			uitest.With(ui.Cell("Since"), ui.Clock(now.Add(-time.Duration(i*i)*time.Hour), now)),
			uitest.With(ui.CellNumber("Tries"), plain(i18n.Count(context.Background(), 9+i*1000))),
			uitest.With(ui.CellActions(), ui.PostButton(ui.Subtle, "Resend", "/admin/deliveries/"+id+"/resend", ui.Hidden{Name: "from", Value: "dead"})),
		))
	}
	return uitest.With(ui.Table(galleryList()), rows...)
}

func galleryList() ui.TableView {
	return ui.TableView{
		ID: "dead", Caption: "Dead letters", Total: 1204, Noun: [2]string{"delivery", "deliveries"},
		Columns: []ui.Column{{Label: "Event", SortHref: "?sort=event"}, {Label: "Partner"}, {Label: "State"}, {Label: "Since", SortHref: "?sort=since", Sorted: "descending"}, {Label: "Tries", Numeric: true}, {Label: "Actions", Unseen: true}},
		Bulk: &ui.BulkView{
			Action:   "/admin/dead-letters",
			Buttons:  []ui.BulkButton{{Label: "Resend", Value: "resend", Kind: ui.Secondary}, {Label: "Discard", Value: "discard", Kind: ui.Subtle, Confirm: "Discard the ticked deliveries?"}},
			Hidden:   []ui.Hidden{{Name: "partner", Value: "prt_1"}},
			AllLabel: "Resend all 1,204 that match", AllHref: "/admin/dead-letters/resend",
		},
		Pager: &ui.Pager{Page: 5, PerPage: 50, Total: 1204, URL: func(n int) string { return fmt.Sprintf("?page=%d", n) }},
	}
}

func galleryEmpty() ui.TableView {
	return ui.TableView{
		ID: "endpoints", Caption: "Endpoints", Noun: [2]string{"endpoint", "endpoints"},
		Columns: []ui.Column{{Label: "Name"}},
		Empty:   ui.Empty{Text: "You have no endpoint yet. Events need one to arrive at.", ActionLabel: "Add an endpoint", ActionHref: "/partner/endpoints/new"},
	}
}

func galleryForm() templ.Component {
	return uitest.With(ui.Card("Register an organisation"), uitest.With(ui.Form(ui.FormView{Action: "/register", Multipart: true, Hidden: []ui.Hidden{{Name: "step", Value: "1"}}}),
		ui.TextField(ui.Field{Name: "name", Label: "Name of the organisation", Required: true, Autocomplete: "organization", MaxLength: 200}),
		ui.TextField(ui.Field{Name: "oin", Label: "OIN", Hint: "20 digits, as in the OIN register.", Value: "0000000123456789012", Error: "An OIN has 20 digits; this one has 19", Required: true, InputMode: "numeric", Pattern: "[0-9]{20}"}),
		uitest.With(ui.Fieldset("Contact person"),
			ui.TextField(ui.Field{Name: "email", Label: "E-mail address", Type: "email", Required: true, Autocomplete: "email"}),
			ui.TextField(ui.Field{Name: "password", Label: "Password", Type: "password", Value: "never-shown", Required: true, Autocomplete: "new-password"}),
		),
		ui.CheckboxGroup(ui.Field{Name: "kinds", Label: "Kinds of endpoint", Error: "Choose at least one kind of endpoint", Required: true, Options: []ui.Option{{Value: "webhook", Label: "Webhook", Hint: "We send to an address of yours."}, {Value: "pull", Label: "Pull"}, {Value: "amqp", Label: "AMQP 1.0", Disabled: true}}}),
		ui.RadioGroup(ui.Field{Name: "env", Label: "Environment", Value: "test", Required: true, Options: []ui.Option{{Value: "test", Label: "Test"}, {Value: "prod", Label: "Production"}}}),
		ui.Select(ui.Field{Name: "sector", Label: "Sector", Value: "edu", Options: []ui.Option{{Value: "edu", Label: "Education"}, {Value: "geo", Label: "Geo"}}}),
		ui.TextArea(ui.Field{Name: "note", Label: "Note", Value: "<script>alert(1)</script>"}),
		ui.FileField(ui.Field{Name: "file", Label: "Contract document", Hint: "JSON, YAML or a zip.", Accept: ".json,.yaml,.zip", Required: true}),
		ui.Checkbox(ui.Field{Name: "terms", Label: "We agree to the terms of the exchange", Value: "on", Required: true}),
		uitest.With(ui.FormActions(), ui.Button(ui.Primary, "Register"), ui.Button(ui.Secondary, "Check only", ui.Attrs{"name": "action", "value": "check"}), ui.LinkButton(ui.Subtle, "Cancel", "/")),
	))
}

func galleryDanger() templ.Component {
	return templ.Join(
		ui.DangerAction(ui.Danger{ID: "reject", Label: "Reject this registration", Explain: "The partner is told the reason by mail.", Action: "/admin/registrations/1/reject", Button: "Reject", ReasonName: "reason", ReasonError: "Give a reason"}),
		ui.DangerAction(ui.Danger{ID: "end", Label: "End this subscription", Action: "/admin/subscriptions/1/end", Button: "End", Hidden: []ui.Hidden{{Name: "v", Value: "2"}}}),
	)
}

func allStates() []string {
	return strings.Fields("requested approved suspended ended rejected draft published deprecated withdrawn paused " +
		"pending delivered retrying held dead discarded active revoked open half-open closed")
}

func galleryStates() templ.Component {
	var badges []templ.Component
	for _, s := range allStates() {
		badges = append(badges, ui.State(s), plain(" "))
	}
	return uitest.With(ui.Card("States"), badges...)
}

func galleryDetail(now time.Time) templ.Component {
	code := ui.Code("event-json", "Event", "{\n  \"specversion\": \"1.0\",\n  \"type\": \"nl.example.student.enrolled.v1\",\n  \"data\": \""+strings.Repeat("x", 200)+"\"\n}")
	answer := ui.Code("answer-1", "Answer", "HTTP/1.1 503 Service Unavailable\nRetry-After: 120")
	facts := ui.DescriptionList([]ui.Item{{Label: "Partner", Text: "ROC Noorderpoort"}, {Label: "State", Content: ui.State("approved")}, {Label: "HER-id"}, {Label: "Id", Content: ui.Identifier("prt_01HZX7K3QW")}, {Label: "Last seen", Content: ui.Ago(now.Add(-90*time.Second), now)}})
	attempts := ui.Timeline([]ui.Moment{
		{At: now, Kind: ui.KindOK, Title: "Delivered: 204 in 38 ms"},
		{At: now.Add(-time.Hour), Kind: ui.KindError, Title: "Refused: 503", Text: "The endpoint asks to wait 2 min.", Detail: answer, DetailLabel: "What was sent and what came back"},
		{At: now.Add(-2 * time.Hour), Kind: ui.KindNeutral, Title: "Anna de Vries asked for a resend"},
	}, now)
	return templ.Join(
		uitest.With(ui.Columns(), uitest.With(ui.Card("Partner"), facts), uitest.With(ui.Card("Attempts"), attempts)),
		code,
		ui.SecretOnce(ui.Secret{ID: "secret-1", Label: "Client secret", Value: "sk_9f8e7d6c5b4a39281706f5e4d3c2b1a0"}),
	)
}

// TestGallery renders every component into one document and checks the rules
// that hold for all pages. SCHAKEL_GALLERY names a folder that keeps the
// documents, to look at them in a browser.
func TestGallery(t *testing.T) {
	t.Parallel()
	documents := map[string]string{
		"gallery.html": gallery(t),
		"error.html":   uitest.Render(t, errorDocument()),
		"visitor.html": uitest.Render(t, uitest.With(ui.Layout(ui.Page{Title: "Log in"}), ui.Text("Welcome."))),
	}
	dir := os.Getenv("SCHAKEL_GALLERY")
	if dir == "" {
		dir = t.TempDir()
	}
	for name, doc := range documents {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(doc), 0o644); err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			uitest.CheckPage(t, doc)
		})
	}
}

func errorDocument() templ.Component {
	return ui.ErrorPage(ui.Page{Title: "This page does not exist"}, ui.Failure{
		Status: 404, Detail: "The address may be mistyped, or what it named has been removed.",
		NextText: "Start from the list of contracts.", NextLabel: "Contracts", NextHref: "/contracts", Reference: "req_01HZX7",
	})
}

func TestErrorPageTellsStatusNextStepAndReference(t *testing.T) {
	t.Parallel()
	doc := uitest.Text(uitest.Parse(t, uitest.Render(t, errorDocument())))
	for _, want := range []string{"This page does not exist", "Status 404", "reference req_01HZX7", "Start from the list"} {
		if !strings.Contains(doc, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

func TestLayoutForAVisitorOffersLogin(t *testing.T) {
	t.Parallel()
	doc := uitest.Render(t, uitest.With(ui.Layout(ui.Page{Title: "Contracts"})))
	if !strings.Contains(doc, `href="/login"`) || strings.Contains(doc, "/logout") || strings.Contains(doc, `id="navigation"`) {
		t.Error("a visitor must see log in, no log out and no navigation")
	}
	if !strings.Contains(doc, `<html lang="en"`) || !strings.Contains(doc, "/static/schakel.css") {
		t.Error("the defaults for language and assets are missing")
	}
}

func TestLayoutMarksTheCurrentPage(t *testing.T) {
	t.Parallel()
	var current []string
	for _, n := range uitest.Elements(uitest.Parse(t, gallery(t))) {
		if value, ok := uitest.Attr(n, "aria-current"); ok {
			if value != "page" {
				t.Errorf("aria-current = %q", value)
			}
			current = append(current, uitest.Text(n))
		}
	}
	if got := strings.Join(current, "|"); got != "Dead letters 1,000+ waiting|Dead letters|5" {
		t.Errorf("current: %s", got)
	}
}

func TestLayoutAsksForHashedAssets(t *testing.T) {
	t.Parallel()
	p := ui.Page{Title: "T", Asset: func(name string) string { return "/static/abc/" + name }}
	doc := uitest.Render(t, uitest.With(ui.Layout(p)))
	for _, name := range []string{"schakel.css", "htmx.min.js", "app.js", "icon.svg"} {
		if !strings.Contains(doc, `"/static/abc/`+name+`"`) {
			t.Errorf("%s is not asked for by its hashed address", name)
		}
	}
}

func TestHostileAddressesAreNotWritten(t *testing.T) {
	t.Parallel()
	c := ui.Link("x", "javascript:alert(1)")
	if doc := uitest.Render(t, c); strings.Contains(doc, "javascript:") {
		t.Errorf("a script address is written: %s", doc)
	}
}

func TestTableStatesCountSortAndBulkForm(t *testing.T) {
	t.Parallel()
	c := galleryTable(uitest.Now())
	doc := uitest.Text(uitest.Parse(t, uitest.Render(t, c)))
	for _, want := range []string{"Dead letters", "1,204 deliveries", "201 to 250 of 1,204", "Resend all 1,204 that match"} {
		if !strings.Contains(doc, want) {
			t.Errorf("the table does not say %q", want)
		}
	}
	if got := uitest.Text(uitest.Find(t, c, "aria-sort", "descending")); got != "Since" {
		t.Errorf("the sorted column is %q", got)
	}
	if form, _ := uitest.Attr(uitest.Find(t, c, "value", "dlv_01HZX0000"), "form"); form != "dead-bulk" {
		t.Errorf("a tick box belongs to form %q", form)
	}
}

func TestEveryRowHasACellForEachColumn(t *testing.T) {
	t.Parallel()
	for _, n := range uitest.Elements(uitest.Parse(t, uitest.Render(t, galleryTable(uitest.Now())))) {
		if n.Data != "tr" {
			continue
		}
		cells := 0
		for child := range n.ChildNodes() {
			if child.Type == html.ElementNode {
				cells++
			}
		}
		if cells != 7 {
			t.Errorf("a row has %d cells, want 7", cells)
		}
	}
}

func TestEmptyTableLeadsToTheNextStep(t *testing.T) {
	t.Parallel()
	c := uitest.With(ui.Table(galleryEmpty()))
	if href, _ := uitest.Attr(uitest.Find(t, c, "class", "utrecht-button utrecht-button--secondary-action schakel-link-button"), "href"); href != "/partner/endpoints/new" {
		t.Errorf("the next step leads to %q", href)
	}
	if strings.Contains(uitest.Render(t, c), "<table") {
		t.Error("an empty list draws a table")
	}
}
