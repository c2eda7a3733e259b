package templates

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"
	accountview "schakel/templates/account"
	adminview "schakel/templates/admin"
	contractsview "schakel/templates/contracts"
	deliveriesview "schakel/templates/deliveries"
	eventsview "schakel/templates/events"
	"schakel/templates/i18n"
	partnersview "schakel/templates/partners"
	"schakel/templates/ui"
	"schakel/templates/ui/uitest"
)

// The pages of administrators and of contracts keep the rules that hold for all
// pages, with everything on them and with nothing.
func TestAdministratorPages(t *testing.T) {
	t.Parallel()
	for name, page := range administratorPages() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			uitest.CheckPage(t, uitest.Render(t, page))
		})
	}
}

func administratorPages() map[string]templ.Component {
	p, partner, endpoint := galleryPage(), ui.Named{Name: "ROC Noord", Href: "/p"}, ui.Named{Name: "Main", Href: "/e"}
	sub := partnersview.SubscriptionRow{Name: "Students", Href: "/s", Partner: partner, Endpoint: endpoint, Types: []string{"a", "b", "c", "d"}, Status: "requested", Since: uitest.Now()}
	client := partnersview.ClientRow{Name: "System", Href: "/c", Partner: partner, Scopes: []string{"events.publish"}, Status: "active", Waiting: true, Since: uitest.Now()}
	point := ui.EndpointRow{Name: "Main", Href: "/e", Host: "a.example", Partner: partner, Status: "active", Circuit: "open", Waiting: 3, Oldest: uitest.Now().Add(-time.Hour), Why: "It answers 500."}
	account := ui.AccountRow{Name: "Anna", Email: "anna@example.nl", Status: "active", BlockAction: "/b", LinkAction: "/l"}
	todo := ui.ActsView{
		Title: "Decide", Lead: "Look well.", Plain: []ui.Act{{Kind: ui.Primary, Label: "Approve", Action: "/approve", Hidden: nil}},
		Danger: []ui.Danger{{ID: "reject", Label: "Reject", Button: "Reject", Action: "/reject", ReasonName: "reason", ReasonError: "Say why."}},
	}
	past := ui.History{Moments: []ui.Moment{{At: uitest.Now(), Title: "Anna did it."}}, Now: uitest.Now(), MoreHref: "/admin/audit"}
	finding := contractsview.FindingRow{Severity: "error", Code: "x", Pointer: "/info", Detail: "No title.", Remedy: "Add it.", Line: 2, Column: 1, Href: "#L2", Excerpt: "info:"}
	kind := ui.GrantedType{Name: "nl.a", Title: "A", Href: "/t", Contract: partner, Status: "published", Known: true}
	return map[string]templ.Component{
		"overview": adminview.AdminOverview(p, adminview.AdminOverviewView{Tasks: []ui.Tile{{Label: "Registrations", Value: "1"}}, Period: "now", Endpoints: []ui.EndpointRow{point}, History: past, Now: uitest.Now(), Every: time.Second}),
		"partners": partnersview.AdminPartners(p, partnersview.AdminPartnersView{Statuses: ui.StateOptions(context.Background(), "requested"), Rows: []partnersview.PartnerRow{{Name: "ROC", Href: "/p", Number: "1", Status: "requested", Unconfirmed: true}}, Total: 1, Now: uitest.Now()}),
		"partner": partnersview.AdminPartner(p, partnersview.AdminPartnerView{
			OIN: "1", Grants: []string{"All"}, Acts: todo, Message: "No.", Endpoints: []ui.EndpointRow{point},
			Subscriptions: []partnersview.SubscriptionRow{sub}, Clients: []partnersview.ClientRow{client}, Accounts: []ui.AccountRow{account}, History: past, Now: uitest.Now(),
		}),
		"no partner":    partnersview.AdminPartner(p, partnersview.AdminPartnerView{}),
		"subscriptions": partnersview.AdminSubscriptions(p, partnersview.AdminSubscriptionsView{Rows: []partnersview.SubscriptionRow{sub}, Total: 1, Now: uitest.Now()}),
		"subscription": partnersview.AdminSubscription(p, partnersview.AdminSubscriptionView{
			Status: "requested", Partner: partner, Endpoint: endpoint, Purpose: "a\nb", Types: []ui.GrantedType{kind, {Name: "gone"}},
			Sources: []partnersview.GrantedSource{{Type: "nl.a", Partner: "ROC", Source: "urn:a", Own: true}}, Acts: todo, History: past, Now: uitest.Now(), DeliveriesHref: "/d",
		}),
		"clients":      partnersview.AdminClients(p, partnersview.AdminClientsView{Waiting: []partnersview.ClientRow{client}, Organisation: "Office", Now: uitest.Now()}),
		"client":       partnersview.AdminClient(p, partnersview.AdminClientView{ID: "cli_1", Partner: partner, Asks: partnersview.ClientAsks{Scopes: []string{"events.publish"}}, Secret: "s", Acts: todo, History: past, Now: uitest.Now()}),
		"endpoints":    partnersview.AdminEndpoints(p, partnersview.AdminEndpointsView{Rows: []ui.EndpointRow{point}, Total: 1, Now: uitest.Now()}),
		"endpoint":     partnersview.AdminEndpoint(p, partnersview.AdminEndpointView{Partner: partner, Circuit: "open", Failures: 3, OpenedAt: uitest.Now(), Waiting: 2, Oldest: uitest.Now(), Rate: 1, EditHref: "/e", TestAction: "/t", DeliveriesHref: "/d", Acts: todo, Subscriptions: []partnersview.SubscriptionRow{sub}, Now: uitest.Now()}),
		"routes":       adminview.AdminRoutes(p, adminview.AdminRoutesView{Rows: []adminview.RouteRow{{From: partner, To: partner, EventType: "nl.a", By: "Anna", Remove: "/r"}}, Wrong: map[string]i18n.Message{"from": "Choose."}, Now: uitest.Now()}),
		"mails":        adminview.AdminMails(p, adminview.AdminMailsView{Rows: []adminview.MailRow{{Recipient: "a@example.nl", Subject: "Hello", Status: "failed", Error: "refused", Attempts: 2}}, Total: 1, Now: uitest.Now()}),
		"accounts":     accountview.PeoplePage(p, accountview.PeopleView{Rows: []ui.AccountRow{account}, Roles: []string{"administrator", "auditor"}, Action: "/admin/accounts", Wrong: map[string]i18n.Message{"name": "Fill in."}, Now: uitest.Now()}),
		"contracts":    contractsview.ContractList(p, contractsview.ContractListView{Rows: []contractsview.ContractRow{{ID: "a", Title: "A", Href: "/a", Kind: "openapi", Version: "1.0.0", VersionHref: "/v", Status: "published"}}, Total: 1, ShowVisibility: true}),
		"no contracts": contractsview.ContractList(p, contractsview.ContractListView{CreateHref: "/n", Requested: []contractsview.RequestedRow{{Contract: "A", Version: "1.0.0", Href: "/v", Owner: "P", By: "Anna", At: uitest.Now()}}, Now: uitest.Now()}),
		"contract":     contractsview.ContractPage(p, contractsview.ContractView{ID: "a", Kind: "asyncapi", Description: "A\nB", ContactName: "N", ContactEmail: "n@example.nl", Visibility: "public", Versions: []contractsview.VersionRow{{Version: "1.0.0", Href: "/v", Status: "deprecated", Sunset: uitest.Now()}}, Types: []ui.GrantedType{kind}, TypesOf: "1.0.0", API: []ui.Named{{Name: "Metadata", Href: "/m"}}, History: &past, Now: uitest.Now()}),
		"version": contractsview.VersionPage(p, contractsview.VersionView{
			Contract: partner, Kind: "asyncapi", Status: "published", Description: []string{"Text"}, Findings: []contractsview.FindingRow{finding, {Severity: "info", Detail: "d"}}, Types: []ui.GrantedType{kind}, Downloads: []ui.Named{{Name: "JSON", Href: "/j"}},
			Source: contractsview.SourceView{First: 1, Total: 3, Lines: []string{"a", "b"}, Found: map[int]bool{2: true}, NextHref: "/n"}, DeprecateAction: "/d", SunsetError: "Later.", Acts: todo, Now: uitest.Now(),
		}),
		"draft": contractsview.VersionPage(p, contractsview.VersionView{Contract: partner, Kind: "asyncapi", Status: "draft", PublishHref: "/p", PublishLabel: "Publish", Requested: &contractsview.RequestedRow{By: "Anna", Owner: "P", At: uitest.Now(), Reason: "ready"}, Now: uitest.Now()}),
		"visibility": contractsview.VisibilityPage(p, contractsview.VisibilityView{
			Action: "/a", Back: "/b", Now: "public", Visibility: "named", Named: []ui.Option{{Value: "ptn_1", Label: "P", Selected: true}}, Loses: true, Everybody: true,
			Losing: []contractsview.LosingRow{{Partner: "Q", Href: "/q", Subscriptions: 2}}, LosingTotal: 1, Wrong: map[string]i18n.Message{"accept": "Confirm.", "reason": "Say why."},
		}),
		"contract form": contractsview.ContractForm(p, contractsview.ContractFormView{New: true, Button: "Make", Wrong: map[string]i18n.Message{"id": "No.", "kind": "No.", "visibility": "No.", "": "Taken."}, Partners: []ui.Option{{Label: "Own"}}}),
		"upload":        contractsview.UploadPage(p, contractsview.UploadView{Kind: "asyncapi", MaxBytes: 1 << 20, Text: "<script>", Findings: []contractsview.FindingRow{{Severity: "error", Line: 1, Detail: "<b>", Excerpt: "<i>"}}, Wrong: map[string]i18n.Message{"text": "No."}}),
		"publish":       contractsview.PublishPage(p, contractsview.PublishView{Kind: "asyncapi", Changes: []contractsview.TypeChange{{Name: "nl.a", What: "new"}, {Name: "nl.b", What: "taken"}}, Warnings: []contractsview.FindingRow{finding2(finding)}, Digest: "00"}),
		"publish breaking": contractsview.PublishPage(p, contractsview.PublishView{
			Kind: "asyncapi", Before: "1.0.0", BrokenTotal: 2, Broken: []contractsview.ContractChangeRow{{Level: "breaking", Text: "<b>", Why: "w", Side: "consumer", Pointer: "/a", Removed: true, Code: "c"}},
			Bound:       []contractsview.BoundRow{{Partner: "P", PartnerHref: "/p", Subscription: "S", SubscriptionHref: "/s", Types: []string{"nl.a"}}},
			NeedsReason: true, Suggested: "2.0.0", ShowBound: true, Asks: true, RequestReason: "ready", Wrong: map[string]i18n.Message{"reason": "Say why."}, Digest: "00", ChangesHref: "/c",
		}),
		"publish unknown": contractsview.PublishPage(p, contractsview.PublishView{Kind: "openapi", Before: "1.0.0", Unknown: "Too large.", NeedsReason: true}),
		"publish same":    contractsview.PublishPage(p, contractsview.PublishView{Kind: "asyncapi", Before: "1.0.0", ChangesHref: "/c"}),
		"changes": contractsview.ContractChangesPage(p, contractsview.ContractChangesView{
			From: "1.0.0", To: "1.1.0", Others: []ui.Option{{Value: "1.0.0", Label: "1.0.0"}}, Compared: true, Suggested: "1.1.0", Breaking: 1, Info: 1, Causes: 2, API: "/api",
			Groups: []contractsview.ContractChangeGroup{{Text: "The shared schema A: 1 breaking.", Level: "breaking", Total: 300, EventTypes: []string{"nl.a"}, Changes: []contractsview.ContractChangeRow{{Level: "breaking", Text: "t", Side: "producer"}}}, {Text: "The document: 1 info.", Total: 1, Changes: []contractsview.ContractChangeRow{{Level: "info", Text: "t", Side: "both"}}}},
			Pager:  &ui.Pager{Page: 1, PerPage: 1, Total: 2, URL: func(int) string { return "?page=2" }},
		}),
		"reading": contractsview.ReadingPage(p, contractsview.ReadingView{
			Version: "1.1.0", VersionHref: "/v", Action: "/v/read", Text: "# Big", Since: "1.0.0", Heavy: true, Next: &contractsview.ReadingNear{Title: "Next", Href: "/v/read?group=2"},
			Others:   []contractsview.ReadingVersion{{Version: "1.0.0", State: "published", Href: "/o", ChangesHref: "/c"}},
			Servers:  []contractsview.ReadingNamed{{ID: "server-1", Name: "main", Kind: "amqp", Detail: "broker", Text: "text"}},
			Security: []contractsview.ReadingNamed{{ID: "security-1", Name: "key"}}, Total: 2, Search: "a",
			Hits:     &contractsview.ReadingHits{Words: "a", Total: 1, Rows: []contractsview.ReadingHit{{Kind: "operation", Name: "GET /a", Way: "Response 204", Text: "<b>", Href: "#part-1"}}},
			Changes:  &contractsview.ReadingChanges{From: "1.0.0", Breaking: 1, Rows: []contractsview.ReadingMark{{Level: "breaking", Word: "removed", Name: "a.b", Text: "<b>", Href: "#part-1"}}, More: 3, Href: "/c"},
			Contents: []contractsview.ReadingContents{{Title: "Tag", Href: "#group-1", Count: 2, Entries: []contractsview.ReadingContentsEntry{{Method: "GET", Label: "/a", Title: "s", Href: "#part-1", Level: "breaking", Deprecated: true}}}},
			Groups: []contractsview.ReadingGroup{{ID: "group-1", Title: "Tag", Text: "t", Parts: []contractsview.ReadingPart{
				{
					ID: "part-1", Kind: "operation", Name: "GET /a", Method: "GET", Path: "/a", Summary: "s", Text: "## <script>", Deprecated: true, Facts: []ui.Item{{Label: "Security", Text: "key"}},
					Marks: []contractsview.ReadingMark{{Level: "warning", Word: "changed", Text: "w"}}, Gone: []contractsview.ReadingMark{{Level: "breaking", Word: "removed", Name: "c", Text: "g"}},
					Links: []contractsview.ReadingLink{{Label: "Message", Name: "m", Href: ""}, {Label: "Message", Name: "n", Href: "/n"}},
					Sections: []contractsview.ReadingSection{{ID: "part-1-request", Title: "Request", Text: "t", Open: true, Blocks: []contractsview.ReadingBlock{{Title: "Body", Whole: contractsview.ReadingNode{
						ID: "part-1-body", Type: "object", Children: []contractsview.ReadingNode{{
							ID: "part-1-body-a", Name: "a", Type: "string", Required: true, RefName: "B", RefHref: "/b", Text: "*x*", Rules: []string{"r"}, Deprecated: true, ReadOnly: true, Again: true,
						}},
					}}}}},
					Codes:   []contractsview.ReadingCode{{ID: "part-1-code", Label: "Source", Text: "{}"}},
					Samples: []contractsview.ReadingSamples{{ID: "part-1-samples", Rows: []contractsview.ReadingSample{{Label: "First", Region: "First sample", Code: "{}"}, {Label: "Second", Region: "Second sample", Text: "made", Code: "[]"}}}},
				},
				{ID: "part-2", Kind: "schema", Name: "A"},
			}}},
			Uses: &contractsview.ReadingUses{Rows: []contractsview.BoundRow{{Partner: "P", PartnerHref: "/p", Subscription: "S", SubscriptionHref: "/s"}}},
		}),
		"reading nothing": contractsview.ReadingPage(p, contractsview.ReadingView{Uses: &contractsview.ReadingUses{Own: true}}),
		"changes none":    contractsview.ContractChangesPage(p, contractsview.ContractChangesView{From: "1.0.0", To: "1.1.0", Compared: true}),
		"changes refused": contractsview.ContractChangesPage(p, contractsview.ContractChangesView{To: "1.1.0", Message: "Too large."}),
		"publish not":     contractsview.PublishPage(p, contractsview.PublishView{Kind: "openapi", Blocked: "It is published.", Wrong: map[string]i18n.Message{"": "Look again."}, Back: "/v"}),
	}
}

