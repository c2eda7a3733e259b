package templates

import (
	"strings"
	"testing"
	"time"

	adminview "schakel/templates/admin"
	deliveriesview "schakel/templates/deliveries"
	eventsview "schakel/templates/events"
	"schakel/templates/ui"
	"schakel/templates/ui/uitest"
)

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

func sampleSendAgain() deliveriesview.SendAgainView {
	return deliveriesview.SendAgainView{
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
func TestQueuePages(t *testing.T) {
	t.Parallel()
	p, list := galleryPage(), sampleDeliveries()
	running := deliveriesview.JobView{Self: "/admin/jobs/1", State: "running", Verb: "resent", Noun: [2]string{"delivery", "deliveries"}, Total: 10, Done: 3, Refused: 1, Cancel: "/admin/jobs/1/cancel", List: "/admin/deliveries", Filter: []ui.Item{{Label: "State", Text: "Held"}}, Created: uitest.Now(), Now: uitest.Now()}
	replaying := running
	replaying.Verb, replaying.Noun, replaying.More = "offered", [2]string{"event", "events"}, true
	replaying.Parts = []deliveriesview.JobPart{{Endpoint: ui.Named{Name: "Main", Href: "/e"}, Subscription: ui.Named{Name: "Enrolments", Href: "/s"}, State: "running", Text: "waits", Done: 1, Total: 2, More: true}}
	for name, doc := range map[string]string{
		"list":      uitest.Render(t, deliveriesview.DeliveryList(p, list)),
		"delivery":  uitest.Render(t, deliveriesview.Delivery(p, sampleDelivery())),
		"withheld":  uitest.Render(t, deliveriesview.Delivery(p, deliveriesview.DeliveryView{State: "pending", Headline: "Pending", Event: ui.EventView{Withheld: "Not yours now."}, Now: uitest.Now()})),
		"all":       uitest.Render(t, deliveriesview.DeliveryAll(p, deliveriesview.DeliveryAllView{Action: "/a", Back: "/b", Count: 2, Discard: true, Wrong: "Say why.", Filter: []ui.Item{{Label: "State", Text: "Held"}}})),
		"discard":   uitest.Render(t, deliveriesview.DeliveryDiscard(p, deliveriesview.DeliveryDiscardView{Action: "/a", Back: "/b", IDs: []string{"dlv_1"}, Count: 1, Wrong: "Say why."})),
		"job":       uitest.Render(t, deliveriesview.Job(p, running)),
		"replaying": uitest.Render(t, deliveriesview.Job(p, replaying)),
		"replay":    uitest.Render(t, deliveriesview.Replay(p, deliveriesview.ReplayView{Action: "/a", Change: "/b", Count: 2, More: true, Limited: true, Repeats: true, Groups: sampleGroups(), Filter: []ui.Item{{Label: "Mode", Text: "all"}}})),
		"no replay": uitest.Render(t, deliveriesview.Replay(p, deliveriesview.ReplayView{Action: "/a", Change: "/b"})),
		"again":     uitest.Render(t, deliveriesview.SendAgain(p, sampleSendAgain())),
		"jobs":      uitest.Render(t, deliveriesview.JobList(p, deliveriesview.JobListView{Rows: []deliveriesview.JobRow{{Href: "/admin/jobs/1", Title: "Resend", State: "done", Created: uitest.Now()}}, Table: ui.TableView{ID: "jobs", Caption: "Jobs", Total: 1}, Now: uitest.Now()})),
		"event":     uitest.Render(t, eventsview.EventPage(p, eventsview.EventPageView{Event: sampleEvent(), Facts: []ui.Item{{Label: "Our id", Text: "evt_1"}}, Deliveries: list, Now: uitest.Now()})),
		"events":    uitest.Render(t, eventsview.EventList(p, eventsview.EventListView{Path: "/admin/events", Rows: []eventsview.EventRow{{Type: "nl.x", Href: "/e", CEID: "1", Source: "urn:x", Test: true, Accepted: uitest.Now()}}, Table: ui.TableView{ID: "events", Caption: "Events", Total: 1}, Now: uitest.Now()})),
		"audit":     uitest.Render(t, adminview.AuditTrail(p, adminview.AuditView{Path: "/admin/audit", Rows: []adminview.AuditRow{{At: uitest.Now(), Sentence: "Ada did it.", Href: "/x", ObjectID: "1"}}, Table: ui.TableView{ID: "audit", Caption: "Entries", Total: 1}, Now: uitest.Now()})),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := uitest.Elements(uitest.Parse(t, doc))
			uitest.CheckPolicy(t, all)
			uitest.CheckReferences(t, all)
			uitest.CheckNames(t, all)
			uitest.CheckHeadings(t, all)
			if strings.Contains(doc, "<b>no") || strings.Contains(doc, "<i>1") {
				t.Error("a stranger's text is markup")
			}
		})
	}
}
