package main

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"schakel/delivery/event"
	"schakel/delivery/outbox"
	"schakel/registry"
	"schakel/registry/contracts/contract"
	"schakel/registry/installation"
	"schakel/store"
	"schakel/web"
)

// TestAlerts: a problem that lasts is mailed to the administrators and told as an event, once by all nodes, and so is its end; the mail goes
// when the event cannot.
func TestAlerts(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	p, err := build(ctx, inDir(t.TempDir()), quiet(), func(err error) { t.Error(err) })
	must(t, err)
	t.Cleanup(func() { _ = p.db.Close() })
	must(t, p.db.Write(ctx, func(tx *store.Tx) error {
		return tx.InsertAccount(ctx, &store.Account{Email: "anna@example.nl", Name: "Anna", Role: store.RoleAdministrator, Status: store.AccountActive})
	}))
	var told []event.Event
	var busy error
	now := p.db.Now()
	a := p.alerts(AlertFlags{AlertAfter: 5 * time.Minute, AlertNoProgress: 15 * time.Minute, AlertBacklogAge: time.Hour}, quiet())
	a.now = func() time.Time { return now }
	a.accept = func(_ context.Context, s outbox.Submission) (outbox.Receipt, error) {
		if s.Audience != store.OnlyFor() || !s.FromOwn {
			t.Errorf("told to %q", s.Audience)
		}
		if busy == nil {
			told = append(told, s.Events...)
		}
		return outbox.Receipt{}, busy
	}
	subjects := func() (all []string) {
		rows, _, err := p.db.Mails(ctx, store.Page{Size: 100})
		must(t, err)
		for _, m := range rows {
			all = append(all, m.Subject)
		}
		slices.Reverse(all) // oldest first
		return all
	}
	step := func(minutes int, findings ...installation.Finding) {
		t.Helper()
		now = now.Add(time.Duration(minutes) * time.Minute)
		must(t, a.turn(ctx, findings))
		must(t, a.turn(ctx, findings)) // another node
	}
	old := installation.Finding{Code: "backup-old", Severity: installation.Warning, Text: "installation.backup.never", Remedy: "installation.backup.remedy", Href: "/docs/backups"}
	waits := func(oldest time.Duration) {
		must(t, p.db.Write(ctx, func(tx *store.Tx) error {
			return tx.AddTraffic(ctx, []store.Traffic{{At: now.UTC().Truncate(time.Minute), Pending: 1, Oldest: oldest}})
		}))
	}
	step(0, old)
	if got := subjects(); len(got) != 0 {
		t.Fatalf("mailed at once: %q", got)
	}
	step(5, old)
	waits(20 * time.Minute) // and nothing is delivered
	busy = errors.New("no room")
	step(1, old)
	step(5, old)
	busy = nil
	waits(0)
	step(1, old)
	step(6, old)
	step(24*60, old)
	step(1)
	step(6)
	want := []string{"Alert: No backup", "Alert: Nothing was delivered", "Over: Nothing was delivered", "Still so: No backup", "Over: No backup"}
	got := subjects()
	if len(got) != len(want) {
		t.Fatalf("mails %q, want %q", got, want)
	}
	for i, subject := range got {
		if prefix, _, _ := strings.Cut(want[i], ":"); !strings.HasPrefix(subject, prefix+":") {
			t.Errorf("mail %d: %q, want %q", i, subject, want[i])
		}
	}
	kept, err := p.db.Setting(ctx, alertSetting)
	if err != nil || kept != "" {
		t.Errorf("open alerts: %q, %v", kept, err)
	}

	docs := web.OwnDocuments()
	doc := docs[slices.IndexFunc(docs, func(d registry.OwnDocument) bool { return d.ID == "schakel-alert-events" })]
	described, _, err := contract.Parse(doc.Content, contract.Limits{})
	must(t, err)
	var types []string
	for _, known := range described.EventTypes() {
		types = append(types, known.Type)
	}
	ids := map[string]bool{}
	for _, e := range told {
		var data alertData
		must(t, json.Unmarshal(e.Data, &data))
		if !slices.Contains(types, e.Type) || data.Code != e.Subject || data.Text == "" || data.Since.IsZero() {
			t.Errorf("event %+v, described are %v", e, types)
		}
		ids[e.Type+" "+e.Subject+" "+e.ID] = true
	}
	var kinds []string
	for id := range ids {
		kinds = append(kinds, strings.Join(strings.Fields(id)[:2], " "))
	}
	slices.Sort(kinds)
	if want := []string{alertEndedType + " backup-old", alertEndedType + " traffic-stuck", alertRaisedType + " backup-old"}; !slices.Equal(kinds, want) {
		t.Errorf("events %q, want %q", kinds, want)
	}
}
