package web

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"schakel/delivery/event"
	"schakel/delivery/webhook"
	"schakel/registry"
	"schakel/store"
	"schakel/store/needs"
	eventswebevents "schakel/web/events"
	webpartners "schakel/web/partners"
)

func TestSubscriptionStory(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t).withCatalogue(t)
	b, _ := h.at(t, "pat@example.nl")
	wantWords(t, text(b.get("/partner/subscriptions/new")), "You need an endpoint first")
	endpoint := newEndpoint(t, b)
	page := text(b.get("/partner/subscriptions/new?q=left&types=nl.example.student.enrolled&purpose=Because&name=Mine"))
	wantWords(t, page, `value="nl.example.student.enrolled" checked`, "nl.example.student.left", ">Because</textarea>", `value="Mine"`)

	here := newSubscription(t, b, endpoint)
	wantWords(t, text(b.get(here)), "has to decide", "Withdraw this request", "Student events 1.x, now 1.2.0", "internal")
	wantWords(t, text(b.get("/partner")), "Subscription: Enrolments")
	noError(t, h.reg.Subscriptions.Approve(t.Context(), h.admin, idOf(here)))
	wantWords(t, text(b.get(here)), "are sent to your endpoint", here+"/pause")

	wantPage(t, b.post(here+"/pause", url.Values{"reason": {" "}}), http.StatusUnprocessableEntity, `href="#pause-reason"`)
	wantRedirect(t, b.post(here+"/pause", url.Values{"reason": {"Maintenance."}}), here)
	wantWords(t, text(b.get(here)), "You paused", "Maintenance.")
	wantRedirect(t, b.post(here+"/resume", nil), here)
	noError(t, h.reg.Subscriptions.Suspend(t.Context(), h.admin, idOf(here), "Too many failures."))
	wantRedirect(t, b.post(here+"/resume", nil), here)
	page = text(b.get(here))
	wantWords(t, page, "You cannot unpause", "Too many failures.")
	wantRedirect(t, b.post(here+"/end", url.Values{"reason": {"Not needed."}}), here)
	page = text(b.get(here))
	wantWords(t, page, "has ended", "Not needed.")
	lacks(t, page, "End this subscription")
	wantWords(t, text(b.get("/partner/subscriptions?status=ended&type=nl.example.student.enrolled")), "1 subscription", "Enrolments")
	wantWords(t, text(b.get("/partner/subscriptions?status=approved")), "No subscription matches")
}

// What is seldom needed begins folded, unless something in it is chosen or wrong.
func TestSubscriptionFormFolds(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t).withCatalogue(t)
	b, _ := h.at(t, "pat@example.nl")
	endpoint := newEndpoint(t, b)
	for query, open := range map[string]bool{
		"": false, "types=nl.example.student.enrolled&purpose=Because&endpoint=" + endpoint: false, "name=Mine": true, "orderBy=subject": true,
		"dedupe=on": true, "filter-0-attribute=subject&filter-0-value=x": true, "retryWaits=5s": true,
	} {
		page := text(b.get("/partner/subscriptions/new?" + query))
		if got := strings.Contains(page, `<details class="schakel-fold" open`); got != open {
			t.Errorf("%q: unfolded %t", query, got)
		}
	}
	for field, open := range map[string]bool{"purpose": false, "filters": true} {
		form := url.Values{"types": {"nl.example.student.enrolled"}, "endpoint": {endpoint}, "purpose": {"Because"}}
		form.Set(field, map[string]string{"purpose": "", "filters": "{"}[field])
		page := wantPage(t, b.post("/partner/subscriptions/new", form), http.StatusUnprocessableEntity, `href="#`+field+`"`)
		if got := strings.Contains(page, `<details class="schakel-fold" open`); got != open {
			t.Errorf("with %s wrong: unfolded %t", field, got)
		}
	}
}

func TestSubscriptionRefused(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t).withCatalogue(t)
	b, _ := h.at(t, "pat@example.nl")
	other, _ := h.at(t, "other@example.nl")
	endpoint, theirs := newEndpoint(t, b), newEndpoint(t, other)
	tests := []struct{ field, value string }{
		{"types", ""},
		{"types", "nl.example.unknown"},
		{"endpoint", ""},
		{"endpoint", idOf(theirs)},
		{"purpose", ""},
		{"name", strings.Repeat("n", 121)},
	}
	for _, test := range tests {
		form := changed(url.Values{"types": {"nl.example.student.left"}, "endpoint": {idOf(endpoint)}, "purpose": {"Our records."}}, test.field, test.value)
		answer := b.post("/partner/subscriptions/new", form)
		if page := text(answer); answer.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(page, `href="#`+test.field+`"`) {
			t.Errorf("%s=%q: status %d, or no error at the field", test.field, test.value, answer.StatusCode)
		}
	}
}

