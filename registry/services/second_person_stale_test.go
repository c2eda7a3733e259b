package services

import (
	"testing"

	"schakel/registry"
	registryamqp "schakel/registry/amqp"
	"schakel/store"
)

// What waited while new destinations did is done to nothing that changed since, also once they count at once: a confirmation would undo what came after
// what it shows.
func TestWhatWaitedUndoesNothingLater(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx, bea, b := t.Context(), w.second(t), w.broker(t)
		p, anna := w.partner(t, "Legekontor", goodOIN, "anna@noord.example")
		e := w.amqpEndpoint(t, anna)
		party, err := w.AMQP.CreateCounterpart(ctx, w.admin, e.ID, healthParty(b.ID, 200))
		must(t, err)
		must(t, w.db.Write(ctx, func(tx *store.Tx) error {
			sub := store.Subscription{PartnerID: p.ID, EndpointID: e.ID, Status: store.SubscriptionApproved}
			return tx.InsertSubscription(ctx, &sub)
		}))
		must(t, w.set(t, registry.SystemActor(), "sending.new_destination", "approval", "access.two_people_approvals", "on"))
		in := registryamqp.InputOfParty(party)
		in.AsyncQueue = "asked_async"
		_, err = w.AMQP.UpdateParty(ctx, w.admin, party.ID, in)
		ofParty := waitsForSecond(t, "another queue", err)
		at := registryamqp.InputOfBroker(b)
		at.Password = "asked secret"
		_, err = w.AMQP.UpdateBroker(ctx, w.admin, b.ID, at)
		ofBroker := waitsForSecond(t, "another password", err)

		must(t, w.set(t, registry.SystemActor(), "sending.new_destination", "at-once"))
		in.AsyncQueue = "later_async"
		_, err = w.AMQP.UpdateParty(ctx, w.admin, party.ID, in)
		must(t, err)
		at.Password = "later secret"
		_, err = w.AMQP.UpdateBroker(ctx, w.admin, b.ID, at)
		must(t, err)

		wantCode(t, "another queue than the one that was shown", registry.CodeConflict, w.Confirmations.Confirm(ctx, bea, ofParty))
		wantCode(t, "another password than the one that was there", registry.CodeConflict, w.Confirmations.Confirm(ctx, bea, ofBroker))
		now, err := w.db.AMQPParty(ctx, party.ID)
		must(t, err)
		stored, err := w.db.AMQPBroker(ctx, b.ID)
		must(t, err)
		if password, _, _, err := w.AMQP.BrokerSecrets(ctx, stored); err != nil || password != "later secret" || now.AsyncQueue != "later_async" {
			t.Errorf("it is %s, %q, %v", now.AsyncQueue, password, err)
		}
	})
}
