package partners

import (
	"context"
	"slices"

	"schakel/registry"
	"schakel/store"
)

// maxInboxes bounds the test inboxes of an organisation: what they receive is stored here.
const maxInboxes = 3

func countInboxes(endpoints []store.Endpoint) (n int) {
	for _, e := range endpoints {
		if e.Kind == store.EndpointInbox && e.Status != store.EndpointEnded {
			n++
		}
	}
	return n
}

// AnswerInbox sets what a test inbox answers from now on, one of store.InboxAnswers. It closes the circuit, so that the answer shows
// at the next event. Field: answer.
func (e *Endpoints) AnswerInbox(ctx context.Context, actor registry.Actor, id, answer string) error {
	_, err := e.change(ctx, actor, id, func(tx *store.Tx, endpoint *store.Endpoint) error {
		if err := openInbox(*endpoint); err != nil {
			return err
		}
		if !slices.Contains(store.InboxAnswers(), answer) {
			return registry.Invalid(registry.Problems{"answer": "partners.inbox.answer-bad"})
		}
		if err := tx.SetInboxAnswer(ctx, endpoint.ID, answer); err != nil {
			return registry.Wrap("set answer of test inbox", err)
		}
		if err := closeCircuit(ctx, tx, endpoint); err != nil {
			return err
		}
		return registry.Record(ctx, tx, actor, registry.ActionEndpointUpdated, endpointObject(*endpoint), registry.Details{"inboxAnswer": answer})
	})
	return err
}

// ClearInbox removes all that a test inbox holds.
func (e *Endpoints) ClearInbox(ctx context.Context, actor registry.Actor, id string) error {
	_, err := e.change(ctx, actor, id, func(tx *store.Tx, endpoint *store.Endpoint) error {
		if err := openInbox(*endpoint); err != nil {
			return err
		}
		if err := tx.ClearInbox(ctx, endpoint.ID); err != nil {
			return registry.Wrap("clear test inbox", err)
		}
		return registry.Record(ctx, tx, actor, registry.ActionEndpointUpdated, endpointObject(*endpoint), registry.Details{"inboxCleared": true})
	})
	return err
}

func openInbox(e store.Endpoint) error {
	switch {
	case e.Kind != store.EndpointInbox:
		return registry.NotFound("endpoint")
	case e.Status == store.EndpointEnded:
		return registry.Conflict("partners.endpoint.has-ended")
	}
	return nil
}
