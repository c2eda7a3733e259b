package templates

import (
	"testing"
	"time"

	"github.com/a-h/templ"
	adminview "schakel/templates/admin"
	contractsview "schakel/templates/contracts"
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
			all := uitest.Elements(uitest.Parse(t, uitest.Render(t, page)))
			uitest.CheckPolicy(t, all)
			uitest.CheckReferences(t, all)
			uitest.CheckNames(t, all)
			uitest.CheckHeadings(t, all)
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
		"overview": adminview.AdminOverview(p, adminview.AdminOverviewView{Waiting: []ui.Tile{{Label: "Registrations", Value: "1"}}, Period: "now", Endpoints: []ui.EndpointRow{point}, History: past, Now: uitest.Now(), Every: time.Second}),
		"partners": partnersview.AdminPartners(p, partnersview.AdminPartnersView{Statuses: ui.StateOptions("requested"), Rows: []partnersview.PartnerRow{{Name: "ROC", Href: "/p", Number: "1", Status: "requested", Unconfirmed: true}}, Total: 1, Now: uitest.Now()}),
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
		"routes":       adminview.AdminRoutes(p, adminview.AdminRoutesView{Rows: []adminview.RouteRow{{From: partner, To: partner, EventType: "nl.a", By: "Anna", Remove: "/r"}}, Wrong: map[string]string{"from": "Choose."}, Now: uitest.Now()}),
		"mails":        adminview.AdminMails(p, adminview.AdminMailsView{Rows: []adminview.MailRow{{Recipient: "a@example.nl", Subject: "Hello", Status: "failed", Error: "refused", Attempts: 2}}, Total: 1, Now: uitest.Now()}),
		"accounts":     adminview.AdminAccounts(p, adminview.AdminAccountsView{Rows: []ui.AccountRow{account}, Wrong: map[string]string{"name": "Fill in."}, Now: uitest.Now()}),
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
			Losing: []contractsview.LosingRow{{Partner: "Q", Href: "/q", Subscriptions: 2}}, LosingTotal: 1, Wrong: map[string]string{"accept": "Confirm.", "reason": "Say why."},
		}),
		"contract form": contractsview.ContractForm(p, contractsview.ContractFormView{New: true, Button: "Make", Wrong: map[string]string{"id": "No.", "kind": "No.", "visibility": "No.", "": "Taken."}, Partners: []ui.Option{{Label: "Own"}}}),
		"upload":        contractsview.UploadPage(p, contractsview.UploadView{Kind: "asyncapi", MaxBytes: 1 << 20, Text: "<script>", Findings: []contractsview.FindingRow{{Severity: "error", Line: 1, Detail: "<b>", Excerpt: "<i>"}}, Wrong: map[string]string{"text": "No."}}),
		"publish":       contractsview.PublishPage(p, contractsview.PublishView{Kind: "asyncapi", Changes: []contractsview.TypeChange{{Name: "nl.a", What: "New"}, {Name: "nl.b", What: "Taken"}}, Warnings: []contractsview.FindingRow{finding2(finding)}, Digest: "00"}),
		"publish breaking": contractsview.PublishPage(p, contractsview.PublishView{
			Kind: "asyncapi", Before: "1.0.0", BrokenTotal: 2, Broken: []contractsview.ContractChangeRow{{Level: "breaking", Text: "<b>", Why: "w", Side: "consumer", Pointer: "/a", Removed: true, Code: "c"}},
			Bound:       []contractsview.BoundRow{{Partner: "P", PartnerHref: "/p", Subscription: "S", SubscriptionHref: "/s", Types: []string{"nl.a"}}},
			NeedsReason: true, Suggested: "2.0.0", ShowBound: true, Asks: true, RequestReason: "ready", Wrong: map[string]string{"reason": "Say why."}, Digest: "00", ChangesHref: "/c",
		}),
		"publish unknown": contractsview.PublishPage(p, contractsview.PublishView{Kind: "openapi", Before: "1.0.0", Unknown: "Too large.", NeedsReason: true}),
		"publish same":    contractsview.PublishPage(p, contractsview.PublishView{Kind: "asyncapi", Before: "1.0.0", ChangesHref: "/c"}),
		"changes": contractsview.ContractChangesPage(p, contractsview.ContractChangesView{
			From: "1.0.0", To: "1.1.0", Others: []ui.Option{{Value: "1.0.0", Label: "1.0.0"}}, Compared: true, Suggested: "1.1.0", Breaking: 1, Info: 1, Causes: 2, API: "/api",
			Groups: []contractsview.ContractChangeGroup{{Text: "The shared schema A: 1 breaking.", Level: "breaking", Total: 300, EventTypes: []string{"nl.a"}, Changes: []contractsview.ContractChangeRow{{Level: "breaking", Text: "t", Side: "producer"}}}, {Text: "The document: 1 info.", Total: 1, Changes: []contractsview.ContractChangeRow{{Level: "info", Text: "t", Side: "both"}}}},
			Pager:  &ui.Pager{Page: 1, PerPage: 1, Total: 2, URL: func(int) string { return "?page=2" }},
		}),
		"reading": contractsview.ReadingPage(p, contractsview.ReadingView{
			Text: "# Big", Servers: []contractsview.ReadingNamed{{Name: "main", Kind: "amqp", Detail: "broker", Text: "text"}}, Security: []contractsview.ReadingNamed{{Name: "key"}}, Total: 2, Uses: &contractsview.ReadingUses{Rows: []contractsview.BoundRow{{Partner: "P", PartnerHref: "/p", Subscription: "S", SubscriptionHref: "/s"}}},
			Parts: []contractsview.ReadingPart{
				{
					ID: "part-1", Kind: "operation", Name: "GET /a", Summary: "s", Text: "## <script>", Deprecated: true, Facts: []ui.Item{{Label: "Security", Text: "key"}}, Links: []contractsview.ReadingLink{{Label: "Message", Name: "m", Href: ""}, {Label: "Message", Name: "n", Href: "/n"}},
					Tables: []contractsview.ReadingTable{{Title: "Request", Text: "t", More: true, Fields: []contractsview.ReadingField{{Type: "object"}, {Name: "a.b", Type: "string", Required: true, RefName: "B", RefHref: "/b", Text: "*x*", Rules: []string{"r"}, Deprecated: true}}}, {Title: "Response 204", Text: "Done."}}, Examples: []contractsview.ReadingExample{{Name: "Example", Text: "{}"}},
				},
				{ID: "part-2", Kind: "schema", Name: "A"},
			},
		}),
		"reading nothing": contractsview.ReadingPage(p, contractsview.ReadingView{Uses: &contractsview.ReadingUses{Own: true}}),
		"changes none":    contractsview.ContractChangesPage(p, contractsview.ContractChangesView{From: "1.0.0", To: "1.1.0", Compared: true}),
		"changes refused": contractsview.ContractChangesPage(p, contractsview.ContractChangesView{To: "1.1.0", Message: "Too large."}),
		"publish not":     contractsview.PublishPage(p, contractsview.PublishView{Kind: "openapi", Blocked: "It is published.", Wrong: map[string]string{"": "Look again."}, Back: "/v"}),
	}
}

// finding2 leads to another page than the one it is on.
func finding2(f contractsview.FindingRow) contractsview.FindingRow {
	f.Href = "/v?line=2#L2"
	return f
}