// asked is a form that asks for a subscription; pairs of name and value change it.
func asked(endpoint string, pairs ...string) url.Values {
	return changed(url.Values{
		"types": {"nl.example.student.enrolled"}, "endpoint": {idOf(endpoint)}, "purpose": {"Our records."}, "rows": {"3"},
	}, pairs...)
}

func TestSubscriptionWithFilters(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t).withCatalogue(t)
	b, _ := h.at(t, "pat@example.nl")
	endpoint := newEndpoint(t, b)
	here := redirected(t, b.post("/partner/subscriptions/new", asked(endpoint,
		"filter-0-attribute", "subject", "filter-0-comparison", "prefix", "filter-0-value", "<47>",
		"filter-2-attribute", "source", "filter-2-comparison", "not-exact", "filter-2-value", "urn:x:test",
		"filters", `[ {"any":[{"exact":{"grade":"7"}},{"suffix":{"grade":"8"}}]} ]`, "orderBy", "other", "orderOther", "studentnumber")))
	sub := must(h.db.Subscription(t.Context(), idOf(here)))(t)
	want := `[{"prefix":{"subject":"<47>"}},{"not":{"exact":{"source":"urn:x:test"}}},{"any":[{"exact":{"grade":"7"}},{"suffix":{"grade":"8"}}]}]`
	if sub.Filters != want || sub.OrderBy != "studentnumber" {
		t.Fatalf("stored %s by %q", sub.Filters, sub.OrderBy)
	}
	told := []string{"subject begins with “<47>”", "source is not “urn:x:test”", "grade is “7” or grade ends with “8”", "In order for each value of studentnumber"}
	page := shows(t, b.get(here), http.StatusOK, told...)
	lacks(t, page, "<47>")
	admin := h.browser().login(t, testEmail)
	shows(t, admin.get("/admin/subscriptions/"+sub.ID), http.StatusOK, append(told, "can change filters, repeats, order and retries later")...)

	form := text(b.get(here + "/selection"))
	wantWords(t, form, `value="&lt;47&gt;"`, `value="urn:x:test"`, `value="not-exact" selected`, `{&#34;any&#34;:`, `value="other" selected`, `value="studentnumber"`)
	noError(t, h.reg.Subscriptions.Approve(t.Context(), h.admin, sub.ID))
	wantRedirect(t, b.post(here+"/selection", url.Values{
		"rows": {"1"}, "filter-0-attribute": {"subject"}, "filter-0-comparison": {"exact"}, "filter-0-value": {"4711"}, "orderBy": {"subject"},
	}), here)
	if sub, err := h.db.Subscription(t.Context(), sub.ID); err != nil || sub.Filters != `[{"exact":{"subject":"4711"}}]` || sub.OrderBy != "subject" || sub.Status != store.SubscriptionApproved {
		t.Errorf("changed to %+v (%v)", sub, err)
	}
	shows(t, b.get(here), http.StatusOK, "The changes are saved.", "subject is “4711”")
	noError(t, h.reg.Subscriptions.Suspend(t.Context(), h.admin, sub.ID, "Too many failures."))
	lacks(t, text(b.get(here)), "Change filters, repeats, order and retries")
	wantRedirect(t, b.get(here+"/selection"), here)
	wantRedirect(t, b.post(here+"/selection", url.Values{"rows": {"1"}}), here)
	shows(t, b.get(here), http.StatusOK, "You cannot change this subscription: it is suspended.", "subject is “4711”")
}

