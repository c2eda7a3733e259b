package services

import (
	"schakel/registry/partners"
	"strings"
	"testing"
)

// Rules: EDU-18.
func TestRetryOfASubscription(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		w.catalogue(t)
		_, actor := w.partner(t, "Noord", goodOIN, "anna@noord.example")
		in := partners.SubscriptionRequest{EndpointID: w.endpoint(t, actor).ID, Types: []string{enrolled}, Purpose: "our records", Retry: partners.RetryInput{MaxAttempts: "x"}}
		if _, err := w.Subscriptions.Request(t.Context(), actor, in); fieldsOf(err)["retryAttempts"] == "" {
			t.Errorf("wrong number: %v", err)
		}
		in.Retry.MaxAttempts = "4"
		s, err := w.Subscriptions.Request(t.Context(), actor, in)
		must(t, err)
		if s.Retry != `{"maxAttempts":4}` {
			t.Errorf("asked for %s", s.Retry)
		}
		must(t, w.Subscriptions.Change(t.Context(), actor, s.ID, partners.SubscriptionChange{Retry: &partners.RetryInput{Deadline: "2h"}}))
		s, err = w.Subscriptions.Get(t.Context(), actor.Scope(), s.ID)
		must(t, err)
		if s.Retry != `{"deadline":"2h0m0s"}` || !strings.Contains(w.lastSentence(t), "changed the filters, order or retries of the subscription") {
			t.Errorf("changed to %s: %s", s.Retry, w.lastSentence(t))
		}
		err = w.Subscriptions.Change(t.Context(), actor, s.ID, partners.SubscriptionChange{Retry: &partners.RetryInput{Waits: "1h, later"}})
		if fieldsOf(err)["retryWaits"] == "" {
			t.Errorf("wrong pauses: %v", err)
		}
	})
}
