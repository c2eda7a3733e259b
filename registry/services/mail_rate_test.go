package services

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
)

// However many mails one partner causes, those about another and alerts wait for none of them; what is too many arrives in one bundle within ten
// minutes, which names each.
func TestMailsOfOnePartnerDelayNoOther(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		a, anna, b, bob := w.twoPartners(t)
		change := func(tx *store.Tx, actor registry.Actor, p store.Partner, client string) error {
			return w.cfg.MailChange(ctx, tx, actor, p.ID, i18n.M("identity.mail.keys-subject", client, p.Name),
				registry.ChangePages{Administrator: "/admin/clients/" + client, Partner: "/partner/clients/" + client},
				[]registry.Change{{What: "identity.mail.part-dpop", From: "ui.no", To: "ui.yes"}})
		}
		must(t, w.db.Write(ctx, func(tx *store.Tx) error {
			for i := range 1000 {
				if err := w.cfg.MailAdministrators(ctx, tx, w.cfg.Letter(i18n.M("partners.mail.subscription-asked-subject", a.Name), "/admin/subscriptions").Of(a.ID)); err != nil {
					return err
				}
				if err := w.cfg.MailAdministrators(ctx, tx, w.cfg.Letter("mail.disk.subject", "/admin")); err != nil {
					return err
				}
				if err := change(tx, anna, a, fmt.Sprintf("c%d", i%70)); err != nil {
					return err
				}
			}
			return nil
		}))
		var now store.Time
		must(t, w.db.Write(ctx, func(tx *store.Tx) error {
			now = tx.Now
			err := w.cfg.MailAdministrators(ctx, tx, w.cfg.Letter(i18n.M("mail.alert.raised", "it burns"), "/admin"))
			if err != nil {
				return err
			}
			return change(tx, bob, b, "portal")
		}))
		mails, _, err := w.db.Mails(ctx, store.Page{Number: 1, Size: 1000})
		must(t, err)
		at := map[string]time.Duration{}
		var bundles []string
		n := 0
		for _, m := range mails {
			if m.Recipient != "admin@example.nl" {
				continue
			}
			n++
			wait := m.DueAt.Sub(now.Time)
			if at[m.Subject] = wait; wait > 10*time.Minute {
				t.Errorf("%q waits %s", m.Subject, wait)
			}
			if strings.HasPrefix(m.Subject, "More messages") {
				m, err = w.cfg.OpenMail(m)
				must(t, err)
				bundles = append(bundles, m.Subject+"\n"+m.Body)
			}
		}
		for _, subject := range []string{"Alert: it burns", "Client portal of " + b.Name + " was changed"} {
			if wait, ok := at[subject]; !ok || wait > 0 {
				t.Errorf("%q is there: %t, and waits %s", subject, ok, wait)
			}
		}
		if n > 200 || len(bundles) != 2 {
			t.Fatalf("%d mails, %d bundles", n, len(bundles))
		}
		for _, words := range []string{
			"More messages about " + a.Name, "- Client c69 of " + a.Name + " was changed\n  https://", "/admin/clients/c69", "asks for a subscription",
		} {
			if text := strings.Join(bundles, "\n"); strings.Count(text, words) != 1 {
				t.Errorf("%d times %q in %s", strings.Count(text, words), words, text)
			}
		}
	})
}
