package services

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"schakel/registry"
	"schakel/registry/partners"
	"schakel/store"
)

const subjectFilter = `[{"exact":{"subject":"4711"}}]`

// onlyLists stands for the filters of the engine, which this package does not know.
func onlyLists(text string) error {
	var list []json.RawMessage
	if json.Unmarshal([]byte(text), &list) != nil {
		return errors.New("At the start: the filters must be a JSON list.")
	}
	return nil
}

func TestRequestWithFiltersAndOrder(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.configure(t, func(c *registry.Config) { c.CheckFilters = onlyLists })
		_, actor := w.partner(t, "Noord", goodOIN, "anna@noord.example")
		w.catalogue(t)
		good := partners.SubscriptionRequest{EndpointID: w.endpoint(t, actor).ID, Types: []string{enrolled}, Purpose: "keep our records right"}
		for _, tt := range []struct{ filters, orderBy, field string }{
			{`{"exact":{}}`, "", "filters"},
			{`nothing`, "", "filters"},
			{"", "data", "orderBy"},
			{"", "id", "orderBy"},
			{"", "Subject", "orderBy"},
			{"", "my-key", "orderBy"},
			{"", strings.Repeat("a", 21), "orderBy"},
		} {
			in := good
			in.Filters, in.OrderBy = tt.filters, tt.orderBy
			_, err := w.Subscriptions.Request(ctx, actor, in)
			if f := fieldsOf(err); len(f) != 1 || f[tt.field] == "" {
				t.Errorf("%q by %q: got %v %v", tt.filters, tt.orderBy, err, f)
			}
		}
		good.Filters, good.OrderBy = " [ {\"exact\": {\"subject\": \"4711\"}} ]\n", " subject "
		s, err := w.Subscriptions.Request(ctx, actor, good)
		must(t, err)
		row, err := w.db.Subscription(ctx, s.ID)
		if err != nil || row.Filters != subjectFilter || row.OrderBy != "subject" {
			t.Errorf("stored %q by %q (%v)", row.Filters, row.OrderBy, err)
		}
	})
}

func TestFiltersAreRefusedWhereNobodyChecksThem(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		_, actor := w.partner(t, "Noord", goodOIN, "anna@noord.example")
		w.catalogue(t)
		in := partners.SubscriptionRequest{EndpointID: w.endpoint(t, actor).ID, Types: []string{enrolled}, Purpose: "our records", Filters: subjectFilter}
		if _, err := w.Subscriptions.Request(t.Context(), actor, in); fieldsOf(err)["filters"] == "" {
			t.Errorf("got %v", err)
		}
		in.Filters = "[]"
		_, err := w.Subscriptions.Request(t.Context(), actor, in)
		must(t, err)
	})
}

// A change leaves the state as it is: what was granted are the types.
func TestChangeOfFiltersAndOrder(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.configure(t, func(c *registry.Config) { c.CheckFilters = onlyLists })
		p, actor := w.partner(t, "Noord", goodOIN, "anna@noord.example")
		w.catalogue(t)
		s := w.subscribe(t, actor, w.endpoint(t, actor).ID, enrolled)
		filters, order := subjectFilter, "subject"
		for state, code := range map[string]string{
			"requested": "", "approved": "", "paused": "", "suspended": registry.CodeConflict, "rejected": registry.CodeConflict, "ended": registry.CodeConflict,
		} {
			must(t, w.db.Write(ctx, func(tx *store.Tx) error {
				s.Status, s.Filters, s.OrderBy = state, "", ""
				return tx.UpdateSubscription(ctx, &s)
			}))
			wantCode(t, state, code, w.Subscriptions.Change(ctx, actor, s.ID, partners.SubscriptionChange{Filters: &filters, OrderBy: &order}))
			row, err := w.db.Subscription(ctx, s.ID)
			must(t, err)
			if changed := row.Filters == subjectFilter && row.OrderBy == "subject"; changed != (code == "") || row.Status != state {
				t.Errorf("%s: %+v", state, row)
			}
		}
		if got, want := w.lastSentence(t), "Anna de Vries changed the filters, order or retries of the subscription of Noord to "+enrolled+" at endpoint Main."; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		must(t, w.db.Write(ctx, func(tx *store.Tx) error {
			s.Status, s.Filters, s.OrderBy = store.SubscriptionApproved, subjectFilter, "subject"
			return tx.UpdateSubscription(ctx, &s)
		}))
		_, before, err := w.Audit.List(ctx, registry.Scope{All: true}, store.AuditFilter{})
		must(t, err)
		must(t, w.Subscriptions.Change(ctx, actor, s.ID, partners.SubscriptionChange{Filters: &filters}))
		if _, after, err := w.Audit.List(ctx, registry.Scope{All: true}, store.AuditFilter{}); err != nil || after != before {
			t.Errorf("a change of nothing was recorded (%v)", err)
		}
		none, broken := "[ ]", `{"x":1}`
		must(t, w.Subscriptions.Change(ctx, actor, s.ID, partners.SubscriptionChange{Filters: &none}))
		if row, _ := w.db.Subscription(ctx, s.ID); row.Filters != "" || row.OrderBy != "subject" {
			t.Errorf("after taking the filters away: %+v", row)
		}
		wantCode(t, "broken filters", registry.CodeInvalid, w.Subscriptions.Change(ctx, actor, s.ID, partners.SubscriptionChange{Filters: &broken}))
		must(t, w.Partners.Suspend(ctx, w.admin, p.ID, "under discussion"))
		wantCode(t, "suspended partner", registry.CodeForbidden, w.Subscriptions.Change(ctx, actor, s.ID, partners.SubscriptionChange{Filters: &filters}))
	})
}

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
