package services

import (
	"context"
	"errors"
	"testing"

	"schakel/registry"
	"schakel/registry/identity"
	"schakel/registry/partners"
	"schakel/store"
)

// G7: another partner's id, in whatever method takes one, is answered as if it
// did not exist, and changes nothing.
func TestAnothersRowsAreNotThere(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		p, actor, other, eve := w.twoPartners(t)
		w.catalogue(t)
		client, _, err := w.Clients.Create(ctx, actor, "", publisher())
		must(t, err)
		e := w.endpoint(t, actor)
		sub := w.subscribe(t, actor, e.ID, enrolled)
		must(t, w.Subscriptions.Approve(ctx, w.admin, sub.ID))
		w.dataset(t, buildings())
		_, err = w.Subscriptions.RequestDataset(ctx, actor, partners.DatasetRequest{Dataset: "buildings", EndpointID: w.files(t, actor).ID, Purpose: "plan visits", Area: partners.AreaInput{Text: square}})
		must(t, err)
		mine, err := w.Datasets.Followers(ctx, actor.Scope(), "buildings")
		must(t, err)
		area := mine[0].Area
		drop := func(_ any, err error) error { return err }
		for _, who := range []registry.Actor{eve, {Kind: registry.ActorAccount, Name: "Nobody"}} {
			for name, try := range map[string]func(context.Context, registry.Scope) error{
				"partner": func(ctx context.Context, s registry.Scope) error { return drop(w.Partners.Get(ctx, s, p.ID)) },
				"contact": func(ctx context.Context, _ registry.Scope) error {
					return drop(w.Partners.UpdateContact(ctx, who, p.ID, partners.Contact{Name: "Eve", Email: "e@x.nl"}))
				},
				"client": func(ctx context.Context, s registry.Scope) error { return drop(w.Clients.Get(ctx, s, client.ID)) },
				"client for another": func(ctx context.Context, _ registry.Scope) error {
					_, _, err := w.Clients.Create(ctx, who, p.ID, publisher())
					return err
				},
				"update client": func(ctx context.Context, _ registry.Scope) error {
					return drop(w.Clients.Update(ctx, who, client.ID, publisher()))
				},
				"rotate secret": func(ctx context.Context, _ registry.Scope) error {
					_, _, err := w.Clients.RotateSecret(ctx, who, client.ID)
					return err
				},
				"revoke client": func(ctx context.Context, _ registry.Scope) error { return w.Clients.Revoke(ctx, who, client.ID, "") },
				"endpoint":      func(ctx context.Context, s registry.Scope) error { return drop(w.Endpoints.Get(ctx, s, e.ID)) },
				"endpoint for another": func(ctx context.Context, _ registry.Scope) error {
					return drop(w.Endpoints.Create(ctx, who, p.ID, webhook()))
				},
				"update endpoint": func(ctx context.Context, _ registry.Scope) error {
					return drop(w.Endpoints.Update(ctx, who, e.ID, webhook()))
				},
				"pause endpoint":  func(ctx context.Context, _ registry.Scope) error { return w.Endpoints.Pause(ctx, who, e.ID, "") },
				"resume endpoint": func(ctx context.Context, _ registry.Scope) error { return w.Endpoints.Resume(ctx, who, e.ID) },
				"suspend endpoint": func(ctx context.Context, _ registry.Scope) error {
					return w.Endpoints.Suspend(ctx, who, e.ID, "because")
				},
				"end endpoint":         func(ctx context.Context, _ registry.Scope) error { return w.Endpoints.End(ctx, who, e.ID, "") },
				"subscription":         func(ctx context.Context, s registry.Scope) error { return drop(w.Subscriptions.Get(ctx, s, sub.ID)) },
				"grant":                func(ctx context.Context, s registry.Scope) error { return drop(w.Subscriptions.Grant(ctx, s, sub.ID)) },
				"approve subscription": func(ctx context.Context, _ registry.Scope) error { return w.Subscriptions.Approve(ctx, who, sub.ID) },
				"change subscription": func(ctx context.Context, _ registry.Scope) error {
					filters := `[{"exact":{"subject":"1"}}]`
					return w.Subscriptions.Change(ctx, who, sub.ID, partners.SubscriptionChange{Filters: &filters})
				},
				"reject subscription": func(ctx context.Context, _ registry.Scope) error {
					return w.Subscriptions.Reject(ctx, who, sub.ID, "because")
				},
				"suspend subscription": func(ctx context.Context, _ registry.Scope) error {
					return w.Subscriptions.Suspend(ctx, who, sub.ID, "because")
				},
				"resume subscription":  func(ctx context.Context, _ registry.Scope) error { return w.Subscriptions.Resume(ctx, who, sub.ID) },
				"pause subscription":   func(ctx context.Context, _ registry.Scope) error { return w.Subscriptions.Pause(ctx, who, sub.ID, "") },
				"unpause subscription": func(ctx context.Context, _ registry.Scope) error { return w.Subscriptions.Unpause(ctx, who, sub.ID) },
				"end subscription":     func(ctx context.Context, _ registry.Scope) error { return w.Subscriptions.End(ctx, who, sub.ID, "") },
				"change area": func(ctx context.Context, _ registry.Scope) error {
					return drop(w.Subscriptions.ChangeArea(ctx, who, sub.ID, partners.AreaChange{}))
				},
				"area": func(ctx context.Context, s registry.Scope) error {
					return drop(w.Datasets.Area(ctx, s, "buildings", area.ID))
				},
				"contract it never had": func(ctx context.Context, _ registry.Scope) error {
					return w.Contracts.DeleteDraft(ctx, who, "student-events", "1.0.0")
				},
				"metadata of a contract": func(ctx context.Context, _ registry.Scope) error {
					return drop(w.Contracts.Update(ctx, who, "student-events", contractInput("student-events")))
				},
			} {
				wantCode(t, who.Name+": "+name, registry.CodeNotFound, try(ctx, who.Scope()))
			}
			wantForbidden(t, w, who, p.ID, client.ID)
			wantEmptyLists(t, w, who.Scope(), p.ID)
		}
		if now, _ := w.db.Client(ctx, client.ID); now.TokenVersion != client.TokenVersion || now.Status != store.ClientActive {
			t.Error("the client was changed")
		}
		if now, _ := w.db.Endpoint(ctx, e.ID); now.ConfigVersion != e.ConfigVersion {
			t.Error("the endpoint was changed")
		}
		if now, _ := w.db.Subscription(ctx, sub.ID); now.Status != store.SubscriptionApproved {
			t.Error("the subscription was changed")
		}
		if list, _ := w.Endpoints.List(ctx, registry.ScopeOf(other.ID), ""); len(list) != 0 {
			t.Error("another's endpoint is listed")
		}
		if list, _ := w.Endpoints.List(ctx, actor.Scope(), ""); len(list) != 2 {
			t.Error("one's own endpoints are not listed")
		}
	})
}

