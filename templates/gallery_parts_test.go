package templates

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/a-h/templ"
)

func plain(s string) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		_, err := io.WriteString(w, templ.EscapeString(s))
		return err
	})
}

func galleryDocument(p Page, now time.Time) templ.Component {
	return with(Layout(p),
		galleryErrors(),
		galleryTiles(now),
		galleryFilter(),
		with(Live("dead-live", "/admin/dead-letters", 5*time.Second), galleryTable(now)),
		with(Table(galleryEmpty())),
		galleryForm(),
		galleryDanger(),
		galleryStates(),
		galleryDetail(now),
	)
}

func galleryErrors() templ.Component {
	return templ.Join(
		ErrorSummary([]FieldError{{"oin", "An OIN has 20 digits; this one has 19"}, {"kinds", "Choose at least one kind of endpoint"}, {"", "The form is older than a day"}}),
		with(Alert(KindInfo), Text("The endpoint was tried for the last time ten minutes ago.")),
		with(Alert(KindWarning), Text("This contract version is deprecated."), Text("Use 2.0.0 instead.")),
		with(Alert(KindError), Text("The endpoint answered 401 three times.")),
	)
}

func galleryTiles(now time.Time) templ.Component {
	return Tiles([]Tile{
		{Label: "Delivered", Value: Count(182034), Hint: "in the last 24 hours", Href: "/admin/deliveries"},
		{Label: "Retrying", Value: "17", Hint: "next try in 20 s", Kind: KindWarning},
		{Label: "Dead letters", Value: Count(1204), Hint: "oldest " + Relative(now.Add(-50*time.Hour), now), Href: "/admin/dead-letters", Kind: KindError},
		{Label: "Largest event", Value: Bytes(1 << 20)},
	})
}

func galleryFilter() templ.Component {
	return with(FilterBar("/admin/dead-letters", "/admin/dead-letters"),
		Select(Field{Name: "partner", Label: "Partner", Options: []Option{{Value: "", Label: "All partners"}, {Value: "prt_1", Label: "ROC Noorderpoort", Selected: true}}}),
		TextField(Field{Name: "type", ID: "filter-type", Label: "Event type", Value: "nl.example.student"}),
		TextField(Field{Name: "from", Label: "From", Type: "date"}),
	)
}

func galleryTable(now time.Time) templ.Component {
	var rows []templ.Component
	for i := range 4 {
		id := fmt.Sprintf("dlv_01HZX%04d", i)
		rows = append(rows, with(Row(),
			CellTick("dead", id, id),
			with(CellHead("Event"), Link("nl.example.student.enrolled.v1", "/admin/deliveries/"+id)),
			with(Cell("Partner"), plain("ROC Noorderpoort")),
			with(Cell("State"), State([]string{"dead", "retrying", "held", "delivered"}[i])),
			with(Cell("Since"), Clock(now.Add(-time.Duration(i*i)*time.Hour), now)),
			with(CellNumber("Tries"), plain(Count(9+i*1000))),
			with(CellActions(), PostButton(Subtle, "Resend", "/admin/deliveries/"+id+"/resend", Hidden{"from", "dead"})),
		))
	}
	return with(Table(galleryList()), rows...)
}

func galleryList() TableView {
	return TableView{
		ID: "dead", Caption: "Dead letters", Total: 1204, Noun: [2]string{"delivery", "deliveries"},
		Columns: []Column{{Label: "Event", SortHref: "?sort=event"}, {Label: "Partner"}, {Label: "State"}, {Label: "Since", SortHref: "?sort=since", Sorted: "descending"}, {Label: "Tries", Numeric: true}, {Label: "Actions", Unseen: true}},
		Bulk: &BulkView{
			Action:   "/admin/dead-letters",
			Buttons:  []BulkButton{{Label: "Resend", Value: "resend", Kind: Secondary}, {Label: "Discard", Value: "discard", Kind: Subtle, Confirm: "Discard the ticked deliveries?"}},
			Hidden:   []Hidden{{"partner", "prt_1"}},
			AllLabel: "Resend all 1,204 that match", AllHref: "/admin/dead-letters/resend",
		},
		Pager: &Pager{Page: 5, PerPage: 50, Total: 1204, URL: func(n int) string { return fmt.Sprintf("?page=%d", n) }},
	}
}

func galleryEmpty() TableView {
	return TableView{
		ID: "endpoints", Caption: "Endpoints", Noun: [2]string{"endpoint", "endpoints"},
		Columns: []Column{{Label: "Name"}},
		Empty:   Empty{Text: "You have no endpoint yet. Events need one to arrive at.", ActionLabel: "Add an endpoint", ActionHref: "/partner/endpoints/new"},
	}
}