func TestFiltersRefusedBesideTheField(t *testing.T) {
	t.Parallel()
	needs.Unraced(t)
	h := newPortalHarness(t).withCatalogue(t)
	b, _ := h.at(t, "pat@example.nl")
	endpoint := newEndpoint(t, b)
	here := newSubscription(t, b, endpoint)
	tests := []struct {
		field, says string
		pairs       []string
	}{
		{"filter-0-value", "Fill in what", []string{"filter-0-attribute", "subject"}},
		{"filter-1-attribute", "Fill in an attribute", []string{"filter-1-value", "x"}},
		{"filter-1-attribute", "names are lower-case", []string{"filter-1-attribute", "Subject", "filter-1-value", "x"}},
		{"filter-0-attribute", "data cannot be filtered on", []string{"filter-0-attribute", "data", "filter-0-value", "x"}},
		{"filter-0-attribute", "not known", []string{"filter-0-attribute", "subject", "filter-0-comparison", "sql", "filter-0-value", "x"}},
		{"filters", "must be a JSON list", []string{"filters", "subject = 4711"}},
		{"filters", "At /1/any/0/sql: this dialect is not known", []string{"filters", `[{"exact":{"type":"a"}},{"any":[{"sql":"x"}]}]`}},
		{"filters", "take 17", []string{"filters", `[{"exact":{"type":"` + strings.Repeat("a", 17000) + `"}}]`}},
		{"orderBy", "Choose another attribute than data", []string{"orderBy", "data"}},
		{"orderOther", "one attribute", []string{"orderBy", "other", "orderOther", "Student Number"}},
		{"orderOther", "one attribute", []string{"orderBy", "other"}},
	}
	for _, tt := range tests {
		for action, form := range map[string]url.Values{
			"/partner/subscriptions/new": asked(endpoint, append(tt.pairs, "types", "nl.example.student.left")...),
			here + "/selection":          changed(url.Values{"rows": {"2"}}, tt.pairs...),
		} {
			answer := b.post(action, form)
			page := text(answer)
			if answer.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(page, `href="#`+tt.field+`"`) ||
				!strings.Contains(page, `id="`+tt.field+`-error"`) || !strings.Contains(html.UnescapeString(page), tt.says) {
				t.Errorf("%s %v: status %d, or no %q at %s", action, tt.pairs, answer.StatusCode, tt.says, tt.field)
			}
			if !strings.Contains(tt.field, "order") {
				form.Set("do", "preview")
				wantStatus(t, b.post(action, form), http.StatusUnprocessableEntity)
			}
		}
	}
	both := text(b.post("/partner/subscriptions/new", asked(endpoint, "filter-0-attribute", "subject", "purpose", "")))
	wantWords(t, both, `href="#filter-0-value"`, `href="#purpose"`)
	if sub, err := h.db.Subscription(t.Context(), idOf(here)); err != nil || sub.Filters != "" || sub.OrderBy != "" {
		t.Errorf("changed to %+v (%v)", sub, err)
	}
}

func TestButtonsOfTheBuilderLoseNothing(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t).withCatalogue(t)
	b, _ := h.at(t, "pat@example.nl")
	endpoint := newEndpoint(t, b)
	typed := []string{
		"filter-0-attribute", "subject", "filter-0-comparison", "suffix", "filter-0-value", "half", "filters", "[half",
		"orderBy", "partitionkey", "name", "Mine", "q", "left",
	}
	kept := []string{`value="half"`, `value="suffix" selected`, "[half</textarea>", `value="partitionkey" selected`, "Our records.</textarea>", `value="nl.example.student.enrolled" checked`}
	for do, rows := range map[string]string{"search": "filter-2-value", "rows": "filter-4-value"} {
		answer := b.post("/partner/subscriptions/new", asked(endpoint, append(typed, "do", do)...))
		wantStatus(t, answer, http.StatusOK)
		wantWords(t, text(answer), append(kept, `id="`+rows+`"`)...)
	}
	here := newSubscription(t, b, endpoint)
	page := wantPage(t, b.post(here+"/selection", changed(url.Values{"rows": {"19"}, "do": {"rows"}}, typed...)), http.StatusOK, `value="half"`, `id="filter-19-value"`)
	lacks(t, page, `id="filter-20-value"`, "More filters")
}

func TestAnotherPartnersSelection(t *testing.T) { // guarantee G7
	t.Parallel()
	h := newPortalHarness(t).withCatalogue(t)
	b, _ := h.at(t, "pat@example.nl")
	other, _ := h.at(t, "other@example.nl")
	here := newSubscription(t, b, newEndpoint(t, b)) + "/selection"
	form := url.Values{"rows": {"1"}, "filter-0-attribute": {"subject"}, "filter-0-comparison": {"exact"}, "filter-0-value": {"4711"}}
	preview := changed(url.Values{"do": {"preview"}})
	wantStatus(t, other.get(here), http.StatusNotFound)
	wantStatus(t, other.post(here, form), http.StatusNotFound)
	wantStatus(t, other.post(here, preview), http.StatusNotFound)
	visitor := h.browser()
	for _, answer := range []*http.Response{visitor.get(here), visitor.post(here, form)} {
		wantStatus(t, answer, http.StatusSeeOther)
		if to := answer.Header.Get("Location"); !strings.HasPrefix(to, "/login") {
			t.Errorf("a visitor goes to %s", to)
		}
	}
	if sub, err := h.db.Subscription(t.Context(), idOf(strings.TrimSuffix(here, "/selection"))); err != nil || sub.Filters != "" {
		t.Errorf("changed to %+v (%v)", sub, err)
	}
}

