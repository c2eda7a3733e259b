package store_test

import (
	"errors"
	"testing"
	"time"

	"schakel/store"
)

func TestAccount(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		var a, b store.Account
		fill(&a, 1)
		fill(&b, 2)
		b.PartnerID = a.PartnerID
		admin := store.Account{Email: "beheer@example.nl", Name: "B", Role: store.RoleAdministrator, Status: store.AccountActive}
		w.write(func(tx *store.Tx) error {
			for _, row := range []*store.Account{&b, &a, &admin} {
				if err := tx.InsertAccount(w.ctx, row); err != nil {
					return err
				}
			}
			return nil
		})
		got, err := w.db.Account(w.ctx, a.ID)
		same(t, got, err, a)
		got, err = w.db.AccountByEmail(w.ctx, b.Email)
		same(t, got, err, b)
		got, err = w.db.AccountByEmail(w.ctx, "niemand@example.nl")
		missing(t)(got, err)

		gives(t, []store.Account{a, b})(w.db.Accounts(w.ctx, a.PartnerID))
		gives(t, []store.Account{admin})(w.db.Accounts(w.ctx, ""))

		w.fails(store.ErrConflict, func(tx *store.Tx) error {
			return tx.InsertAccount(w.ctx, &store.Account{Email: a.Email})
		})
		w.clock.Advance(time.Second)
		fill(&a, 3, "ID", "CreatedAt", "Factors")
		w.write(func(tx *store.Tx) error { return tx.UpdateAccount(w.ctx, &a) })
		got, err = w.db.Account(w.ctx, a.ID)
		same(t, got, err, a)
		same(t, got.UpdatedAt, nil, w.now())
	})
}

// TestDeleteAccount: what is an account's own goes with it, and its address is free again.
func TestDeleteAccount(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		a := store.Account{Email: "a@example.nl", Role: store.RoleReader, PartnerID: "ptn_1", Status: store.AccountActive}
		b := store.Account{Email: "b@example.nl", Role: store.RoleManager, PartnerID: "ptn_1", Status: store.AccountActive}
		w.write(func(tx *store.Tx) error { return errors.Join(tx.InsertAccount(w.ctx, &a), tx.InsertAccount(w.ctx, &b)) })
		var session store.LoginSession
		for _, one := range []store.Account{a, b} {
			session = store.LoginSession{AccountID: one.ID}
			filter := store.SavedFilter{AccountID: one.ID, List: "/partner/deliveries", Name: "Mine"}
			w.write(func(tx *store.Tx) error {
				return errors.Join(tx.InsertIdentity(w.ctx, one.ID, "https://idp.example", one.Email), tx.InsertLoginSession(w.ctx, &session),
					tx.InsertFactor(w.ctx, &store.Factor{AccountID: one.ID, Kind: "totp"}), tx.SaveFilter(w.ctx, &filter),
					tx.InsertLink(w.ctx, []byte(one.ID), "invitation", one.ID, w.in(time.Hour)))
			})
		}
		gives(t, w.in(time.Hour))(w.db.LinkExpiry(w.ctx, "invitation", a.ID, w.now()))
		missing(t)(w.db.LinkExpiry(w.ctx, "invitation", a.ID, w.in(time.Hour)))
		w.write(func(tx *store.Tx) error { return tx.DeleteAccount(w.ctx, a.ID) })
		missing(t)(w.db.Account(w.ctx, a.ID))
		missing(t)(w.db.LinkExpiry(w.ctx, "invitation", a.ID, w.now()))
		missing(t)(w.db.AccountByIdentity(w.ctx, "https://idp.example", a.Email))
		gives(t, w.in(time.Hour))(w.db.LinkExpiry(w.ctx, "invitation", b.ID, w.now()))
		got, err := w.db.LoginSession(w.ctx, session.ID)
		same(t, got.AccountID, err, b.ID)
		w.fails(store.ErrNotFound, func(tx *store.Tx) error { return tx.DeleteAccount(w.ctx, a.ID) })
		w.write(func(tx *store.Tx) error {
			return tx.InsertAccount(w.ctx, &store.Account{Email: a.Email, Role: store.RoleReader})
		})
	})
}

func TestIdentity(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		a := store.Account{Email: "a@example.nl", Role: store.RoleManager, Status: store.AccountActive}
		w.write(func(tx *store.Tx) error {
			if err := tx.InsertAccount(w.ctx, &a); err != nil {
				return err
			}
			return tx.InsertIdentity(w.ctx, a.ID, "https://idp.example", "sub-1")
		})
		gives(t, a)(w.db.AccountByIdentity(w.ctx, "https://idp.example", "sub-1"))
		missing(t)(w.db.AccountByIdentity(w.ctx, "https://other.example", "sub-1"))
		w.fails(store.ErrConflict, func(tx *store.Tx) error { return tx.InsertIdentity(w.ctx, a.ID, "https://idp.example", "sub-1") })
	})
}

