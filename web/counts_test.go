package web

import (
	"fmt"
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"schakel/delivery/event"
	"schakel/delivery/webhook"
	"schakel/delivery/window"
	"schakel/store"
	"schakel/templates/ui"
)

var (
	tileInPage  = regexp.MustCompile(`(?s)<li class="schakel-tile[^"]*"><p class="schakel-tile__label"><a [^>]*href="([^"]+)">[^<]*</a>\s*</p><p class="schakel-tile__value">(.*?)</p>`)
	issuesLink  = regexp.MustCompile(`href="([^"]+/issues\?[^"]+)"[^>]*>[^<]*?([\d,]+) unresolved`)
	besideLink  = regexp.MustCompile(`href="(/admin/amqp/messages\?[^"]+)"[^>]*>[^<]*\(([\d,]+)\)`)
	tags        = regexp.MustCompile(`<[^>]*>`)
	ownTileList = regexp.MustCompile(`^/admin/(installation|datasets|mutations)`) // their pages have no list with a count
)

// shownCounts are the numbers on a page that lead somewhere, by address.
func shownCounts(t *testing.T, page string) map[string]int {
	t.Helper()
	found := map[string]int{}
	for _, pattern := range []*regexp.Regexp{tileInPage, issuesLink, besideLink} {
		for _, m := range pattern.FindAllStringSubmatch(page, -1) {
			if href := html.UnescapeString(m[1]); !ownTileList.MatchString(href) {
				found[href] = number(t, strings.TrimSpace(tags.ReplaceAllString(m[2], "")))
			}
		}
	}
	return found
}

// A number that leads somewhere equals what is listed there: on the overviews, the pages of endpoints, issues and queues, of an
// administrator and of a partner, while things are paused, suspended, outside their window, rejected, dead, or wait.
func TestCountsEqualTheirLists(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	issue := w.mixture()
	partner := w.first.browser
	total := 0
	for _, page := range []struct {
		b     *browser
		path  string
		least int // numbers that lead somewhere
	}{
		{w.admin, "/admin", 10},
		{w.admin, "/admin/endpoints/" + w.first.endpoint, 1},
		{w.admin, "/admin/issues/" + issue.ID, 1},
		{w.admin, "/admin/errors", 1},
		{w.admin, "/admin/dead-letters", 1},
		{w.admin, "/admin/amqp", 5},
		{partner, "/partner", 5},
		{partner, "/partner/endpoints/" + w.first.endpoint, 1},
		{partner, "/partner/issues/" + issue.ID, 1},
	} {
		counts := shownCounts(t, shows(t, page.b.get(page.path), http.StatusOK))
		if len(counts) < page.least {
			t.Errorf("%s: %d numbers lead somewhere, want %d: %v", page.path, len(counts), page.least, counts)
		}
		for href, n := range counts {
			total += n
			if in := rowsListed(t, page.b, href); in != n {
				t.Errorf("%s says %d, %s lists %d", page.path, n, href, in)
			}
		}
	}
	if total < 20 {
		t.Errorf("the numbers are %d in all: the mixture is thin", total)
	}

	home := shownCounts(t, text(partner.get("/partner")))
	held := rowsListed(t, partner, "/partner/deliveries?status=held")
	if sum := home["/partner/deliveries?status=held&show=rejected"] + home["/partner/deliveries?status=held&show=stopped"]; sum != held {
		t.Errorf("the tiles of what is held say %d together, the list %d", sum, held)
	}
	for _, path := range []string{"/partner/deliveries?status=dead&show=rejected", "/partner/deliveries?show=stopped", "/partner/deliveries?status=held&show=all"} {
		wantStatus(t, partner.get(path), http.StatusUnprocessableEntity)
	}
}

// The menu stops counting before a list does; the tiles of the overviews, which lead to that list, go on.
func TestMenuStopsCountingBeforeLists(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	one := w.dead(w.first)
	_, pool := w.db.Pools()
	must(pool.ExecContext(t.Context(), w.rows(`INSERT INTO delivery (id, event_id, subscription_id, endpoint_id, partner_id, event_type, status, reason, cause, idempotency_key,
		key_expires_at, created_at, updated_at) `, `substr(d.id, 1, 20) || printf('%010d', i), event_id, subscription_id, endpoint_id, partner_id, event_type, status, reason, cause,
		'key-' || i, 0, created_at, updated_at FROM s JOIN delivery d ON d.id = '`+one.ID+`'`), 0, ui.MenuBound))(t)
	w.clock.Advance(time.Minute)
	for path, list := range map[string]string{"/admin": "/admin/dead-letters", "/partner": "/partner/deliveries?status=dead"} {
		b := w.admin
		if path == "/partner" {
			b = w.first.browser
		}
		page := shows(t, b.get(path), http.StatusOK, "1,000+")
		if n := shownCounts(t, page)[list]; n != ui.MenuBound+1 {
			t.Errorf("the tile of %s says %d", path, n)
		}
		shows(t, b.get(list), http.StatusOK, "1,001 deliveries", "1,000+")
	}
}