// sent stores an event of a sender.
func (w *queueWorld) sent(from, id, subject string) {
	w.t.Helper()
	w.write(func(tx *store.Tx) error {
		_, err := tx.InsertEvents(w.t.Context(), []store.Event{{
			ID: tx.NewID("evt"), PartnerID: from, ClientID: "cli_test", CEID: id, CESource: "urn:x", CEType: queueType, CESubject: subject, AcceptedAt: tx.Now,
			Attributes: []byte(`{"specversion":"1.0","id":"` + id + `","source":"urn:x","type":"` + queueType + `","subject":"` + subject + `"}`),
		}})
		return err
	})
}

// The preview of a subscription tells which events are of another version than the
// one it is to.
//
// Rules: EDU-08, CE-16.
func TestPreviewIsOfTheVersionChosen(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	own := must(w.db.OwnPartner(t.Context()))(t)
	w.withCatalogue(t)
	w.sent(own.ID, "any-version", "4711")
	w.write(func(tx *store.Tx) error {
		_, err := tx.InsertEvents(t.Context(), []store.Event{{
			ID: tx.NewID("evt"), PartnerID: own.ID, ClientID: "cli_test", CEID: "version-two", CESource: "urn:x", CEType: queueType, AcceptedAt: tx.Now,
			ContractVersions: "2.0.0", Attributes: []byte(`{"specversion":"1.0","id":"version-two","source":"urn:x","type":"` + queueType + `"}`),
		}})
		return err
	})
	for chosen, want := range map[string]string{queueType: "1 of 2 recent events pass", queueType + webpartners.LineMark + "any": "2 of 2 recent events pass"} {
		asks := asked("/partner/endpoints/"+w.first.endpoint, "do", "preview", "types", chosen)
		page := shows(t, w.first.browser.post("/partner/subscriptions/new", asks), http.StatusOK, want)
		if other := strings.Contains(page, "No: another version"); other != (chosen == queueType) {
			t.Errorf("%s: another version is told: %t", chosen, other)
		}
	}
	asks := asked("/partner/endpoints/"+w.first.endpoint, "do", "preview", "types", queueType+webpartners.LineMark+"7")
	shows(t, w.first.browser.post("/partner/subscriptions/new", asks), http.StatusUnprocessableEntity, "There is no version 7")
}

// The preview shows events that the partner gets and no other's (guarantees G2, G3, G7).
func TestPreviewOfFilters(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	own := must(w.db.OwnPartner(t.Context()))(t)
	w.sent(own.ID, "ours-1", "4711")
	w.sent(own.ID, "ours-2", "4800<b>")
	w.sent(w.other.id, "theirs-1", "4711")
	w.sent(w.first.id, "mine-1", "4711")
	here := "/partner/subscriptions/" + w.first.subscription + "/selection"
	form := url.Values{"rows": {"1"}, "filter-0-attribute": {"subject"}, "filter-0-comparison": {"prefix"}, "filter-0-value": {"47"}, "do": {"preview"}}
	page := shows(t, w.first.browser.post(here, form), http.StatusOK, "1 of 2 recent events pass", "ours-1", "ours-2", "4800<b>", "2 events listed")
	lacks(t, page, "theirs-1", "mine-1", "<b>")
	if before, after, _ := strings.Cut(page, "ours-2"); strings.Contains(after, "Yes") || !strings.Contains(before, "Yes") {
		t.Error("the wrong event passes, or what passes does not stand first")
	}
	if sub, err := w.db.Subscription(t.Context(), w.first.subscription); err != nil || sub.Filters != "" {
		t.Errorf("a preview changed %+v (%v)", sub, err)
	}
	w.withCatalogue(t)
	asks := asked("/partner/endpoints/"+w.first.endpoint, "do", "preview", "types", "nl.example.student.left")
	shows(t, w.first.browser.post("/partner/subscriptions/new", asks), http.StatusOK, "You do not get these event types yet", "no recent events")
	asks.Del("types")
	shows(t, w.first.browser.post("/partner/subscriptions/new", asks), http.StatusUnprocessableEntity, "Choose at least one event type.")
	asks.Set("types", queueType)
	shows(t, w.first.browser.post("/partner/subscriptions/new", asks), http.StatusOK, "2 of 2 recent events pass")
	w.subscriptionIs(w.first, store.SubscriptionSuspended)
	page = shows(t, w.first.browser.post("/partner/subscriptions/new", asks), http.StatusOK, "You do not get these event types yet")
	lacks(t, page, "ours-1")
}