func TestLink(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		insert := func(hash, purpose, subject string) {
			w.write(func(tx *store.Tx) error {
				return tx.InsertLink(w.ctx, []byte(hash), purpose, subject, w.in(time.Hour))
			})
		}
		subject := func(hash, purpose string) (string, error) {
			return w.db.LinkSubject(w.ctx, []byte(hash), purpose, w.now())
		}
		use := func(hash, purpose string) func(tx *store.Tx) error {
			return func(tx *store.Tx) error { _, err := tx.UseLink(w.ctx, []byte(hash), purpose); return err }
		}
		insert("old", "password", "acc_1")
		insert("new", "password", "acc_1")
		insert("other", "invitation", "acc_1")
		missing(t)(subject("old", "password"))
		missing(t)(subject("new", "invitation"))
		gives(t, "acc_1")(subject("new", "password"))
		w.fails(store.ErrNotFound, use("new", "invitation"))
		w.write(use("new", "password"))
		w.fails(store.ErrNotFound, use("new", "password"))
		insert("mine", "confirm", "acc_1")
		insert("theirs", "confirm", "acc_2")
		w.write(func(tx *store.Tx) error { return tx.RevokeLinks(w.ctx, "confirm", "acc_1") })
		w.fails(store.ErrNotFound, use("mine", "confirm"))
		w.write(use("theirs", "confirm"))
		gives(t, "acc_1")(subject("other", "invitation"))
		w.clock.Advance(time.Hour)
		w.fails(store.ErrNotFound, use("other", "invitation"))
	})
}

func TestThrottle(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		read := func(want store.Throttle) {
			t.Helper()
			gives(t, want)(w.db.Throttle(w.ctx, "b"))
		}
		empty := store.Throttle{Bucket: "b"}
		read(empty)
		blocked := store.Throttle{Bucket: "b", Failures: 3, BlockedUntil: w.in(time.Minute), UpdatedAt: w.now()}
		for range 2 {
			w.write(func(tx *store.Tx) error { return tx.SaveThrottle(w.ctx, blocked) })
			read(blocked)
		}
		w.write(func(tx *store.Tx) error {
			gives(t, blocked)(tx.LockThrottle(w.ctx, "b"))
			return tx.SaveThrottle(w.ctx, empty)
		})
		read(empty)
		w.write(func(tx *store.Tx) error {
			got, err := tx.LockThrottle(w.ctx, "b")
			same(t, got, err, store.Throttle{Bucket: "b", UpdatedAt: w.now()})
			return err
		})
	})
}

func TestMail(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		a := store.Mail{Recipient: "a@example.nl", Subject: "Eén", Body: "Beste\n"}
		b := store.Mail{Recipient: "b@example.nl"}
		w.write(func(tx *store.Tx) error { return errors.Join(tx.InsertMail(w.ctx, &a), tx.InsertMail(w.ctx, &b)) })
		claim := func(want ...string) {
			t.Helper()
			w.write(func(tx *store.Tx) error {
				rows, err := tx.ClaimMails(w.ctx, 1, w.in(time.Minute))
				listed(t, func(m store.Mail) string { return m.ID }, append([]string{}, want...), len(want))(rows, len(rows), err)
				return err
			})
		}
		gives(t, w.now())(w.db.NextMailDue(w.ctx))
		claim(a.ID)
		claim(b.ID)
		claim()
		a.Status, a.SentAt, a.Error, a.DueAt, a.Attempts = store.MailSent, w.now(), "x", store.Time{}, 1
		w.write(func(tx *store.Tx) error { return tx.UpdateMail(w.ctx, &a) })
		got, err := w.db.Mail(w.ctx, a.ID)
		same(t, got, err, a)
		gives(t, w.in(time.Minute))(w.db.NextMailDue(w.ctx))
		w.clock.Advance(time.Minute)
		claim(b.ID)
		got, err = w.db.Mail(w.ctx, b.ID)
		same(t, got.Attempts, err, 2)
		got, err = w.db.Mail(w.ctx, "mal_none")
		missing(t)(got, err)
		listed(t, func(m store.Mail) string { return m.ID }, []string{b.ID}, 2)(w.db.Mails(w.ctx, store.Page{Number: 1, Size: 1}))
		b.Status = store.MailFailed
		w.write(func(tx *store.Tx) error { return tx.UpdateMail(w.ctx, &b) })
		gives(t, store.Time{})(w.db.NextMailDue(w.ctx))
	})
}

// A mail that waits is found and written anew until something was tried with it.
func TestWaitingMail(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		m := store.Mail{Recipient: "a@example.nl", Subject: "More", Body: "one", DueAt: w.in(time.Minute)}
		w.write(func(tx *store.Tx) error {
			if err := tx.InsertMail(w.ctx, &m); err != nil {
				return err
			}
			got, err := tx.WaitingMail(w.ctx, m.Recipient, m.Subject)
			same(t, got, err, m)
			missing(t)(tx.WaitingMail(w.ctx, "b@example.nl", m.Subject))
			missing(t)(tx.WaitingMail(w.ctx, m.Recipient, "Less"))
			return tx.RewriteMail(w.ctx, m.ID, "two")
		})
		w.clock.Advance(time.Minute)
		w.write(func(tx *store.Tx) error {
			missing(t)(tx.WaitingMail(w.ctx, m.Recipient, m.Subject))
			rows, err := tx.ClaimMails(w.ctx, 1, w.in(time.Minute))
			if err != nil || len(rows) != 1 || rows[0].Body != "two" {
				t.Errorf("claimed %v, %v", rows, err)
			}
			if err := tx.RewriteMail(w.ctx, m.ID, "three"); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("rewrote a mail that is being sent: %v", err)
			}
			return nil
		})
	})
}