// finding2 leads to another page than the one it is on.
func finding2(f contractsview.FindingRow) contractsview.FindingRow {
	f.Href = "/v?line=2#L2"
	return f
}

// The page of advice follows the rules of all pages: without scripts of its own, with names and headings in order.
func TestAdvicePage(t *testing.T) {
	t.Parallel()
	p := galleryPage()
	for name, v := range map[string]contractsview.AdviceView{
		"found": {
			Version: "1.0.0", VersionHref: "/v", Action: "/v/advice", API: "/r", Score: contractsview.AdviceScore{Points: 64}, Sets: []contractsview.AdviceScore{{Name: "A", Points: 64}}, Least: 80, Any: true,
			Rules: []contractsview.AdviceRule{
				{ID: "EDU-26", Set: "A", Title: "<b>", Severity: "warning", State: "fails", Count: 12, Link: "https://example.nl/", Href: "#rule-a"},
				{ID: "CE-12", Title: "Name", Severity: "error", State: "holds", Link: "https://example.nl/"},
				{ID: "CE-13", Title: "No", Severity: "info", State: "not-applicable", Link: "https://example.nl/"},
			},
			Groups: []contractsview.AdviceGroup{{ID: "a", Title: "<b>", Remedy: "<i>", Total: 12, More: "/v/advice?rule=a", Findings: []contractsview.FindingRow{{Severity: "warning", Code: "a", Detail: "<script>", Line: 3, Column: 1, Href: "/v?line=3#L3"}}}},
		},
		"nothing": {Version: "1.0.0", VersionHref: "/v", Action: "/v/advice", Score: contractsview.AdviceScore{Points: 100}},
		"one":     {Version: "1.0.0", VersionHref: "/v", Action: "/v/advice", Rule: "a", Any: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			uitest.CheckPage(t, uitest.Render(t, contractsview.AdvicePage(p, v)))
		})
	}
}

