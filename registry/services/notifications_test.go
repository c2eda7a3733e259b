package services

import (
	"strings"
	"testing"
	"time"

	"schakel/registry"
	"schakel/registry/identity"
	"schakel/registry/mail"
	"schakel/store"
)

// Issues are told to the people concerned as each chose: at once, with their own links and no one else's, in a digest, or not at all. A
// digest comes at its hour, and only when there is something to tell.
func TestNotifications(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		p, actor := w.partner(t, "Noord", goodOIN, "anna@noord.example")
		e := w.endpoint(t, actor)
		account := func() store.Account {
			a, err := w.db.AccountByEmail(ctx, "anna@noord.example")
			must(t, err)
			return a
		}
		choose := func(in identity.Notifications) {
			t.Helper()
			must(t, w.Accounts.SetNotifications(ctx, account().ID, in))
		}
		var issue store.Issue
		must(t, w.db.Write(ctx, func(tx *store.Tx) error {
			return tx.RecordIssues(ctx, []store.Outcome{{Delivery: store.Delivery{ID: "dlv_1", PartnerID: p.ID, EndpointID: e.ID, Cause: "http-503"}}})
		}))
		rows, _, err := w.db.Issues(ctx, store.IssueFilter{EndpointID: e.ID})
		must(t, err)
		issue = rows[0]
		mailed := func(to, link string) (n int) {
			for _, m := range w.mailsTo(t, to) {
				if strings.Contains(m.Body, link+"/issues/"+issue.ID) && strings.Contains(m.Body, e.Name+" (Noord): Answered 503, failed attempts since ") {
					n++
				}
			}
			return n
		}
		open := func() {
			t.Helper()
			must(t, w.db.Write(ctx, func(tx *store.Tx) error { return w.Mails.IssuesOpened(ctx, tx, []store.Issue{issue}) }))
		}
		open()
		if mailed("anna@noord.example", "/partner") != 1 || mailed("admin@example.nl", "/admin") != 1 {
			t.Errorf("the partner got %d, the administrator %d", mailed("anna@noord.example", "/partner"), mailed("admin@example.nl", "/admin"))
		}
		if err := w.Accounts.SetNotifications(ctx, account().ID, identity.Notifications{When: "often", Every: "daily"}); err == nil {
			t.Error("an unknown choice is taken")
		}
		choose(identity.Notifications{When: store.NotifyOff, Every: store.DigestDaily, Hour: 7})
		open()
		m := mail.NewMailer(w.cfg, nil)
		w.clock.Advance(48 * time.Hour)
		must(t, m.SendDue(ctx))
		if n := mailed("anna@noord.example", "/partner"); n != 1 {
			t.Errorf("who wants none got %d more", n-1)
		}
		choose(identity.Notifications{When: store.NotifyDigest, Every: store.DigestDaily, Hour: 7})
		open()
		must(t, m.SendDue(ctx))
		if n := mailed("anna@noord.example", "/partner"); n != 1 {
			t.Errorf("who wants a digest got %d before its hour", n-1)
		}
		w.clock.Advance(24 * time.Hour)
		must(t, m.SendDue(ctx))
		must(t, m.SendDue(ctx))
		if n := mailed("anna@noord.example", "/partner"); n != 2 {
			t.Errorf("%d digests, want 1", n-1)
		}
		must(t, w.db.Write(ctx, func(tx *store.Tx) error { return tx.ResolveIssue(ctx, issue.ID, "Ada") }))
		w.clock.Advance(24 * time.Hour)
		must(t, m.SendDue(ctx)) // it is told that the issue was resolved
		told := len(w.mailsTo(t, "anna@noord.example"))
		w.clock.Advance(24 * time.Hour)
		must(t, m.SendDue(ctx))
		if n := len(w.mailsTo(t, "anna@noord.example")); n != told || mailed("anna@noord.example", "/partner") != 3 {
			t.Errorf("a digest with nothing to tell is sent: %d more", n-told)
		}
		if a := account(); !a.DigestDue.After(w.clock.Now()) {
			t.Errorf("the next digest is due at %s", a.DigestDue)
		}
	})
}

// A digest comes at its hour in the time zone of the account, also when the clock changes.
func TestNextDigest(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		a         store.Account
		now, want string
	}{
		{store.Account{Notify: store.NotifyDigest, DigestHour: 7}, "2026-03-02T06:59:00Z", "2026-03-02T07:00:00Z"},
		{store.Account{Notify: store.NotifyDigest, DigestHour: 7}, "2026-03-02T07:00:00Z", "2026-03-03T07:00:00Z"},
		{store.Account{Notify: store.NotifyBoth, DigestHour: 7, TimeZone: "Europe/Amsterdam"}, "2026-03-28T12:00:00Z", "2026-03-29T05:00:00Z"},
		{store.Account{Notify: store.NotifyDigest, DigestEvery: store.DigestWeekly, DigestDay: 1, DigestHour: 7}, "2026-03-02T08:00:00Z", "2026-03-09T07:00:00Z"},
	} {
		now, err := time.Parse(time.RFC3339, tt.now)
		must(t, err)
		if got := registry.NextDigest(tt.a, now).UTC().Format(time.RFC3339); got != tt.want {
			t.Errorf("%+v at %s: %s, want %s", tt.a, tt.now, got, tt.want)
		}
	}
	if !registry.NextDigest(store.Account{Notify: store.NotifyImmediate}, time.Now()).IsZero() {
		t.Error("who wants no digest gets one")
	}
}
