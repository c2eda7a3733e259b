package services

import (
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

// publishVersion adds a published version of the contract of the catalogue.
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