func sampleDeliveries() ui.DeliveryListView {
	return ui.DeliveryListView{
		Path: "/admin/errors", Self: "/admin/errors?show=held", ShowPartner: true, Now: uitest.Now(),
		Fields: []ui.Field{{Name: "partner", ID: "filter-partner", Label: "Partner", Options: []ui.Option{{Label: "All partners"}}}, {Name: "from", ID: "filter-from", Label: "From", Type: "date"}},
		Rows: []ui.DeliveryRow{
			{ID: "dlv_1", EventType: "nl.x", Href: "/admin/deliveries/dlv_1", Partner: "ROC", Endpoint: "Hook", State: "held", Reason: "Rejected (400)", Changed: uitest.Now(), Tries: 1, Resend: "/r", ResendLabel: "Resend"},
			{ID: "dlv_2", EventType: "nl.x", Href: "/admin/deliveries/dlv_2", Partner: "ROC", Endpoint: "Hook", State: "retrying", Changed: uitest.Now(), Due: uitest.Now().Add(time.Minute), Tries: 2},
		},
		Table: ui.TableView{ID: "deliveries", Caption: "Refused deliveries", Total: 2, Noun: [2]string{"delivery", "deliveries"}, Bulk: &ui.BulkView{Action: "/admin/errors", Buttons: []ui.BulkButton{{Label: "Resend", Value: "resend"}}}},
	}
}