// wantForbidden tries what only an administrator can do.
func wantForbidden(t *testing.T, w *world, who registry.Actor, partnerID, clientID string) {
	t.Helper()
	ctx := t.Context()
	_, _, lists := w.Partners.List(ctx, who, store.PartnerFilter{})
	_, waiting := w.Clients.Waiting(ctx, who)
	_, grant := w.Clients.Grant(ctx, who, clientID)
	_, decide := w.Clients.Decide(ctx, who, clientID, identity.Decision{Approve: true})
	_, _, mails := w.Mails.List(ctx, who, store.Page{})
	_, mail := w.Mails.Get(ctx, who, "mal_x")
	for name, err := range map[string]error{
		"list partners": lists, "waiting": waiting, "grant": grant, "decide": decide, "mails": mails, "mail": mail,
		"approve": w.Partners.Approve(ctx, who, partnerID), "end": w.Partners.End(ctx, who, partnerID, "because"),
	} {
		wantCode(t, who.Name+": "+name, registry.CodeForbidden, err)
	}
}

// wantEmptyLists asks each list for the rows of another partner.
func wantEmptyLists(t *testing.T, w *world, s registry.Scope, partnerID string) {
	t.Helper()
	ctx := t.Context()
	clients, err1 := w.Clients.List(ctx, s, partnerID)
	endpoints, err2 := w.Endpoints.List(ctx, s, partnerID)
	subs, n, err3 := w.Subscriptions.List(ctx, s, store.SubscriptionFilter{PartnerID: partnerID})
	entries, m, err4 := w.Audit.List(ctx, s, store.AuditFilter{PartnerID: partnerID})
	if err := errors.Join(err1, err2, err3, err4); err != nil || len(clients)+len(endpoints)+len(subs)+len(entries)+n+m != 0 {
		t.Errorf("%v lists %d clients, %d endpoints, %d subscriptions, %d entries, %v", s, len(clients), len(endpoints), n, m, err)
	}
	mine, _, err := w.Subscriptions.List(ctx, s, store.SubscriptionFilter{})
	if err != nil || len(mine) != 0 {
		t.Errorf("without a filter %v lists %d subscriptions, %v", s, len(mine), err)
	}
	audit, _, err := w.Audit.List(ctx, s, store.AuditFilter{})
	for _, a := range audit {
		if a.PartnerID != s.PartnerID {
			t.Errorf("%v reads %q, %v", s, a.Action, err)
		}
	}
}

// No secret and no token is in any row, mail or entry in clear.
//
// Rules: EDU-02, EDU-14.
func TestSecretsAreNotInClear(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		_, actor := w.partner(t, "Noord", goodOIN, "anna@noord.example")
		client, secret, err := w.Clients.Create(ctx, actor, "", publisher())
		must(t, err)
		e := w.endpoint(t, actor)
		row, err := w.db.Client(ctx, client.ID)
		must(t, err)
		wantAbsent(t, row, secret)
		stored, err := w.db.Endpoint(ctx, e.ID)
		must(t, err)
		wantAbsent(t, stored, webhook().TokenSecret)
		entries, _, err := w.db.Audits(ctx, store.AuditFilter{})
		must(t, err)
		wantAbsent(t, entries, secret, webhook().TokenSecret, goodPassword)
		mails, _, err := w.db.Mails(ctx, store.Page{})
		must(t, err)
		wantAbsent(t, mails, secret, webhook().TokenSecret, goodPassword)
	})
}