// Each row under the failures of a partner names its cause, whatever it failed of, and none is there that somebody paused.
func TestFailuresNameTheirCause(t *testing.T) {
	t.Parallel()
	for status, reasons := range map[string][]string{
		store.DeliveryRetrying: {webhook.ReasonBusy, webhook.ReasonUnreachable, store.ReasonReleased, store.ReasonLeaseExpired},
		store.DeliveryHeld:     {webhook.ReasonRejected, "E31", "transport:invalid-signature", "made-up-by-a-peer"},
		store.DeliveryDead:     {webhook.ReasonAttempts, webhook.ReasonKeyExpired, store.ReasonCountExceeded, store.ReasonSubscriptionEnded, ""},
	} {
		t.Run(status, func(t *testing.T) {
			t.Parallel()
			w := newQueueWorld(t)
			for _, reason := range reasons {
				d := w.failed(w.first, status, reason)
				if _, pool := w.db.Pools(); reason == "" {
					must(pool.ExecContext(t.Context(), `UPDATE delivery SET detail = '', cause = 'http-418' WHERE id = ?`, d.ID))(t)
				}
			}
			w.failed(w.first, store.DeliveryHeld, store.ReasonSubscriptionPaused)
			_, list, _ := strings.Cut(shows(t, w.first.browser.get("/partner"), http.StatusOK), `id="failures"`)
			list, _, _ = strings.Cut(list, "</table>")
			causes := regexp.MustCompile(`(?s)<td [^>]*data-label="What happened"[^>]*>(.*?)</td>`).FindAllStringSubmatch(list, -1)
			if len(causes) != len(reasons) {
				t.Fatalf("%d rows, want %d: %s", len(causes), len(reasons), list)
			}
			for _, c := range causes {
				if words := strings.TrimSpace(tags.ReplaceAllString(c[1], "")); len(words) < 5 {
					t.Errorf("a row says %q of its cause", words)
				}
			}
		})
	}
}

// mixture makes deliveries in every state for every reason, to two partners, and issues. It returns an issue with deliveries that wait.
func (w *queueWorld) mixture() store.Issue {
	w.t.Helper()
	w.fillBadges()
	for range 3 {
		w.deliver(w.event(event.DataNone, ""), w.first)
	}
	w.failed(w.first, store.DeliveryHeld, store.ReasonSubscriptionPaused)
	w.failed(w.first, store.DeliveryHeld, store.ReasonSubscriptionSuspended)
	w.failed(w.first, store.DeliveryHeld, "made-up-by-a-peer")
	w.failed(w.first, store.DeliveryRetrying, webhook.ReasonBusy)
	w.failed(w.first, store.DeliveryDead, store.ReasonSubscriptionEnded)
	w.attempt(w.deliver(w.event(event.DataNone, ""), w.first), store.DeliveryDelivered, webhook.ReasonDelivered, store.Attempt{StatusCode: 200})
	_, issue := w.fails(w.first, "http-503")
	w.fails(w.first, "dns")
	_, resolved := w.fails(w.first, "tls")
	w.write(func(tx *store.Tx) error { return tx.ResolveIssue(w.t.Context(), resolved.ID, "Ada") })
	w.fails(w.other, "http-503")

	opens := w.clock.Now().UTC().Add(2 * 60 * 60e9)
	week, err := window.ParseLines("UTC", fmt.Sprintf("mon-sun %s-%s", opens.Format("15:04"), opens.Add(60*60e9).Format("15:04")))
	noError(w.t, err)
	w.stop(w.first, func(ep *store.Endpoint) { ep.Windows = week.String() })
	w.stop(w.other, func(ep *store.Endpoint) { ep.Status = store.EndpointPaused })
	w.deliver(w.event(event.DataNone, ""), w.other)
	w.write(func(tx *store.Tx) error {
		for n, m := range []store.AMQPMessage{
			{Direction: store.AMQPOut, Status: store.AMQPFailed},
			{Direction: store.AMQPOut, Status: store.AMQPUnsent},
			{Direction: store.AMQPOut, Status: store.AMQPRejected},
			{Direction: store.AMQPIn, Status: store.AMQPDead},
			{Direction: store.AMQPIn, Status: store.AMQPRejected},
		} {
			m.Kind, m.MessageID = store.AMQPBusiness, fmt.Sprint("m", n)
			if err := tx.InsertAMQPMessage(w.t.Context(), &m); err != nil {
				return err
			}
		}
		return nil
	})
	return issue
}