func sampleDelivery() deliveriesview.DeliveryView {
	others := sampleDeliveries()
	others.Table.ID, others.Table.Bulk = "other-deliveries", nil
	return deliveriesview.DeliveryView{
		Self: "/admin/deliveries/dlv_1", State: "held", Headline: "Held: rejected", Text: "Mend it.", Wait: "It waits.", Due: uitest.Now().Add(time.Minute),
		Facts: []ui.Item{{Label: "State", Content: ui.State("held")}}, Resend: "/r", ResendLabel: "Resend",
		Discard: &ui.Danger{ID: "discard", Label: "Discard", Button: "Discard", Action: "/d", ReasonName: "reason"},
		Attempts: []deliveriesview.AttemptView{
			{Number: 2, At: uitest.Now(), Title: "Attempt 2: 400", Sent: "POST x", URL: "https://x.nl", Headers: "400", Body: "<b>no</b>", Answered: true, Next: uitest.Now()},
			{Number: 1, At: uitest.Now(), Title: "Attempt 1: no connection", Sent: "POST x", URL: "https://x.nl"},
		},
		Earlier: 3, Event: sampleEvent(), Others: others, Audit: []ui.Moment{{At: uitest.Now(), Kind: ui.KindInfo, Title: "Ada resent it."}}, Now: uitest.Now(),
	}
}

