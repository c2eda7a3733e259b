package templates

import (
	"strings"
	"testing"
	"time"
)

func sampleDeliveries() DeliveryListView {
	return DeliveryListView{
		Path: "/admin/errors", Self: "/admin/errors?show=held", ShowPartner: true, Now: now(),
		Fields: []Field{{Name: "partner", ID: "filter-partner", Label: "Partner", Options: []Option{{Label: "All partners"}}}, {Name: "from", ID: "filter-from", Label: "From", Type: "date"}},
		Rows: []DeliveryRow{
			{ID: "dlv_1", EventType: "nl.x", Href: "/admin/deliveries/dlv_1", Partner: "ROC", Endpoint: "Hook", State: "held", Reason: "Rejected (400)", Changed: now(), Tries: 1, Resend: "/r", ResendLabel: "Resend"},
			{ID: "dlv_2", EventType: "nl.x", Href: "/admin/deliveries/dlv_2", Partner: "ROC", Endpoint: "Hook", State: "retrying", Changed: now(), Due: now().Add(time.Minute), Tries: 2},
		},
		Table: TableView{ID: "deliveries", Caption: "Refused deliveries", Total: 2, Noun: [2]string{"delivery", "deliveries"}, Bulk: &BulkView{Action: "/admin/errors", Buttons: []BulkButton{{Label: "Resend", Value: "resend"}}}},
	}
}

func sampleDelivery() DeliveryView {
	others := sampleDeliveries()
	others.Table.ID, others.Table.Bulk = "other-deliveries", nil
	return DeliveryView{
		Self: "/admin/deliveries/dlv_1", State: "held", Headline: "Held: rejected", Text: "Mend it.", Wait: "It waits.", Due: now().Add(time.Minute),
		Facts: []Item{{Label: "State", Content: State("held")}}, Resend: "/r", ResendLabel: "Resend",
		Discard: &Danger{ID: "discard", Label: "Discard", Button: "Discard", Action: "/d", ReasonName: "reason"},
		Attempts: []AttemptView{
			{Number: 2, At: now(), Title: "Attempt 2: 400", Sent: "POST x", URL: "https://x.nl", Headers: "400", Body: "<b>no</b>", Answered: true, Next: now()},
			{Number: 1, At: now(), Title: "Attempt 1: no connection", Sent: "POST x", URL: "https://x.nl"},
		},
		Earlier: 3, Event: sampleEvent(), Others: others, Audit: []Moment{{At: now(), Kind: KindInfo, Title: "Ada resent it."}}, Now: now(),
	}
}

func sampleEvent() EventView {
	return EventView{Attributes: []Item{{Label: "id", Text: "<i>1</i>"}}, Kind: "JSON", Size: 2, Pretty: "{\n}", Raw: "{}", Download: "/x/data"}
}

func sampleGroups() JobGroupsView {
	return JobGroupsView{ShowPartner: true, Left: 3, Rows: []JobGroup{{
		Partner: "North", EventType: "nl.example.a", Endpoint: Named{"Main", "/e"}, Subscription: Named{"Enrolments", "/s"}, Count: 2,
	}}}
}

func sampleSendAgain() SendAgainView {
	return SendAgainView{
		Failed: "/f", Replay: "/r", Limited: true, Errors: []FieldError{{Field: "moment", Text: "Fill it in."}},
		FailedFields: []Field{
			{Name: "since", Label: "Since", Type: "radio", Required: true, Value: "day", Options: []Option{{Value: "day", Label: "a day ago"}, {Value: "own", Label: "a moment"}}},
			{Name: "moment", Label: "That moment", Type: "datetime-local", Error: "Fill it in."},
			{Name: "failed-endpoint", Label: "Endpoint", Type: "list", Options: []Option{{Label: "All"}}},
		},
		ReplayFields: []Field{{Name: "events", Label: "Event ids", Type: "lines"}},
	}
}

// TestQueuePages holds the rules of all pages against those about what moves.
func TestQueuePages(t *testing.T) {
	t.Parallel()
	p, list := galleryPage(), sampleDeliveries()
	running := JobView{Self: "/admin/jobs/1", State: "running", Verb: "resent", Noun: [2]string{"delivery", "deliveries"}, Total: 10, Done: 3, Refused: 1, Cancel: "/admin/jobs/1/cancel", List: "/admin/deliveries", Filter: []Item{{Label: "State", Text: "Held"}}, Created: now(), Now: now()}
	replaying := running
	replaying.Verb, replaying.Noun, replaying.More = "offered", [2]string{"event", "events"}, true
	replaying.Parts = []JobPart{{Endpoint: Named{"Main", "/e"}, Subscription: Named{"Enrolments", "/s"}, State: "running", Text: "waits", Done: 1, Total: 2, More: true}}
	for name, doc := range map[string]string{
		"list":      render(t, DeliveryList(p, list)),
		"delivery":  render(t, Delivery(p, sampleDelivery())),
		"withheld":  render(t, Delivery(p, DeliveryView{State: "pending", Headline: "Pending", Event: EventView{Withheld: "Not yours now."}, Now: now()})),
		"all":       render(t, DeliveryAll(p, DeliveryAllView{Action: "/a", Back: "/b", Count: 2, Discard: true, Wrong: "Say why.", Filter: []Item{{Label: "State", Text: "Held"}}})),
		"discard":   render(t, DeliveryDiscard(p, DeliveryDiscardView{Action: "/a", Back: "/b", IDs: []string{"dlv_1"}, Count: 1, Wrong: "Say why."})),
		"job":       render(t, Job(p, running)),
		"replaying": render(t, Job(p, replaying)),
		"replay":    render(t, Replay(p, ReplayView{Action: "/a", Change: "/b", Count: 2, More: true, Limited: true, Repeats: true, Groups: sampleGroups(), Filter: []Item{{Label: "Mode", Text: "all"}}})),
		"no replay": render(t, Replay(p, ReplayView{Action: "/a", Change: "/b"})),
		"again":     render(t, SendAgain(p, sampleSendAgain())),
		"jobs":      render(t, JobList(p, JobListView{Rows: []JobRow{{Href: "/admin/jobs/1", Title: "Resend", State: "done", Created: now()}}, Table: TableView{ID: "jobs", Caption: "Jobs", Total: 1}, Now: now()})),
		"event":     render(t, EventPage(p, EventPageView{Event: sampleEvent(), Facts: []Item{{Label: "Our id", Text: "evt_1"}}, Deliveries: list, Now: now()})),
		"events":    render(t, EventList(p, EventListView{Path: "/admin/events", Rows: []EventRow{{Type: "nl.x", Href: "/e", CEID: "1", Source: "urn:x", Test: true, Accepted: now()}}, Table: TableView{ID: "events", Caption: "Events", Total: 1}, Now: now()})),
		"audit":     render(t, AuditTrail(p, AuditView{Path: "/admin/audit", Rows: []AuditRow{{At: now(), Sentence: "Ada did it.", Href: "/x", ObjectID: "1"}}, Table: TableView{ID: "audit", Caption: "Entries", Total: 1}, Now: now()})),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := elements(parse(t, doc))
			checkPolicy(t, all)
			checkReferences(t, all)
			checkNames(t, all)
			checkHeadings(t, all)
			if strings.Contains(doc, "<b>no") || strings.Contains(doc, "<i>1") {
				t.Error("a stranger's text is markup")
			}
		})
	}
}