func TestDeliveryPageSaysBehindWhichItWaits(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	keyed := func() (d store.Delivery) {
		e := w.event(event.DataNone, "")
		w.write(func(tx *store.Tx) error {
			d = store.Delivery{
				ID: tx.NewID("dlv"), EventID: e.ID, SubscriptionID: w.first.subscription, EndpointID: w.first.endpoint, PartnerID: w.first.id,
				EventType: e.CEType, Status: store.DeliveryPending, OrderKey: "4711", IdempotencyKey: uuid.NewString(),
				KeyExpiresAt: store.At(tx.Now.Add(time.Hour)), DueAt: tx.Now,
			}
			return tx.InsertDeliveries(t.Context(), []store.Delivery{d})
		})
		return d
	}
	rejected := w.attempt(keyed(), store.DeliveryHeld, webhook.ReasonRejected, store.Attempt{StatusCode: 400})
	waiting := keyed()
	for base, b := range map[string]*browser{"/admin": w.admin, "/partner": w.first.browser} {
		page := shows(t, b.get(base+"/deliveries/"+waiting.ID), http.StatusOK, "It waits behind an earlier delivery with the same key")
		wantWords(t, page, `href="`+base+"/deliveries/"+rejected.ID+`"`)
		lacks(t, page, "Next attempt:")
		lacks(t, text(b.get(base+"/deliveries/"+rejected.ID)), "It waits behind")
	}
}

// A subscription asks by API to have repeats left out, and takes that back; the event
// then tells its publisher's organisation how many did not get it.
// Rules: EDU-18b, OPEN-07.
func TestLeaveOutRepeatsOverTheAPI(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil).withCatalogue(t)
	school := h.newPartner(t, "School").ID
	consumer, s := h.consumer(t, school), h.approvedSubscription(t, school)
	here := "/events/v1/subscriptions/" + s.ID
	set := func(body string) (now webpartners.SubscriptionAnswer) {
		consumer.do(t, http.MethodPatch, here, body, "Content-Type", "application/merge-patch+json").want(t, http.StatusOK).decode(t, &now)
		return now
	}
	if !set(`{"leaveOutRepeats":true}`).LeaveRepeats {
		t.Error("it was not switched on")
	}
	left := func(c *apiClient, id string) int {
		var shown eventswebevents.EventAnswer
		at := c.publish(t, sampleEvent(id)).want(t, http.StatusAccepted).header.Get("Location")
		c.get(t, at).want(t, http.StatusOK).decode(t, &shown)
		return shown.LeftOut
	}
	first, second := h.publisher(t, ""), h.publisher(t, "")
	if left(first, "1") != 0 || left(second, "1") != 1 || left(second, "2") != 0 {
		t.Error("what another client sent before was not left out, or something else was")
	}
	if set(`{"leaveOutRepeats":false}`).LeaveRepeats || left(first, "2") != 0 {
		t.Error("it was not switched off")
	}
}