func sampleEvent() ui.EventView {
	return ui.EventView{Attributes: []ui.Item{{Label: "id", Text: "<i>1</i>"}}, Kind: "JSON", Size: 2, Pretty: "{\n}", Raw: "{}", Download: "/x/data"}
}

func sampleGroups() deliveriesview.JobGroupsView {
	return deliveriesview.JobGroupsView{ShowPartner: true, Left: 3, Rows: []deliveriesview.JobGroup{{
		Partner: "North", EventType: "nl.example.a", Endpoint: ui.Named{Name: "Main", Href: "/e"}, Subscription: ui.Named{Name: "Enrolments", Href: "/s"}, Count: 2,
	}}}
}

func sampleAgain() deliveriesview.AgainView {
	return deliveriesview.AgainView{
		Failed: "/f", Replay: "/r", Limited: true, Errors: []ui.FieldError{{Field: "moment", Text: "Fill it in."}},
		FailedFields: []ui.Field{
			{Name: "since", Label: "Since", Type: "radio", Required: true, Value: "day", Options: []ui.Option{{Value: "day", Label: "a day ago"}, {Value: "own", Label: "a moment"}}},
			{Name: "moment", Label: "That moment", Type: "datetime-local", Error: "Fill it in."},
			{Name: "failed-endpoint", Label: "Endpoint", Type: "list", Options: []ui.Option{{Label: "All"}}},
		},
		ReplayFields: []ui.Field{{Name: "events", Label: "Event ids", Type: "lines"}},
	}
}

