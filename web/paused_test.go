package web

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"schakel/store"
	"schakel/templates/i18n"
)

var linksOfMail = regexp.MustCompile(`http://[^/\s]+(/(?:admin|partner)/\S*)`)

// What is held because somebody paused it is paused, and what was refused is in the error queue: in the menu, on the overview, in the lists and in mails,
// and each number is that of the list it leads to.
func TestPausedIsNotInTheErrorQueue(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	refused := w.rejected(w.first)
	paused := w.failed(w.first, store.DeliveryHeld, store.ReasonSubscriptionPaused)
	const errors, stopped = "/partner/deliveries?status=held&amp;show=rejected", "/partner/deliveries?status=held&amp;show=stopped"
	home := text(w.first.browser.get("/partner"))
	wantWords(t, home, `href="`+stopped+`"`)
	if !regexp.MustCompile(`(?s)href="` + regexp.QuoteMeta(errors) + `"[^>]*>\s*(<[^>]+>\s*)*Error queue.{0,200}?1`).MatchString(home) {
		t.Error("the menu does not lead to the error queue with its number")
	}
	lacks(t, home, "Held deliveries", ">Held<", "status=held\"")
	for path, row := range map[string][2]store.Delivery{
		"/partner/deliveries?status=held&show=rejected": {refused, paused}, "/partner/deliveries?status=held&show=stopped": {paused, refused},
	} {
		page := text(w.first.browser.get(path))
		wantWords(t, page, row[0].ID, "1 delivery")
		lacks(t, page, row[1].ID, "Held")
		for lang, word := range map[i18n.Lang]string{i18n.Dutch: "astgehouden", i18n.Norwegian: "oldt tilbake"} {
			lacks(t, text(w.first.browser.in(t, lang, path)), word)
		}
		w.first.browser.in(t, i18n.English, path)
	}
	shows(t, w.first.browser.get("/partner/deliveries?status=held&show=rejected"), http.StatusOK, "Error queue")
	shows(t, w.first.browser.get("/partner/deliveries/"+paused.ID), http.StatusOK, "Paused")

	w.write(func(tx *store.Tx) error {
		notices := must(tx.DeliveryNotices(t.Context(), tx.Now, tx.Now, 10))(t)
		_, err := w.reg.Mails.DeliveriesStuck(t.Context(), tx, notices)
		return err
	})
	seen := 0
	for _, m := range w.mails(t, store.Page{Number: 1, Size: 20}) {
		if !strings.Contains(m.Body, "error queue") {
			continue
		}
		seen++
		wantWords(t, m.Body, "1 delivery in the error queue", "1 paused or suspended delivery")
		reader := w.first.browser
		if m.Recipient == testEmail {
			reader = w.admin
		}
		links := linksOfMail.FindAllStringSubmatch(m.Body, -1)
		if len(links) != 2 {
			t.Fatalf("links of %s", m.Body)
		}
		for i, d := range []store.Delivery{refused, paused} {
			page := text(reader.get(links[i][1]))
			wantWords(t, page, d.ID, "1 delivery")
		}
	}
	if seen == 0 {
		t.Error("nobody was told")
	}
}

// Where nothing can be resent, because its subscription is paused, no button offers it; the page that counts gives the reason, and counts what is left.
func TestPausedOffersNoResend(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	w.failed(w.first, store.DeliveryHeld, store.ReasonSubscriptionPaused)
	w.subscriptionIs(w.first, store.SubscriptionPaused)
	w.clock.Advance(time.Second)
	lacks(t, wantPage(t, w.first.browser.get("/partner/deliveries?status=held&show=stopped"), http.StatusOK, "1 delivery"), `value="resend"`, "/deliveries/all?")
	page := wantPage(t, w.admin.get("/admin/errors?show=stopped"), http.StatusOK, `value="discard"`)
	lacks(t, page, `value="resend"`, "/errors/all?")
	lacks(t, shows(t, w.admin.get("/admin/errors/all?show=stopped"), http.StatusOK, "1 delivery matches", "cannot be resent until it is resumed"), "Resend 1 delivery", "Resend them")
	w.rejected(w.other)
	w.clock.Advance(time.Second)
	shows(t, w.admin.get("/admin/errors/all?show=held"), http.StatusOK, "2 deliveries match", "cannot be resent until it is resumed", "Resend 1 delivery")
}