func galleryForm() templ.Component {
	return with(Card("Register an organisation"), with(Form(FormView{Action: "/register", Multipart: true, Hidden: []Hidden{{"step", "1"}}}),
		TextField(Field{Name: "name", Label: "Name of the organisation", Required: true, Autocomplete: "organization", MaxLength: 200}),
		TextField(Field{Name: "oin", Label: "OIN", Hint: "20 digits, as in the OIN register.", Value: "0000000123456789012", Error: "An OIN has 20 digits; this one has 19", Required: true, InputMode: "numeric", Pattern: "[0-9]{20}"}),
		with(Fieldset("Contact person"),
			TextField(Field{Name: "email", Label: "E-mail address", Type: "email", Required: true, Autocomplete: "email"}),
			TextField(Field{Name: "password", Label: "Password", Type: "password", Value: "never-shown", Required: true, Autocomplete: "new-password"}),
		),
		CheckboxGroup(Field{Name: "kinds", Label: "Kinds of endpoint", Error: "Choose at least one kind of endpoint", Required: true, Options: []Option{{Value: "webhook", Label: "Webhook", Hint: "We send to an address of yours."}, {Value: "pull", Label: "Pull"}, {Value: "amqp", Label: "AMQP 1.0", Disabled: true}}}),
		RadioGroup(Field{Name: "env", Label: "Environment", Value: "test", Required: true, Options: []Option{{Value: "test", Label: "Test"}, {Value: "prod", Label: "Production"}}}),
		Select(Field{Name: "sector", Label: "Sector", Value: "edu", Options: []Option{{Value: "edu", Label: "Education"}, {Value: "geo", Label: "Geo"}}}),
		TextArea(Field{Name: "note", Label: "Note", Value: "<script>alert(1)</script>"}),
		FileField(Field{Name: "file", Label: "Contract document", Hint: "JSON, YAML or a zip.", Accept: ".json,.yaml,.zip", Required: true}),
		Checkbox(Field{Name: "terms", Label: "We agree to the terms of the exchange", Value: "on", Required: true}),
		with(FormActions(), Button(Primary, "Register"), Button(Secondary, "Check only", Attrs{"name": "action", "value": "check"}), LinkButton(Subtle, "Cancel", "/")),
	))
}

func galleryDanger() templ.Component {
	return templ.Join(
		DangerAction(Danger{ID: "reject", Label: "Reject this registration", Explain: "The partner is told the reason by mail.", Action: "/admin/registrations/1/reject", Button: "Reject", ReasonName: "reason", ReasonError: "Give a reason"}),
		DangerAction(Danger{ID: "end", Label: "End this subscription", Action: "/admin/subscriptions/1/end", Button: "End", Hidden: []Hidden{{"v", "2"}}}),
	)
}

func allStates() []string {
	return strings.Fields("requested approved suspended ended rejected draft published deprecated withdrawn paused " +
		"pending delivered retrying held dead discarded active revoked open half-open closed")
}

func galleryStates() templ.Component {
	var badges []templ.Component
	for _, s := range allStates() {
		badges = append(badges, State(s), plain(" "))
	}
	return with(Card("States"), badges...)
}

func galleryDetail(now time.Time) templ.Component {
	code := Code("event-json", "Event", "{\n  \"specversion\": \"1.0\",\n  \"type\": \"nl.example.student.enrolled.v1\",\n  \"data\": \""+strings.Repeat("x", 200)+"\"\n}")
	answer := Code("answer-1", "Answer", "HTTP/1.1 503 Service Unavailable\nRetry-After: 120")
	facts := DescriptionList([]Item{{Label: "Partner", Text: "ROC Noorderpoort"}, {Label: "State", Content: State("approved")}, {Label: "HER-id"}, {Label: "Id", Content: Identifier("prt_01HZX7K3QW")}, {Label: "Last seen", Content: Ago(now.Add(-90*time.Second), now)}})
	attempts := Timeline([]Moment{
		{At: now, Kind: KindOK, Title: "Delivered: 204 in 38 ms"},
		{At: now.Add(-time.Hour), Kind: KindError, Title: "Refused: 503", Text: "The endpoint asks to wait 2 min.", Detail: answer, DetailLabel: "What was sent and what came back"},
		{At: now.Add(-2 * time.Hour), Kind: KindNeutral, Title: "Anna de Vries asked for a resend"},
	}, now)
	return templ.Join(
		with(Columns(), with(Card("Partner"), facts), with(Card("Attempts"), attempts)),
		code,
		SecretOnce(Secret{ID: "secret-1", Label: "Client secret", Value: "sk_9f8e7d6c5b4a39281706f5e4d3c2b1a0"}),
	)
}