// TestQueuePages holds the rules of all pages against those about what moves.
func sampleCare() deliveriesview.CareFields {
	return deliveriesview.CareFields{
		Canary: ui.Field{Name: "canary", Label: "One first"}, Rate: ui.Field{Name: "rate", Label: "At most", Error: "Too many."}, Per: ui.Field{Name: "per", Label: "In"},
	}
}

func TestQueuePages(t *testing.T) {
	t.Parallel()
	p, list := galleryPage(), sampleDeliveries()
	running := deliveriesview.JobView{Self: "/admin/jobs/1", State: "running", Action: "resend", Total: 10, Done: 3, Refused: 1, Cancel: "/admin/jobs/1/cancel", List: "/admin/deliveries", Filter: []ui.Item{{Label: "State", Text: "Held"}}, Created: uitest.Now(), Now: uitest.Now()}
	replaying := running
	replaying.Action, replaying.More = "replay", true
	replaying.Parts = []deliveriesview.JobPart{{Endpoint: ui.Named{Name: "Main", Href: "/e"}, Subscription: ui.Named{Name: "Enrolments", Href: "/s"}, State: "running", Text: "waits", Done: 1, Total: 2, More: true}}
	for name, doc := range map[string]string{
		"list":      uitest.Render(t, deliveriesview.DeliveryList(p, list)),
		"delivery":  uitest.Render(t, deliveriesview.Delivery(p, sampleDelivery())),
		"withheld":  uitest.Render(t, deliveriesview.Delivery(p, deliveriesview.DeliveryView{State: "pending", Headline: "Pending", Event: ui.EventView{Withheld: "Not yours now."}, Now: uitest.Now()})),
		"all":       uitest.Render(t, deliveriesview.DeliveryAll(p, deliveriesview.DeliveryAllView{Action: "/a", Back: "/b", Count: 2, Care: sampleCare(), Discard: true, Wrong: "Say why.", Filter: []ui.Item{{Label: "State", Text: "Held"}}})),
		"discard":   uitest.Render(t, deliveriesview.DeliveryDiscard(p, deliveriesview.DeliveryDiscardView{Action: "/a", Back: "/b", IDs: []string{"dlv_1"}, Count: 1, Wrong: "Say why."})),
		"job":       uitest.Render(t, deliveriesview.Job(p, running)),
		"replaying": uitest.Render(t, deliveriesview.Job(p, replaying)),
		"replay":    uitest.Render(t, deliveriesview.Replay(p, deliveriesview.ReplayView{Action: "/a", Change: "/b", Count: 2, More: true, Limited: true, Repeats: true, Groups: sampleGroups(), Filter: []ui.Item{{Label: "Mode", Text: "all"}}})),
		"no replay": uitest.Render(t, deliveriesview.Replay(p, deliveriesview.ReplayView{Action: "/a", Change: "/b"})),
		"again":     uitest.Render(t, deliveriesview.Again(p, sampleAgain())),
		"jobs":      uitest.Render(t, deliveriesview.JobList(p, deliveriesview.JobListView{Rows: []deliveriesview.JobRow{{Href: "/admin/jobs/1", Title: "Resend", State: "done", Created: uitest.Now()}}, Table: ui.TableView{ID: "jobs", Caption: "Jobs", Total: 1}, Now: uitest.Now()})),
		"event":     uitest.Render(t, eventsview.EventPage(p, eventsview.EventPageView{Event: sampleEvent(), Facts: []ui.Item{{Label: "Our id", Text: "evt_1"}}, Deliveries: list, Now: uitest.Now()})),
		"events":    uitest.Render(t, eventsview.EventList(p, eventsview.EventListView{Path: "/admin/events", Rows: []eventsview.EventRow{{Type: "nl.x", Href: "/e", CEID: "1", Source: "urn:x", Test: true, Accepted: uitest.Now()}}, Table: ui.TableView{ID: "events", Caption: "Events", Total: 1}, Now: uitest.Now()})),
		"audit":     uitest.Render(t, adminview.AuditTrail(p, adminview.AuditView{Path: "/admin/audit", Rows: []adminview.AuditRow{{At: uitest.Now(), Sentence: "Ada did it.", Href: "/x", ObjectID: "1"}}, Table: ui.TableView{ID: "audit", Caption: "Entries", Total: 1}, Now: uitest.Now()})),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			uitest.CheckPage(t, doc)
			if strings.Contains(doc, "<b>no") || strings.Contains(doc, "<i>1") {
				t.Error("a stranger's text is markup")
			}
		})
	}
}

