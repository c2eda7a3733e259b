package services

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"schakel/registry"
	"schakel/registry/contracts"
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
		wantField(t, "retryWaits", err) // wrong pauses
	})
}

func (w *world) publishVersion(t *testing.T, version string, types ...string) {
	t.Helper()
	_, err := w.Contracts.Upload(t.Context(), w.admin, "student-events", contracts.Upload{Content: asyncDocument(version, types...)})
	must(t, err)
	_, err = w.publish(t.Context(), w.admin, "student-events", version, "side by side")
	must(t, err)
}

// Rules: EDU-08, CE-16.
func TestSubscriptionIsToAVersion(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		_, actor, _, _ := w.twoPartners(t)
		w.catalogue(t)
		e := w.endpoint(t, actor)
		ask := func(asked map[string]string, types ...string) (store.Subscription, error) {
			return w.Subscriptions.Request(ctx, actor, partners.SubscriptionRequest{EndpointID: e.ID, Types: types, Versions: asked, Purpose: "keep our records right"})
		}
		first, err := ask(nil, enrolled)
		must(t, err)
		w.publishVersion(t, "2.0.0", enrolled, leftEvent)
		w.publishVersion(t, "3.0.0-rc.1", enrolled)
		for _, tt := range []struct {
			asked string
			field string
		}{
			{"1", "types"}, {"1.x", "types"}, {registry.AnyVersion, "types"}, {"7", "versions"}, {"1.0.0", "versions"}, {"0", "versions"},
		} {
			if _, err := ask(map[string]string{enrolled: tt.asked}, enrolled); fieldsOf(err)[tt.field] == "" {
				t.Errorf("version %q: %v", tt.asked, err)
			}
		}
		if _, err := ask(map[string]string{leftEvent: "1"}, enrolled); fieldsOf(err)["versions"] == "" {
			t.Errorf("a version of what is not asked for: %v", err)
		}
		second, err := ask(nil, enrolled)
		must(t, err)
		third, err := ask(map[string]string{enrolled: "3.x", leftEvent: registry.AnyVersion}, enrolled, leftEvent)
		must(t, err)
		for id, want := range map[string]map[string]string{
			first.ID: {enrolled: "1"}, second.ID: {enrolled: "2"}, third.ID: {enrolled: "3"},
		} {
			if got, err := w.Subscriptions.Get(ctx, registry.Scope{All: true}, id); err != nil || !maps.Equal(got.Versions, want) {
				t.Errorf("versions %v, want %v (%v)", got.Versions, want, err)
			}
		}
		g, err := w.Subscriptions.Grant(ctx, registry.Scope{All: true}, first.ID)
		if err != nil || g.Types[0].Line != "1" || g.Types[0].Type.ContractVersion != "1.0.0" {
			t.Errorf("grant of version 1: %+v, %v", g.Types, err)
		}
		_, err = w.Contracts.Withdraw(ctx, w.admin, "student-events", "1.0.0", "replaced")
		must(t, err)
		wantCode(t, "approval of a version withdrawn", registry.CodeConflict, w.Subscriptions.Approve(ctx, w.admin, first.ID))
		must(t, w.Subscriptions.Approve(ctx, w.admin, second.ID))
	})
}

// Rules: EDU-08, EDU-06.
func TestSubscribersAreToldOfVersions(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		_, actor, _, stranger := w.twoPartners(t)
		w.catalogue(t)
		w.subscribe(t, actor, w.endpoint(t, actor).ID, enrolled)
		w.subscribe(t, stranger, w.endpoint(t, stranger).ID, leftEvent)
		told := func(email, subject string) int {
			n := 0
			for _, m := range w.mailsTo(t, email) {
				if strings.Contains(m.Subject, subject) {
					n++
				}
			}
			return n
		}
		const anna, bob = "anna@noord.example", "bob@zuid.example"
		want := func(what, subject string, toAnna, toBob int) {
			t.Helper()
			if a, b := told(anna, subject), told(bob, subject); a != toAnna || b != toBob {
				t.Errorf("%s: %d and %d mails, want %d and %d", what, a, b, toAnna, toBob)
			}
		}
		w.publishVersion(t, "1.1.0", enrolled, leftEvent)
		want("another of the same line", "has a version", 0, 0)
		w.publishVersion(t, "2.0.0", enrolled)
		want("another line", "has a version 2.x", 1, 0)
		w.publishVersion(t, "2.1.0", enrolled)
		want("more of that line", "has a version", 1, 0)
		deprecate := func(version string) {
			_, err := w.Contracts.Deprecate(ctx, w.admin, "student-events", version, w.clock.Now().Add(48*time.Hour), "old")
			must(t, err)
		}
		deprecate("1.0.0")
		want("another can be used", "deprecated", 0, 0)
		deprecate("1.1.0")
		want("none of the line is left", "Version 1.x of Student events is deprecated", 1, 1)
		if body := w.mailsTo(t, bob)[0].Body; !strings.Contains(body, leftEvent+": you get version 1.x") || strings.Contains(body, enrolled) {
			t.Errorf("the mail says %s", body)
		}
		for _, version := range []string{"1.0.0", "1.1.0"} {
			_, err := w.Contracts.Withdraw(ctx, w.admin, "student-events", version, "old")
			must(t, err)
		}
		want("the line is gone", "is withdrawn", 1, 1)
	})
}

func TestLines(t *testing.T) {
	t.Parallel()
	version := func(v, status string) store.EventType { return store.EventType{ContractVersion: v, Status: status} }
	lines := registry.Lines([]store.EventType{
		version("3.0.0-rc.1", store.VersionPublished), version("2.1.0", store.VersionPublished), version("2.0.0", store.VersionPublished),
		version("0.3.1", store.VersionPublished), version("1.0.0", store.VersionDeprecated),
	})
	var got []string
	for _, l := range lines {
		got = append(got, fmt.Sprintf("%s:%s:%d", registry.LineName(l.Line), l.Newest.ContractVersion, len(l.Versions)))
	}
	if want := "2.x:2.1.0:2 0.3.x:0.3.1:1 3.x:3.0.0-rc.1:1 1.x:1.0.0:1"; strings.Join(got, " ") != want {
		t.Errorf("lines %v, want %s", got, want)
	}
}
