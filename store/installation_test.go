package store_test

import (
	"testing"

	"schakel/store"
)

// The database reports its settings for commits.
func TestEngine(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		e, err := w.db.Engine(w.ctx)
		noErr(t, err)
		if e.Version == "" || e.Dialect != w.db.Dialect() {
			t.Errorf("%+v", e)
		}
		if e.Dialect == store.SQLite && (e.Synchronous != 2 || e.Journal != "wal") {
			t.Errorf("%+v; want FULL and WAL", e)
		}
		if e.Dialect == store.Postgres && (e.Major < 10 || e.FullPageWrites == "" || e.Fsync == "" || e.SynchronousCommit == "" || e.Clock.Year() < 2020) {
			t.Errorf("%+v", e)
		}
	})
}

// Events and contracts of the program itself count for no milestone.
func TestMilestones(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		none, err := w.db.Milestones(w.ctx, []string{"ours"})
		noErr(t, err)
		if !none.Event.IsZero() || !none.Delivered.IsZero() || !none.Administrator.IsZero() || none.Client.IsZero() || none.Endpoint.IsZero() {
			t.Errorf("at first: %+v", none)
		}
		w.write(func(tx *store.Tx) error {
			return tx.InsertAccount(w.ctx, &store.Account{Email: "a@example.nl", Name: "A", Role: store.RoleAdministrator, Status: store.AccountActive})
		})
		own := w.event(w.db.NewID("evt"))
		own.ClientID = "schakel"
		w.write(func(tx *store.Tx) error {
			_, err := tx.InsertEvents(w.ctx, []store.Event{own})
			return err
		})
		if m, err := w.db.Milestones(w.ctx, nil); err != nil || !m.Event.IsZero() || m.Administrator.IsZero() {
			t.Errorf("with an event of our own: %+v, %v", m, err)
		}
		w.newDeliveries(w.subscription, 1)
		if m, err := w.db.Milestones(w.ctx, nil); err != nil || m.Event.IsZero() || !m.Delivered.IsZero() {
			t.Errorf("with an event: %+v, %v", m, err)
		}
		newest, err := w.db.NewestTime(w.ctx)
		same(t, newest.IsZero(), err, false)
	})
}

// The other queries of the checks run on both databases, and find what is there.
func TestInstallationFacts(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.write(func(tx *store.Tx) error {
			return tx.InsertMail(w.ctx, &store.Mail{Recipient: "a@example.nl", Subject: "S", Body: "B"})
		})
		mails, err := w.db.RecentMails(w.ctx)
		noErr(t, err)
		if len(mails) != 1 || mails[0].Status != store.MailPending || mails[0].Body != "" {
			t.Errorf("mails %+v", mails)
		}
		w.write(func(tx *store.Tx) error {
			return tx.InsertAttempts(w.ctx, []store.Attempt{
				{DeliveryID: "dlv_1", Number: 1, StartedAt: tx.Now, URL: "https://a.example/x", ResponseHeaders: `{"Date":["x"]}`},
				{DeliveryID: "dlv_1", Number: 2, StartedAt: tx.Now, ErrorKind: "dns"},
			})
		})
		answers, err := w.db.RecentAnswers(w.ctx)
		noErr(t, err)
		if len(answers) != 1 || answers[0].URL != "https://a.example/x" {
			t.Errorf("answers %+v", answers)
		}
		_, err = w.db.ActiveHosts(w.ctx, 5)
		noErr(t, err)
	})
}