func TestSelectionPages(t *testing.T) {
	t.Parallel()
	wrong := map[string]i18n.Message{
		ui.FilterControl(0, "value"): "Fill in what.", ui.FilterControl(1, "attribute"): "Fill in an attribute.", "filters": "At /0: wrong.",
		"orderBy": "Choose another.", "orderOther": "Fill in the name.",
	}
	selection := ui.SelectionView{
		Rows:   []ui.FilterRow{{Attribute: "subject", Comparison: "not-prefix", Value: "<47>"}, {Comparison: "exact"}},
		Others: `[{"any":[]}]`, Order: ui.OrderOther, OrderOther: "Number", Wrong: wrong, MoreAction: "/here",
	}
	preview := &ui.PreviewView{
		Rows:     []ui.PreviewRow{{ID: "1", Type: "nl.a", Subject: "<b>", Accepted: uitest.Now(), Match: true}, {ID: "2", Type: "nl.a", Accepted: uitest.Now()}},
		Matching: 1, Total: 60, Withheld: []string{"nl.b"}, Now: uitest.Now(),
	}
	p := ui.Page{Title: "Filters and order", Invalid: true}
	for name, doc := range map[string]string{
		"change": uitest.Render(t, ui.SelectionFormPage(p, ui.SelectionFormView{Action: "/here", Cancel: "/back", Types: []string{"nl.a"}, State: "approved", Selection: selection, Preview: preview})),
		"new": uitest.Render(t, partnersview.SubscriptionFormPage(p, partnersview.SubscriptionFormView{
			Action: "/new", Types: []ui.Option{{Value: "nl.a", Label: "nl.a"}}, Endpoints: []ui.Option{{Value: "e", Label: "E"}}, Wrong: wrong, Selection: selection, Preview: preview,
		})),
		"show":  uitest.Render(t, partnersview.SubscriptionPage(p, partnersview.SubscriptionView{State: "approved", Endpoint: "Main", EndpointHref: "/e", DeliveriesHref: "/d", Selected: partnersview.Selected{Filters: []string{"subject is “<b>”"}, OrderBy: "subject"}, ChangeHref: "/change", Now: uitest.Now()})),
		"empty": uitest.Render(t, ui.SelectionFormPage(p, ui.SelectionFormView{Action: "/here", State: "requested", Preview: &ui.PreviewView{}})),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			uitest.CheckPage(t, doc)
			if strings.Contains(doc, "<47>") || strings.Contains(doc, "<b>") {
				t.Error("what a stranger wrote is markup")
			}
		})
	}
}