func TestAudit(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		var rows [3]store.Audit
		for i := range rows {
			fill(&rows[i], i+1)
			w.write(func(tx *store.Tx) error { return tx.InsertAudit(w.ctx, rows[i]) })
			w.clock.Advance(time.Hour)
		}
		w.write(func(tx *store.Tx) error { return tx.InsertAudit(w.ctx, store.Audit{Action: "start"}) })
		action := func(a store.Audit) string { return a.Action }
		all := []string{"start", rows[2].Action, rows[1].Action, rows[0].Action}
		type filter = store.AuditFilter
		for name, c := range map[string]struct {
			f     filter
			want  []string
			total int
		}{
			"all":     {filter{}, all, 4},
			"page":    {filter{Page: store.Page{Number: 2, Size: 2}}, all[2:], 4},
			"partner": {filter{PartnerID: rows[1].PartnerID}, all[2:3], 1},
			"kind":    {filter{ObjectKind: rows[1].ObjectKind}, all[2:3], 1},
			"object":  {filter{ObjectID: rows[1].ObjectID}, all[2:3], 1},
			"action":  {filter{Action: "start"}, all[:1], 1},
			"actor":   {filter{ActorID: rows[1].ActorID}, all[2:3], 1},
			"from":    {filter{From: w.in(-time.Hour)}, all[:2], 2},
			"until":   {filter{Until: w.in(-time.Hour)}, all[2:], 2},
		} {
			t.Run(name, func(t *testing.T) { listed(t, action, c.want, c.total)(w.db.Audits(w.ctx, c.f)) })
		}
		newest, err := w.db.NewestAudits(w.ctx, filter{}, 2)
		noErr(t, err)
		if all, _, err := w.db.Audits(w.ctx, filter{}); err != nil || len(newest) != 2 || newest[0].ID != all[0].ID || newest[1].ID != all[1].ID {
			t.Errorf("%v, %v", newest, err)
		}
		got, _, err := w.db.Audits(w.ctx, filter{Action: "start"})
		same(t, got[0].Detail, err, "{}")
		got, _, err = w.db.Audits(w.ctx, filter{Action: rows[0].Action})
		rows[0].ID, rows[0].At, rows[0].Seq, rows[0].PrevHash, rows[0].Hash = got[0].ID, w.in(-3*time.Hour), 1, "", got[0].Hash
		same(t, got[0], err, rows[0])
	})
}

func TestSession(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		hash := []byte{0, 1, 2}
		find := func(wantData string, wantFound bool) {
			t.Helper()
			data, expires, found, err := w.db.SessionFind(w.ctx, hash)
			same(t, [2]any{string(data), found}, err, [2]any{wantData, wantFound})
			if found {
				same(t, expires, nil, w.in(time.Hour).Time)
			}
		}
		find("", false)
		for _, data := range []string{"een", "twee"} {
			same(t, w.db.SessionSave(w.ctx, hash, []byte(data), w.in(time.Hour).Time), nil, nil)
			find(data, true)
		}
		same(t, w.db.SessionDelete(w.ctx, hash), nil, nil)
		same(t, w.db.SessionDelete(w.ctx, hash), nil, nil)
		find("", false)
		same(t, w.db.SessionSave(w.ctx, hash, []byte("kort"), w.now().Time), nil, nil)
		find("", false)
	})
}

func TestUseOnceAndPruneExpired(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		use := func(want bool) {
			t.Helper()
			gives(t, want)(w.db.UseOnce(w.ctx, "jti", w.in(time.Hour).Time))
		}
		use(true)
		use(false)
		for _, d := range []time.Duration{0, time.Hour, time.Hour + time.Microsecond} {
			name := d.String()
			same(t, w.db.SessionSave(w.ctx, []byte(name), []byte{}, w.in(d).Time), nil, nil)
			w.write(func(tx *store.Tx) error {
				_, err := tx.InsertKeys(w.ctx, []store.IdempotencyKey{{ClientID: name, Fingerprint: []byte{}, ResponseBody: []byte{}, CreatedAt: w.now(), ExpiresAt: w.in(d)}})
				return errors.Join(err, tx.InsertLink(w.ctx, []byte(name), "p", name, w.in(d)))
			})
		}
		expire := func(limit int) func(tx *store.Tx) (int64, error) {
			return func(tx *store.Tx) (int64, error) {
				p, err := tx.PruneExpired(w.ctx, tx.Now, "", limit)
				return p.Rows, err
			}
		}
		w.count(3, expire(10))
		w.clock.Advance(time.Hour)
		w.count(1, expire(1))
		w.count(3, expire(10))
		w.count(0, expire(10))
		use(true)
	})
}
