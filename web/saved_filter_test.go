package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"schakel/delivery/event"
	"schakel/store"
	"schakel/web/site"
)

// A reader saves the filter of each list under a name, opens the list with it, has it as the default, and deletes it, all without a script;
// nobody else sees it.
func TestSavedFilters(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	w.dead(w.first)
	w.fails(w.first, "dns")
	queries := map[string]string{
		"/admin/errors": "show=stopped", "/admin/dead-letters": "kind=rejected", "/admin/deliveries": "status=dead", "/admin/issues": "state=open",
		"/admin/audit": "action=partner.approved", "/admin/amqp/messages": "state=held",
		"/partner/deliveries": "status=dead", "/partner/issues": "state=open",
	}
	for list, presets := range site.FilteredLists() {
		query := queries[list]
		if query == "" { // for partners with a party
			continue
		}
		b := w.admin
		if strings.HasPrefix(list, "/partner") {
			b = w.first.browser
		}
		page := text(b.get(list + "?" + query + "&page=1&from="))
		wantWords(t, page, "Save this filter", `name="query" value="`+query+`"`)
		if strings.Contains(page, "Open the list with this filter") != presets {
			t.Errorf("%s: a default is offered, or not", list)
		}
		answer := b.post("/account/filters", url.Values{"list": {list}, "query": {query}, "name": {"  Night   shift "}, "preset": {"on"}})
		wantStatus(t, answer, http.StatusSeeOther)
		if to := answer.Header.Get("Location"); to != list+"?"+query {
			t.Errorf("%s: leads to %s", list, to)
		}
		page = text(b.get(list + "?" + query))
		wantWords(t, page, "Night shift", `href="`+list+"?"+query+`" aria-current="true"`)
		opened := b.get(list)
		if presets {
			wantStatus(t, opened, http.StatusSeeOther)
			if to := opened.Header.Get("Location"); to != list+"?"+query {
				t.Errorf("%s opens with %s", list, to)
			}
			shows(t, b.get(list+"?filter=none"), http.StatusOK, "Night shift")
			wantWords(t, page, `href="`+list+`?filter=none"`)
		} else {
			wantStatus(t, opened, http.StatusOK)
		}
		mine := must(w.db.SavedFilters(t.Context(), w.accountOf(b), list))(t)
		if len(mine) != 1 || mine[0].Preset != presets {
			t.Fatalf("%s: %+v", list, mine)
		}
		lacks(t, text(w.other.browser.get("/partner/deliveries")), "Night shift")
		at := "/account/filters/" + mine[0].ID
		for _, verb := range []string{"/delete", "/preset", "/unset"} {
			wantStatus(t, w.other.browser.post(at+verb, nil), http.StatusNotFound)
		}
		wantStatus(t, b.post(at+"/unset", nil), http.StatusSeeOther)
		wantStatus(t, b.get(list), http.StatusOK)
		wantStatus(t, b.post(at+"/delete", nil), http.StatusSeeOther)
		wantWords(t, text(b.get(list)), "The filter “Night shift” is deleted.")
		lacks(t, text(b.get(list)), "Night shift")
	}
	for name, form := range map[string]url.Values{
		"Filter the list first":       {"list": {"/admin/issues"}, "query": {"page=2&zone=UTC"}, "name": {"n"}},
		"This filter cannot be saved": {"list": {"https://evil.example/"}, "query": {"state=open"}, "name": {"n"}},
	} {
		answer := w.admin.post("/account/filters", form)
		wantStatus(t, answer, http.StatusSeeOther)
		if to := answer.Header.Get("Location"); !strings.HasPrefix(to, "/admin/issues") && to != "/account" {
			t.Errorf("leads to %s", to)
		}
		wantWords(t, text(w.admin.get("/account")), name)
	}
	for name, words := range map[string]string{" ": "Give the filter a name", strings.Repeat("n", 61): "shorter than 60"} {
		answer := w.admin.post("/account/filters", url.Values{"list": {"/admin/issues"}, "query": {"state=open"}, "name": {name}, "preset": {"on"}})
		page := shows(t, answer, http.StatusUnprocessableEntity, words)
		wantWords(t, page, `aria-invalid="true"`, `name="query" value="state=open"`, `href="/admin/issues?state=open"`, `value="`+strings.TrimSpace(name)+`"`, " checked")
	}
	wantStatus(t, w.browser().post("/account/filters", url.Values{}), http.StatusSeeOther) // to the login
}

// accountOf finds who is logged in with a browser.
func (w *queueWorld) accountOf(b *browser) string {
	w.t.Helper()
	email := testEmail
	for _, p := range []queueParty{w.first, w.other} {
		if p.browser == b {
			email = p.email
		}
	}
	return must(w.db.AccountByEmail(w.t.Context(), email))(w.t).ID
}

// Moments of a filter are in the time zone of the reader, which the form names and the address keeps: who opens it in another zone sees the
// same rows, under the times of the own zone.
func TestMomentsInTheReadersZone(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	made := w.clock.Now().UTC()
	w.deliver(w.event(event.DataNone, ""), w.first)
	w.fails(w.first, "dns")
	setZone := func(zone string) {
		w.write(func(tx *store.Tx) error {
			a, err := tx.AccountByEmail(t.Context(), testEmail)
			if err != nil {
				return err
			}
			a.TimeZone = zone
			return tx.UpdateAccount(t.Context(), &a)
		})
	}
	oslo := must(time.LoadLocation("Europe/Oslo"))(t)
	const minute = "2006-01-02T15:04"
	for _, list := range []string{"/admin/deliveries", "/admin/issues", "/admin/audit", "/admin/events", "/admin/amqp/messages"} {
		setZone("Europe/Oslo")
		wantWords(t, text(w.admin.get(list)), "(Oslo)", `type="hidden" name="zone" value="Europe/Oslo"`, `type="datetime-local"`)
		from := made.In(oslo).Add(-60e9).Format(minute)
		query := list + "?" + url.Values{"from": {from}, "zone": {"Europe/Oslo"}}.Encode()
		wantWords(t, text(w.admin.get(query)), `value="`+from+`"`)
		n := rowsListed(t, w.admin, query)
		late := list + "?" + url.Values{"from": {made.In(oslo).Add(60 * 60e9).Format(minute)}, "zone": {"Europe/Oslo"}}.Encode()
		if list != "/admin/amqp/messages" && (n == 0 || rowsListed(t, w.admin, late) != 0) {
			t.Errorf("%s: %d rows since a minute before, %d since an hour later", list, n, rowsListed(t, w.admin, late))
		}
		setZone("America/New_York")
		newYork := must(time.LoadLocation("America/New_York"))(t)
		wantWords(t, text(w.admin.get(query)), "(New York)", `value="`+made.In(newYork).Add(-60e9).Format(minute)+`"`)
		if again := rowsListed(t, w.admin, query); again != n {
			t.Errorf("%s: %d rows in another zone, want %d", list, again, n)
		}
		wantStatus(t, w.admin.get(list+"?from=never"), http.StatusUnprocessableEntity)
		// A day that ends a period is shown as the moment at which it ends, and an address without a zone is in UTC.
		wantWords(t, text(w.admin.get(list+"?until=2030-01-31&zone=America/New_York")), `value="2030-02-01T00:00"`)
		wantWords(t, text(w.admin.get(list+"?from=2030-01-31T12:00")), `value="2030-01-31T07:00"`)
	}
}