func TestSubscriptionFiltersAreRefused(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil).withCatalogue(t)
	partner := h.newPartner(t, "School")
	c, endpoint := h.consumer(t, partner.ID), h.newEndpoint(t, partner.ID)
	sub := h.approvedSubscription(t, partner.ID)
	for _, tt := range []struct{ member, pointer string }{
		{`"filters":{"exact":{}}`, "/filters"},
		{`"filters":"subject"`, "/filters"},
		{`"filters":[{"sql":"type = 'a'"}]`, "/filters/0/sql"},
		{`"filters":[{"exact":{"type":"a"}},{"any":[{"prefix":{"data":"x"}}]}]`, "/filters/1/any/0/prefix"},
		{`"filters":[{"exact":{"subject":""}}]`, "/filters/0/exact/subject"},
		{`"filters":[{"exact":{"type":"a","type":"b"}}]`, "/filters/0/exact"},
		{`"orderBy":"data"`, "/orderBy"},
		{`"orderBy":"Partition-Key"`, "/orderBy"},
		{`"orderBy":5`, "/orderBy"},
	} {
		body := fmt.Sprintf(`{"endpointId":%q,"types":["nl.example.student.left"],"purpose":"our records",%s}`, endpoint.ID, tt.member)
		for _, answer := range []apiAnswer{
			c.postJSON(t, "/events/v1/subscriptions", body), patch(t, c, sub.ID, "{"+tt.member+"}"),
		} {
			p := answer.problem(t, http.StatusBadRequest, registry.CodeInvalid)
			if len(p.Errors) != 1 || p.Errors[0].Pointer != tt.pointer || p.Errors[0].Detail == "" {
				t.Errorf("%s: %+v, want an error at %s", tt.member, p.Errors, tt.pointer)
			}
		}
	}
	for _, body := range []string{`{}`, `{"status":"paused","filters":[]}`, `{"reason":"why","orderBy":null}`} {
		patch(t, c, sub.ID, body).problem(t, http.StatusBadRequest, "invalid")
	}
	if row, err := h.db.Subscription(t.Context(), sub.ID); err != nil || row.Filters != "" || row.OrderBy != "" || row.Status != store.SubscriptionApproved {
		t.Errorf("changed to %+v (%v)", row, err)
	}
}

func patch(t *testing.T, c *apiClient, id, body string) apiAnswer {
	t.Helper()
	return c.do(t, http.MethodPatch, "/events/v1/subscriptions/"+id, body, "Content-Type", "application/merge-patch+json")
}

// selectionAnswer holds the filters and the order in an answer.
type selectionAnswer struct {
	ID      string           `json:"id"`
	Status  string           `json:"status"`
	Filters []map[string]any `json:"filters"`
	OrderBy string           `json:"orderBy"`
}

// Rules: EDU-N08, CE-80, OPEN-11.
func TestSubscriptionFiltersDecideWhatIsDelivered(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil).withCatalogue(t)
	partner := h.newPartner(t, "School")
	c, publisher, endpoint := h.consumer(t, partner.ID), h.publisher(t, ""), h.newEndpoint(t, partner.ID)
	var made, now selectionAnswer
	c.postJSON(t, "/events/v1/subscriptions", fmt.Sprintf(`{"endpointId":%q,"types":["nl.example.student.enrolled"],"purpose":"our records",
		"filters":[{"not":{"prefix":{"id":"no-"}}}],"orderBy":"subject"}`, endpoint.ID)).want(t, http.StatusCreated).decode(t, &made)
	if made.Status != store.SubscriptionRequested || len(made.Filters) != 1 || made.OrderBy != "subject" {
		t.Fatalf("made %+v", made)
	}
	noError(t, h.reg.Subscriptions.Approve(t.Context(), registry.SystemActor(), made.ID))
	h.engine.Changed()
	delivered := func() string {
		return c.get(t, "/events/v1/deliveries?subscriptionId="+made.ID).want(t, http.StatusOK).header.Get("Total-Count")
	}
	publisher.publish(t, sampleEvent("yes-1")).want(t, http.StatusAccepted)
	publisher.publish(t, sampleEvent("no-1")).want(t, http.StatusAccepted)
	if got := delivered(); got != "1" {
		t.Errorf("%s deliveries, want 1", got)
	}
	patch(t, c, made.ID, `{"filters":null}`).want(t, http.StatusOK).decode(t, &now)
	if now.Status != store.SubscriptionApproved || now.Filters == nil || len(now.Filters) != 0 || now.OrderBy != "subject" {
		t.Errorf("without filters %+v", now)
	}
	publisher.publish(t, sampleEvent("no-2")).want(t, http.StatusAccepted)
	if got := delivered(); got != "2" {
		t.Errorf("%s deliveries, want 2", got)
	}
	patch(t, c, made.ID, `{"orderBy":null,"filters":[{"exact":{"id":"<&>"}}]}`).want(t, http.StatusOK)
	now = selectionAnswer{}
	c.get(t, "/events/v1/subscriptions/"+made.ID).want(t, http.StatusOK).decode(t, &now)
	if len(now.Filters) != 1 || now.Filters[0]["exact"].(map[string]any)["id"] != "<&>" || now.OrderBy != "" {
		t.Errorf("with other filters %+v", now)
	}
	publisher.publish(t, sampleEvent("yes-3")).want(t, http.StatusAccepted)
	if got := delivered(); got != "2" {
		t.Errorf("%s deliveries, want 2", got)
	}
}
