package templates

import (
	"testing"
	"time"

	"github.com/a-h/templ"
)

// The pages of administrators and of contracts keep the rules that hold for all
// pages, with everything on them and with nothing.
func TestAdministratorPages(t *testing.T) {
	t.Parallel()
	for name, page := range administratorPages() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := elements(parse(t, render(t, page)))
			checkPolicy(t, all)
			checkReferences(t, all)
			checkNames(t, all)
			checkHeadings(t, all)
		})
	}
}

func administratorPages() map[string]templ.Component {
	p, partner, endpoint := galleryPage(), Named{Name: "ROC Noord", Href: "/p"}, Named{Name: "Main", Href: "/e"}
	sub := SubscriptionRow{Name: "Students", Href: "/s", Partner: partner, Endpoint: endpoint, Types: []string{"a", "b", "c", "d"}, Status: "requested", Since: now()}
	client := ClientRow{Name: "System", Href: "/c", Partner: partner, Scopes: []string{"events.publish"}, Status: "active", Waiting: true, Since: now()}
	point := EndpointRow{Name: "Main", Href: "/e", Host: "a.example", Partner: partner, Status: "active", Circuit: "open", Waiting: 3, Oldest: now().Add(-time.Hour), Why: "It answers 500."}
	account := AccountRow{Name: "Anna", Email: "anna@example.nl", Status: "active", BlockAction: "/b", LinkAction: "/l"}
	todo := ActsView{
		Title: "Decide", Lead: "Look well.", Plain: []Act{{Primary, "Approve", "/approve", nil}},
		Danger: []Danger{{ID: "reject", Label: "Reject", Button: "Reject", Action: "/reject", ReasonName: "reason", ReasonError: "Say why."}},
	}
	past := History{Moments: []Moment{{At: now(), Title: "Anna did it."}}, Now: now(), MoreHref: "/admin/audit"}
	finding := FindingRow{Severity: "error", Code: "x", Pointer: "/info", Detail: "No title.", Remedy: "Add it.", Line: 2, Column: 1, Href: "#L2", Excerpt: "info:"}
	kind := GrantedType{Name: "nl.a", Title: "A", Href: "/t", Contract: partner, Status: "published", Known: true}
	return map[string]templ.Component{
		"overview": AdminOverview(p, AdminOverviewView{Waiting: []Tile{{Label: "Registrations", Value: "1"}}, Period: "now", Endpoints: []EndpointRow{point}, History: past, Now: now(), Every: time.Second}),
		"partners": AdminPartners(p, AdminPartnersView{Statuses: StateOptions("requested"), Rows: []PartnerRow{{Name: "ROC", Href: "/p", Number: "1", Status: "requested", Unconfirmed: true}}, Total: 1, Now: now()}),
		"partner": AdminPartner(p, AdminPartnerView{
			OIN: "1", Grants: []string{"All"}, Acts: todo, Message: "No.", Endpoints: []EndpointRow{point},
			Subscriptions: []SubscriptionRow{sub}, Clients: []ClientRow{client}, Accounts: []AccountRow{account}, History: past, Now: now(),
		}),
		"no partner":    AdminPartner(p, AdminPartnerView{}),
		"subscriptions": AdminSubscriptions(p, AdminSubscriptionsView{Rows: []SubscriptionRow{sub}, Total: 1, Now: now()}),
		"subscription": AdminSubscription(p, AdminSubscriptionView{
			Status: "requested", Partner: partner, Endpoint: endpoint, Purpose: "a\nb", Types: []GrantedType{kind, {Name: "gone"}},
			Sources: []GrantedSource{{"nl.a", "ROC", "urn:a", true}}, Acts: todo, History: past, Now: now(), DeliveriesHref: "/d",
		}),
		"clients":      AdminClients(p, AdminClientsView{Waiting: []ClientRow{client}, Organisation: "Office", Now: now()}),
		"client":       AdminClient(p, AdminClientView{ID: "cli_1", Partner: partner, Asks: ClientAsks{Scopes: []string{"events.publish"}}, Secret: "s", Acts: todo, History: past, Now: now()}),
		"endpoints":    AdminEndpoints(p, AdminEndpointsView{Rows: []EndpointRow{point}, Total: 1, Now: now()}),
		"endpoint":     AdminEndpoint(p, AdminEndpointView{Partner: partner, Circuit: "open", Failures: 3, OpenedAt: now(), Waiting: 2, Oldest: now(), Rate: 1, EditHref: "/e", TestAction: "/t", DeliveriesHref: "/d", Acts: todo, Subscriptions: []SubscriptionRow{sub}, Now: now()}),
		"routes":       AdminRoutes(p, AdminRoutesView{Rows: []RouteRow{{From: partner, To: partner, EventType: "nl.a", By: "Anna", Remove: "/r"}}, Wrong: map[string]string{"from": "Choose."}, Now: now()}),
		"mails":        AdminMails(p, AdminMailsView{Rows: []MailRow{{Recipient: "a@example.nl", Subject: "Hello", Status: "failed", Error: "refused", Attempts: 2}}, Total: 1, Now: now()}),
		"accounts":     AdminAccounts(p, AdminAccountsView{Rows: []AccountRow{account}, Wrong: map[string]string{"name": "Fill in."}, Now: now()}),
		"contracts":    ContractList(p, ContractListView{Rows: []ContractRow{{ID: "a", Title: "A", Href: "/a", Kind: "openapi", Version: "1.0.0", VersionHref: "/v", Status: "published"}}, Total: 1, ShowVisibility: true}),
		"no contracts": ContractList(p, ContractListView{CreateHref: "/n", Requested: []RequestedRow{{Contract: "A", Version: "1.0.0", Href: "/v", Owner: "P", By: "Anna", At: now()}}, Now: now()}),
		"contract":     ContractPage(p, ContractView{ID: "a", Kind: "asyncapi", Description: "A\nB", ContactName: "N", ContactEmail: "n@example.nl", Visibility: "public", Versions: []VersionRow{{Version: "1.0.0", Href: "/v", Status: "deprecated", Sunset: now()}}, Types: []GrantedType{kind}, TypesOf: "1.0.0", API: []Named{{"Metadata", "/m"}}, History: &past, Now: now()}),
		"version": VersionPage(p, VersionView{
			Contract: partner, Kind: "asyncapi", Status: "published", Description: []string{"Text"}, Findings: []FindingRow{finding, {Severity: "info", Detail: "d"}}, Types: []GrantedType{kind}, Downloads: []Named{{"JSON", "/j"}},
			Source: SourceView{First: 1, Total: 3, Lines: []string{"a", "b"}, Found: map[int]bool{2: true}, NextHref: "/n"}, DeprecateAction: "/d", SunsetError: "Later.", Acts: todo, Now: now(),
		}),
		"draft": VersionPage(p, VersionView{Contract: partner, Kind: "asyncapi", Status: "draft", PublishHref: "/p", PublishLabel: "Publish", Requested: &RequestedRow{By: "Anna", Owner: "P", At: now(), Reason: "ready"}, Now: now()}),
		"visibility": VisibilityPage(p, VisibilityView{
			Action: "/a", Back: "/b", Now: "public", Visibility: "named", Named: []Option{{Value: "ptn_1", Label: "P", Selected: true}}, Loses: true, Everybody: true,
			Losing: []LosingRow{{Partner: "Q", Href: "/q", Subscriptions: 2}}, LosingTotal: 1, Wrong: map[string]string{"accept": "Confirm.", "reason": "Say why."},
		}),
		"contract form": ContractForm(p, ContractFormView{New: true, Button: "Make", Wrong: map[string]string{"id": "No.", "kind": "No.", "visibility": "No.", "": "Taken."}, Partners: []Option{{Label: "Own"}}}),
		"upload":        UploadPage(p, UploadView{Kind: "asyncapi", MaxBytes: 1 << 20, Text: "<script>", Findings: []FindingRow{{Severity: "error", Line: 1, Detail: "<b>", Excerpt: "<i>"}}, Wrong: map[string]string{"text": "No."}}),
		"publish":       PublishPage(p, PublishView{Kind: "asyncapi", Changes: []TypeChange{{Name: "nl.a", What: "New"}, {Name: "nl.b", What: "Taken"}}, Warnings: []FindingRow{finding2(finding)}, Digest: "00"}),
		"publish breaking": PublishPage(p, PublishView{
			Kind: "asyncapi", Before: "1.0.0", BrokenTotal: 2, Broken: []ContractChangeRow{{Level: "breaking", Text: "<b>", Why: "w", Side: "consumer", Pointer: "/a", Removed: true, Code: "c"}},
			Bound:       []BoundRow{{Partner: "P", PartnerHref: "/p", Subscription: "S", SubscriptionHref: "/s", Types: []string{"nl.a"}}},
			NeedsReason: true, Suggested: "2.0.0", ShowBound: true, Asks: true, RequestReason: "ready", Wrong: map[string]string{"reason": "Say why."}, Digest: "00", ChangesHref: "/c",
		}),
		"publish unknown": PublishPage(p, PublishView{Kind: "openapi", Before: "1.0.0", Unknown: "Too large.", NeedsReason: true}),
		"publish same":    PublishPage(p, PublishView{Kind: "asyncapi", Before: "1.0.0", ChangesHref: "/c"}),
		"changes": ContractChangesPage(p, ContractChangesView{
			From: "1.0.0", To: "1.1.0", Others: []Option{{Value: "1.0.0", Label: "1.0.0"}}, Compared: true, Suggested: "1.1.0", Breaking: 1, Info: 1, Causes: 2, API: "/api",
			Groups: []ContractChangeGroup{{Text: "The shared schema A: 1 breaking.", Level: "breaking", Total: 300, EventTypes: []string{"nl.a"}, Changes: []ContractChangeRow{{Level: "breaking", Text: "t", Side: "producer"}}}, {Text: "The document: 1 info.", Total: 1, Changes: []ContractChangeRow{{Level: "info", Text: "t", Side: "both"}}}},
			Pager:  &Pager{Page: 1, PerPage: 1, Total: 2, URL: func(int) string { return "?page=2" }},
		}),
		"reading": ReadingPage(p, ReadingView{
			Text: "# Big", Servers: []ReadingNamed{{"main", "amqp", "broker", "text"}}, Security: []ReadingNamed{{Name: "key"}}, Total: 2, Uses: &ReadingUses{Rows: []BoundRow{{Partner: "P", PartnerHref: "/p", Subscription: "S", SubscriptionHref: "/s"}}},
			Parts: []ReadingPart{
				{
					ID: "part-1", Kind: "operation", Name: "GET /a", Summary: "s", Text: "## <script>", Deprecated: true, Facts: []Item{{Label: "Security", Text: "key"}}, Links: []ReadingLink{{"Message", "m", ""}, {"Message", "n", "/n"}},
					Tables: []ReadingTable{{Title: "Request", Text: "t", More: true, Fields: []ReadingField{{Type: "object"}, {Name: "a.b", Type: "string", Required: true, RefName: "B", RefHref: "/b", Text: "*x*", Rules: []string{"r"}, Deprecated: true}}}, {Title: "Response 204", Text: "Done."}}, Examples: []ReadingExample{{"Example", "{}"}},
				},
				{ID: "part-2", Kind: "schema", Name: "A"},
			},
		}),
		"reading nothing": ReadingPage(p, ReadingView{Uses: &ReadingUses{Own: true}}),
		"changes none":    ContractChangesPage(p, ContractChangesView{From: "1.0.0", To: "1.1.0", Compared: true}),
		"changes refused": ContractChangesPage(p, ContractChangesView{To: "1.1.0", Message: "Too large."}),
		"publish not":     PublishPage(p, PublishView{Kind: "openapi", Blocked: "It is published.", Wrong: map[string]string{"": "Look again."}, Back: "/v"}),
	}
}

// finding2 leads to another page than the one it is on.
func finding2(f FindingRow) FindingRow {
	f.Href = "/v?line=2#L2"
	return f
}
