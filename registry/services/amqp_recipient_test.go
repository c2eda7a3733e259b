package services

import (
	"strings"
	"testing"

	"schakel/registry"
	registryamqp "schakel/registry/amqp"
	"schakel/store"
)

// recipient subscribes an endpoint of the own organisation to an event type.
func (w *world) recipient(t *testing.T, eventType string) store.Subscription {
	t.Helper()
	sub := store.Subscription{Status: store.SubscriptionApproved, Types: []string{eventType}}
	must(t, w.db.Write(t.Context(), func(tx *store.Tx) error {
		own, err := tx.OwnPartner(t.Context())
		if err != nil {
			return err
		}
		e := store.Endpoint{PartnerID: own.ID, Name: "Inbox", Kind: store.EndpointPull, Status: store.EndpointActive}
		if err := tx.InsertEndpoint(t.Context(), &e); err != nil {
			return err
		}
		sub.PartnerID, sub.EndpointID = own.ID, e.ID
		return tx.InsertSubscription(t.Context(), &sub)
	}))
	return sub
}

// A process needs a recipient of what it takes in. An administrator cannot agree one without, nor end the last subscription; while
// it is suspended the process is listed.
//
// Rules: AMQP-09, AMQP-16.
func TestProcessNeedsARecipient(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx, broker := t.Context(), w.broker(t)
		own, err := w.AMQP.CreateOwnParty(ctx, w.admin, healthParty(broker.ID, 100))
		must(t, err)
		_, staff := w.partner(t, "Scholengroep Noord", goodOIN, "anna@noord.example")
		theirs, err := w.AMQP.CreateCounterpart(ctx, w.admin, w.amqpEndpoint(t, staff).ID, healthParty(broker.ID, 200))
		must(t, err)
		in := registryamqp.ProcessInput{OwnPartyID: own.ID, Name: "Dialogue", Subject: "DIALOG_INNBYGGER_EKONTAKT", Mode: store.AMQPAsync, Receives: "no.example.came"}
		_, err = w.AMQP.AddProcess(ctx, w.admin, theirs.ID, in)
		wantField(t, "receives", err)
		sub := w.recipient(t, "no.example.came")
		process, err := w.AMQP.AddProcess(ctx, w.admin, theirs.ID, in)
		must(t, err)
		orphans := func(want int) {
			t.Helper()
			list, err := w.AMQP.Orphans(ctx, registry.Scope{All: true})
			if err != nil || len(list) != want || want > 0 && (list[0].ID != process.ID || list[0].Party != theirs.Name) {
				t.Errorf("%+v, %v; want %d", list, err, want)
			}
		}
		orphans(0)
		err = w.Subscriptions.End(ctx, w.admin, sub.ID, "not needed")
		wantCode(t, "end of the last", registry.CodeConflict, err)
		if !strings.Contains(err.Error(), "Dialogue") || !strings.Contains(err.Error(), "no.example.came") {
			t.Error(err)
		}
		wantCode(t, "end of its endpoint", registry.CodeConflict, w.Endpoints.End(ctx, w.admin, sub.EndpointID, "not needed"))
		must(t, w.Subscriptions.Suspend(ctx, w.admin, sub.ID, "broken"))
		orphans(1)
		in.Receives = "no.example.other"
		_, err = w.AMQP.UpdateProcess(ctx, w.admin, theirs.ID, process.ID, in)
		wantField(t, "receives", err)
		must(t, w.Subscriptions.Resume(ctx, w.admin, sub.ID))
		other := w.recipient(t, "no.example.came")
		must(t, w.Subscriptions.End(ctx, w.admin, sub.ID, "the other has it"))
		orphans(0)
		wantCode(t, "end of the last", registry.CodeConflict, w.Subscriptions.End(ctx, w.admin, other.ID, "not needed"))
	})
}
