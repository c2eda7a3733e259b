package web

import (
	"net/url"
	"strings"
	"testing"

	"schakel/registry"
	"schakel/registry/partners"
	"schakel/store"
)

func TestPullEndpointStory(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t).withCatalogue(t)
	b, pat := h.at(t, "pat@example.nl")
	wantWords(t, text(b.get("/partner/endpoints/new")), `href="/partner/endpoints/new?kind=pull"`, `name="url"`)
	form := text(b.get("/partner/endpoints/new?kind=pull"))
	wantWords(t, form, `name="kind" value="pull"`, `href="/partner/endpoints/new?kind=webhook"`)
	if strings.Contains(form, `name="url"`) || strings.Contains(form, `name="tokenUrl"`) {
		t.Error("the form for a pull endpoint asks for an address")
	}
	answer := b.post("/partner/endpoints", url.Values{"kind": {"pull"}, "name": {""}})
	wantStatus(t, answer, 422)
	wantWords(t, text(answer), `href="#name"`, `name="kind" value="pull"`)
	answer = b.post("/partner/endpoints", url.Values{"kind": {"pull"}, "name": {"Fetch here"}})
	wantStatus(t, answer, 303)
	here := answer.Header.Get("Location")
	page := text(b.get(here))
	wantWords(t, page, "Endpoint Fetch here is added. Ask for a subscription", "SUBSCRIPTION-ID/receive", "What waits", "acknowledge")
	if strings.Contains(page, here+"/test") || strings.Contains(page, "Webhook address") {
		t.Error("a pull endpoint is shown as one we send to")
	}
	wantRedirect(t, b.post(here+"/test", nil), here)
	wantWords(t, text(b.get(here)), "there is nothing to test")
	form = text(b.get(here + "/edit"))
	if strings.Contains(form, `name="url"`) || strings.Contains(form, "?kind=") {
		t.Error("a pull endpoint can be made another kind")
	}
	h.wantWaiting(t, b, here, pat)
}

// wantWaiting subscribes the endpoint, puts two events on it, has one received, and looks at the pages.
func (d *portalHarness) wantWaiting(t *testing.T, b *browser, here string, pat registry.Actor) {
	t.Helper()
	ctx := t.Context()
	sub, err := d.reg.Subscriptions.Request(ctx, pat, partners.SubscriptionRequest{
		EndpointID: idOf(here), Types: []string{"nl.example.student.enrolled"}, Purpose: "To know who is enrolled.",
	})
	noError(t, err)
	noError(t, d.reg.Subscriptions.Approve(ctx, d.admin, sub.ID))
	var ids []string
	noError(t, d.db.Write(ctx, func(tx *store.Tx) error {
		for _, name := range []string{"one", "two"} {
			e := store.Event{
				ID: tx.NewID("evt"), PartnerID: pat.PartnerID, ClientID: "cli_test", CEID: name, CESource: "urn:test", CEType: "nl.example.student.enrolled",
				Attributes: []byte(`{"specversion":"1.0","id":"` + name + `","source":"urn:test","type":"nl.example.student.enrolled"}`), AcceptedAt: tx.Now,
			}
			if _, err := tx.InsertEvents(ctx, []store.Event{e}); err != nil {
				return err
			}
			ids = append(ids, tx.NewID("dlv"))
			if err := tx.InsertDeliveries(ctx, []store.Delivery{{
				ID: ids[len(ids)-1], EventID: e.ID, SubscriptionID: sub.ID, EndpointID: sub.EndpointID, PartnerID: sub.PartnerID, EventType: e.CEType,
				Status: store.DeliveryPending, IdempotencyKey: "k", KeyExpiresAt: tx.Now, DueAt: tx.Now,
			}}); err != nil {
				return err
			}
		}
		return nil
	}))
	lock := store.NewLockID()
	noError(t, d.db.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.PullClaim(ctx, store.PullClaim{SubscriptionID: sub.ID, LockID: lock, ClientID: "cli_fetcher", Limit: 1, Lease: store.At(tx.Now.Add(60e9)), MaxReceives: 10})
		return err
	}))
	its, admin := "/partner/subscriptions/"+sub.ID, d.browser()
	admin.login(t, testEmail)
	page := text(b.get(its))
	wantWords(t, page, "wait at your endpoint until you fetch them", "Nothing can be fetched until you end the pause", "can be received again", "Offered again")
	wantRedirect(t, b.post(its+"/pause", url.Values{"reason": {"maintenance"}}), its)
	page += text(b.get(its)) + text(admin.get("/admin/subscriptions/"+sub.ID)) + text(b.get(here))
	wantRedirect(t, b.post(its+"/resume", nil), its)
	page += text(b.get(its))
	wantWords(t, page, "Events can be fetched again", "Allow fetching again")
	for _, words := range []string{"Sends to", "Sending", "sent to", "sending", "not sent", "is sent", "Sent again"} {
		if strings.Contains(page, words) {
			t.Errorf("the pages of a subscription that is fetched say %q", words)
		}
	}
	page = text(b.get(here))
	wantWords(t, page, sub.ID+"/receive", "Waiting to be received", "Received, not yet acknowledged", "The oldest waits since")
	wantWords(t, text(b.get("/partner/deliveries/"+ids[0])), "Receive 1: in the hands of the consumer", "Received by cli_fetcher")
	noError(t, d.db.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.PullReject(ctx, sub.ID, []store.PullLock{{DeliveryID: ids[0], LockID: lock}})
		return err
	}))
	wantWords(t, text(b.get("/partner/deliveries/"+ids[0])), "Receive 1: rejected", "Held: Rejected by the receiver")
}