// The pages of the settings keep the rules that hold for all pages, with
// everything on them and with nothing.
func TestSettingsPages(t *testing.T) {
	t.Parallel()
	p := galleryPage()
	row := func(s adminview.SettingStanding) adminview.SettingRow {
		return adminview.SettingRow{Title: "Key", Value: "Not looked at", Asked: "Required", Rules: "IDEM-02, OPEN-04", Standing: s}
	}
	changes := []adminview.SettingChangeRow{{Title: "Key", Before: "Required", After: "Not looked at", Rules: "IDEM-02", Standing: "relaxed"}}
	form := adminview.SettingsFormView{
		Version: "3", Wrong: map[string]i18n.Message{"a.ttl": "Choose more.", "reason": "Too long."}, Changes: changes,
		Errors: []ui.FieldError{{Field: "a.ttl", Text: "Lifetime: choose more."}, {Field: "reason", Text: "Too long."}},
		Groups: []adminview.SettingFormGroup{{Title: "A", Fields: []adminview.SettingField{
			{Options: true, Field: ui.Field{Name: "a.key", Label: "Key", Hint: "Whether.", Required: true, Options: []ui.Option{{Value: "on", Label: "On", Hint: "What the profile asks for."}, {Value: "off", Label: "Off"}}}},
			{Field: ui.Field{Name: "a.ttl", Label: "Lifetime", Value: "1h", Error: "Choose more.", Required: true}},
		}}},
	}
	for name, page := range map[string]templ.Component{
		"settings": adminview.SettingsPage(p, adminview.SettingsView{
			Groups:  []adminview.SettingGroup{{Key: "a", Title: "A", Rows: []adminview.SettingRow{row("strict"), row("tighter"), row("relaxed"), row("optional")}}},
			Relaxed: []adminview.SettingRow{row("relaxed")}, Now: uitest.Now(), Message: "Changed meanwhile.",
			Strict: &ui.Danger{ID: "strict", Label: "Back", Button: "Back", Action: "/b", ReasonName: "reason", ReasonError: "Say why."},
		}),
		"nothing relaxed": adminview.SettingsPage(p, adminview.SettingsView{Now: uitest.Now()}),
		"form":            adminview.SettingsFormPage(p, form),
		"import":          adminview.SettingsImportPage(p, adminview.SettingsImportView{Text: "x", Wrong: map[string]i18n.Message{"text": "Wrong."}, Problems: []adminview.FileProblemRow{{Line: "3", Setting: "a.ttl", Text: "Choose more."}}}),
		"preview":         adminview.SettingsPreviewPage(p, adminview.SettingsPreviewView{Text: "x", Version: "3", Changes: changes}),
		"no changes":      adminview.SettingsPreviewPage(p, adminview.SettingsPreviewView{}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			uitest.CheckPage(t, uitest.Render(t, page))
		})
	}
}
