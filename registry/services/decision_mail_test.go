package services

import (
	"strings"
	"testing"

	"schakel/registry/identity"
)

// What an administrator lets in or lets flow is told to the administrators, so that a stolen session of one of them does not give data away unseen.
func TestApprovalsAreMailed(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		told := func(words ...string) {
			t.Helper()
			mails := w.mailsTo(t, "admin@example.nl")
			if len(mails) == 0 {
				t.Fatal("no mail")
			}
			for _, word := range append(words, "Changed by "+w.admin.Name) {
				if text := mails[0].Subject + "\n" + mails[0].Body; !strings.Contains(text, word) {
					t.Errorf("mailed %q, without %q", text, word)
				}
			}
		}
		late := w.register(t, "Leerlingzorg Zuid", "00000003123456780000", "bob@zuid.example")
		must(t, w.Partners.Vouch(ctx, w.admin, late.ID, "I called them"))
		told("The registration of Leerlingzorg Zuid was changed", "Address bob@zuid.example of the contact person is confirmed: No → Yes", "/admin/partners/"+late.ID)
		p, anna := w.partner(t, "Scholengroep Noord", goodOIN, "anna@noord.example")
		told("The registration of Scholengroep Noord was changed", "State: Requested → Approved")
		must(t, w.Partners.Suspend(ctx, w.admin, p.ID, "Asked by phone"))
		must(t, w.Partners.Resume(ctx, w.admin, p.ID))
		told("State: Suspended → Approved")

		w.catalogue(t)
		sub := w.subscribe(t, anna, w.endpoint(t, anna).ID, enrolled)
		must(t, w.Subscriptions.Approve(ctx, w.admin, sub.ID))
		told("The subscription of Scholengroep Noord at endpoint", "State: requested → approved", "Subscribed to: none → "+enrolled, "/admin/subscriptions/"+sub.ID)
		must(t, w.Subscriptions.Suspend(ctx, w.admin, sub.ID, "Asked by phone"))
		must(t, w.Subscriptions.Resume(ctx, w.admin, sub.ID))
		told("State: suspended → approved")

		client, _, err := w.Clients.Create(ctx, anna, "", identity.NewClient{Name: "ERP", AuthMethod: "client_secret_basic", Scopes: []string{identity.ScopeEventsPublish}, PublishTypes: []string{enrolled}, PublishSources: []string{"/noord"}})
		must(t, err)
		_, err = w.Clients.Decide(ctx, w.admin, client.ID, identity.Decision{Approve: true})
		must(t, err)
		told("Client ERP of Scholengroep Noord was changed", "Scopes: none → events.publish", "Sources that it may publish for: none → /noord", "/admin/clients/"+client.ID)
	})
}
