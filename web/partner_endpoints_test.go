package web

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"schakel/delivery/event"
	"schakel/delivery/outbound"
	"schakel/registry"
	"schakel/registry/contracts"
	"schakel/registry/partners"
	"schakel/store"
	"schakel/templates/i18n"
)

// Rules: EDU-07a.
func TestEndpointStory(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t)
	b, pat := h.at(t, "pat@example.nl")
	wantWords(t, text(b.get("/partner/endpoints")), "There are no endpoints yet", `href="/partner/endpoints/new"`)
	wantWords(t, text(b.get("/partner/endpoints/new")), "/oauth/jwks", "client_secret_basic")
	here := newEndpoint(t, b)
	page := text(b.get(here))
	wantWords(t, page, "Endpoint Records is added", "https://roc.example.nl/events", "stored, never shown", here+"/test", here+"/edit")
	for _, p := range []string{page, text(b.get(here + "/edit")), text(b.get("/partner/endpoints"))} {
		if strings.Contains(p, "hush-hush") {
			t.Fatal("the secret is on a page")
		}
	}
	before := must(h.db.Endpoint(t.Context(), idOf(here)))(t)
	lacks(t, before.TokenSecret, "hush")

	wantRedirect(t, b.post(here, endpointForm("name", "Records 2", "tokenSecret", "")), here)
	after := must(h.db.Endpoint(t.Context(), idOf(here)))(t)
	if after.TokenSecret != before.TokenSecret || after.Name != "Records 2" {
		t.Errorf("an empty secret did not keep the old one, or the name did not change: %q", after.Name)
	}
	wantPage(t, b.post(here, endpointForm("tokenSecret", "", "tokenUrl", "https://evil.example/token")), http.StatusUnprocessableEntity, `href="#tokenSecret"`, "https://evil.example/token")

	wantPage(t, b.post(here+"/pause", url.Values{"reason": {""}}), http.StatusUnprocessableEntity, `href="#pause-reason"`)
	wantRedirect(t, b.post(here+"/pause", url.Values{"reason": {"Maintenance."}}), here)
	wantWords(t, text(b.get(here)), "Maintenance.", here+"/resume")
	wantRedirect(t, b.post(here+"/test", nil), here)
	wantWords(t, text(b.get(here)), "The endpoint is paused, so nothing is sent")
	wantRedirect(t, b.post(here+"/pause", url.Values{"reason": {"Again."}}), here)
	wantWords(t, text(b.get(here)), "You cannot pause this endpoint")
	wantRedirect(t, b.post(here+"/resume", nil), here)

	delivery := must(h.db.Delivery(t.Context(), idOf(redirected(t, b.post(here+"/test", nil)))))(t)
	event := must(h.db.Event(t.Context(), delivery.EventID))(t)
	if delivery.PartnerID != pat.PartnerID || event.CESource != "urn:schakel" || !event.Test {
		t.Errorf("test event from %q to partner %q", event.CESource, delivery.PartnerID)
	}

	wantRedirect(t, b.post(here+"/end", url.Values{"reason": {"Replaced."}}), here)
	page = text(b.get(here))
	wantWords(t, page, "Ended", "Replaced.")
	lacks(t, page, "Send a test event", here+"/edit")
	wantRedirect(t, b.get(here+"/edit"), here)
}

func TestEndpointRefused(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t)
	b, _ := h.at(t, "pat@example.nl")
	tests := []struct{ field, value string }{
		{"name", ""},
		{"url", "http://roc.example.nl/events"},
		{"contentMode", "pigeon"},
		{"tokenAuthMethod", "none"},
		{"tokenUrl", "ftp://x"},
		{"tokenClientId", ""},
		{"tokenSecret", ""},
		{"ratePerSecond", "fast"},
		{"ratePerSecond", "-1"},
		{"maxConcurrency", "65"},
		{"timeoutSeconds", "61"},
		{"timeoutSeconds", "99999999999999999999"},
	}
	for _, test := range tests {
		answer := b.post("/partner/endpoints", endpointForm(test.field, test.value))
		page := text(answer)
		if answer.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(page, `href="#`+test.field+`"`) {
			t.Errorf("%s=%q: status %d, or no error at the field", test.field, test.value, answer.StatusCode)
		}
		if strings.Contains(page, "hush-hush") {
			t.Errorf("%s=%q: the secret is written back", test.field, test.value)
		}
	}
	for _, field := range []string{"url", "tokenUrl"} {
		page := text(b.post("/partner/endpoints", endpointForm(field, "")))
		wantWords(t, page, `href="#`+field+`"`, "Fill this in.")
		lacks(t, page, "must begin with")
	}
	rows := must(h.db.Endpoints(t.Context(), ""))(t)
	if len(rows) != 0 {
		t.Errorf("%d endpoints were made", len(rows))
	}
}

// Who has no receiver yet finds examples of one, and the test inbox, before the form asks for an address and a token that work.
func TestEndpointFormLeadsToAReceiver(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t)
	b, _ := h.at(t, "pat@example.nl")
	for lang, words := range map[i18n.Lang]string{i18n.English: "No receiver yet?", i18n.Dutch: "Nog geen ontvanger?", i18n.Norwegian: "Ingen mottaker ennå?"} {
		top, _, _ := strings.Cut(text(b.in(t, lang, "/partner/endpoints/new?kind=webhook&types=nl.a")), `name="name"`)
		wantWords(t, top, words, `href="/docs/receivers"`, `href="/partner/endpoints/new?kind=inbox&amp;types=nl.a"`)
	}
	lacks(t, text(b.in(t, i18n.English, "/partner/endpoints/new?kind=pull")), "No receiver yet?")
	here := newEndpoint(t, b)
	lacks(t, text(b.in(t, i18n.English, here+"/edit")), "No receiver yet?")
	wantWords(t, text(b.in(t, i18n.English, here+"/setup")), "Write the receiver")
}

// With a list of hosts, an endpoint and its token endpoint at another host are refused when they are saved, with what to do, in the
// language of the reader.
func TestEndpointAtAnUnlistedHost(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t)
	var list outbound.Host
	if err := list.UnmarshalText([]byte("*.example.nl")); err != nil {
		t.Fatal(err)
	}
	h.guard = outbound.New(outbound.Config{Hosts: []outbound.Host{list}})
	b, _ := h.at(t, "pat@example.nl")
	for _, field := range []string{"url", "tokenUrl"} {
		answer := b.post("/partner/endpoints", endpointForm(field, "https://roc.example.org/events"))
		page := text(answer)
		if answer.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(page, `href="#`+field+`"`) {
			t.Errorf("%s: status %d, or no error at the field", field, answer.StatusCode)
		}
		wantWords(t, page, "This installation sends nothing to roc.example.org. Ask its operator to name the host in --outbound-hosts.")
	}
	for lang, words := range map[string]string{"nl": "stuurt niets naar roc.example.org.", "nb": "sender ingenting til roc.example.org."} {
		b.header.Set("Accept-Language", lang)
		wantWords(t, text(b.post("/partner/endpoints", endpointForm("url", "https://roc.example.org/events"))), words)
	}
	if rows := must(h.db.Endpoints(t.Context(), ""))(t); len(rows) != 0 {
		t.Errorf("%d endpoints were made", len(rows))
	}
	b.header.Del("Accept-Language")
	newEndpoint(t, b)
}

func TestEndpointList(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t)
	b, _ := h.at(t, "pat@example.nl")
	for range 3 {
		newEndpoint(t, b)
	}
	page := text(b.get("/partner/endpoints?perPage=2"))
	wantWords(t, page, "3 endpoints", `href="/partner/endpoints?page=2&amp;perPage=2"`)
	wantWords(t, text(b.get("/partner/endpoints?q=records+roc&status=active")), "3 endpoints")
	wantWords(t, text(b.get("/partner/endpoints?status=paused")), "No endpoint matches")
	wantWords(t, text(b.get("/partner/endpoints?page=900000")), "3 endpoints")
}

func TestOwnDeskIsForAdministrators(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t)
	partner, _ := h.at(t, "pat@example.nl")
	theirs := newEndpoint(t, partner)
	wantStatus(t, partner.get("/admin/own/endpoints"), http.StatusForbidden)
	admin := h.browser().login(t, testEmail)
	wantStatus(t, admin.get("/partner/endpoints"), http.StatusForbidden)
	made := must(h.db.Endpoint(t.Context(), idOf(setUp(t, admin.post("/admin/own/endpoints", endpointForm())))))(t)
	own := must(h.db.OwnPartner(t.Context()))(t)
	if made.PartnerID != own.ID {
		t.Errorf("the endpoint is of %q", made.PartnerID)
	}
	wantStatus(t, admin.get("/admin/own/endpoints/"+idOf(theirs)), http.StatusNotFound)
	wantStatus(t, admin.post("/admin/own/endpoints/"+idOf(theirs)+"/end", url.Values{"reason": {"Not mine."}}), http.StatusNotFound)
	row := must(h.db.Endpoint(t.Context(), idOf(theirs)))(t)
	if row.Status != store.EndpointActive {
		t.Error("a partner's endpoint was changed at the own desk")
	}
}

// Beside the form of an endpoint its contract is chosen among the APIs that the
// partner may see; what was named before stays when it is not among them.
//
// Rules: EDU-11, CE-56.
func TestEndpointContractIsChosen(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t).withCatalogue(t)
	b, _ := h.at(t, "pat@example.nl")
	wantWords(t, text(b.get("/partner/endpoints/new")), `name="contractId"`)
	ctx, admin := t.Context(), registry.SystemActor()
	for id, visibility := range map[string]string{"pat-webhook": "partners", "hidden-webhook": "internal", "draft-webhook": "partners"} {
		must(h.reg.Contracts.Create(ctx, admin, contracts.ContractInput{ID: id, Kind: "openapi", Title: "Webhook of Pat", Visibility: visibility}))(t)
		document := `{"openapi":"3.2.0","info":{"title":"Webhook","version":"1.0.0"},"servers":[{"url":"https://pat.example/v1"}],"paths":{}}`
		must(h.reg.Contracts.Upload(ctx, admin, id, contracts.Upload{Content: []byte(document)}))(t)
		if id != "draft-webhook" {
			must(publishDraft(ctx, h.reg, admin, id, "1.0.0", ""))(t)
		}
	}
	page := text(b.get("/partner/endpoints/new"))
	wantWords(t, page, `<select`, "Webhook of Pat (pat-webhook)", `value="pat-webhook"`)
	lacks(t, page, "hidden-webhook", "draft-webhook")
	wantPage(t, b.post("/partner/endpoints", map[string][]string{"kind": {"webhook"}, "contractId": {"gone-webhook"}}), http.StatusUnprocessableEntity, `value="gone-webhook" selected`, `value="pat-webhook"`)
}

// An endpoint of kind files has no address and nothing to test; it is for datasets alone.
func TestFilesEndpointStory(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t).withCatalogue(t)
	b, _ := h.at(t, "pat@example.nl")
	wantWords(t, text(b.get("/partner/endpoints/new")), `href="/partner/endpoints/new?kind=files"`, "Files: what changed in a dataset")
	form := text(b.get("/partner/endpoints/new?kind=files"))
	if !strings.Contains(form, `name="kind" value="files"`) || strings.Contains(form, `name="url"`) || strings.Contains(form, `name="ratePerSecond"`) {
		t.Error("the form for files asks for an address")
	}
	here := setUp(t, b.post("/partner/endpoints", url.Values{"kind": {"files"}, "name": {"Buildings here"}}))
	page := text(b.get(here))
	wantWords(t, page, "Ask for a subscription to a dataset with it.", "Mutation files", `href="/partner/datasets"`, "mutations.read")
	lacks(t, page, here+"/test", "Webhook address", "Deliveries to this endpoint", "Token endpoint")
	wantRedirect(t, b.post(here+"/test", nil), here)
	wantWords(t, text(b.get(here)), "there is nothing to test")
	if home := text(b.get("/partner")); strings.Contains(home, "Send a test event") || !strings.Contains(home, "Choose a dataset") {
		t.Error("the overview wants a test event of who fetches files")
	}
	lacks(t, text(b.get("/partner/subscriptions/new")), "Buildings here")
	administrator := h.browser().login(t, testEmail)
	admin := text(administrator.get("/admin/endpoints/" + idOf(here)))
	if !strings.Contains(admin, "Buildings here") || strings.Contains(admin, "Send a test event") || strings.Contains(admin, "Token from") {
		t.Error("the administrator sees an endpoint that is sent to")
	}
}

func TestPullEndpointStory(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t).withCatalogue(t)
	b, pat := h.at(t, "pat@example.nl")
	wantWords(t, text(b.get("/partner/endpoints/new")), `href="/partner/endpoints/new?kind=pull"`, `name="url"`)
	form := text(b.get("/partner/endpoints/new?kind=pull"))
	wantWords(t, form, `name="kind" value="pull"`, `href="/partner/endpoints/new?kind=webhook"`)
	lacks(t, form, `name="url"`, `name="tokenUrl"`)
	wantPage(t, b.post("/partner/endpoints", url.Values{"kind": {"pull"}, "name": {""}}), 422, `href="#name"`, `name="kind" value="pull"`)
	here := setUp(t, b.post("/partner/endpoints", url.Values{"kind": {"pull"}, "name": {"Fetch here"}}))
	page := text(b.get(here))
	wantWords(t, page, "Endpoint Fetch here is added. Ask for a subscription", "SUBSCRIPTION-ID/receive", "Pending deliveries", "acknowledge")
	lacks(t, page, here+"/test", "Webhook address")
	wantRedirect(t, b.post(here+"/test", nil), here)
	wantWords(t, text(b.get(here)), "there is nothing to test")
	form = text(b.get(here + "/edit"))
	lacks(t, form, `name="url"`, "?kind=")
	h.wantWaiting(t, b, here, pat)
}

// wantWaiting subscribes the endpoint, puts two events on it, has one received, and looks at the pages.
func (d *portalHarness) wantWaiting(t *testing.T, b *browser, here string, pat registry.Actor) {
	t.Helper()
	ctx := t.Context()
	sub := must(d.reg.Subscriptions.Request(ctx, pat, partners.SubscriptionRequest{
		EndpointID: idOf(here), Types: []string{"nl.example.student.enrolled"}, Purpose: "To know who is enrolled.",
	}))(t)
	noError(t, d.reg.Subscriptions.Approve(ctx, d.admin, sub.ID))
	var ids []string
	noError(t, d.db.Write(ctx, func(tx *store.Tx) error {
		for _, name := range []string{"one", "two"} {
			e := store.Event{
				ID: tx.NewID("evt"), PartnerID: pat.PartnerID, ClientID: "cli_test", CEID: name, CESource: "urn:test", CEType: "nl.example.student.enrolled",
				Attributes: []byte(`{"specversion":"1.0","id":"` + name + `","source":"urn:test","type":"nl.example.student.enrolled"}`), AcceptedAt: tx.Now,
			}
			if _, err := tx.InsertEvents(ctx, []store.Event{e}); err != nil {
				return err
			}
			ids = append(ids, tx.NewID("dlv"))
			if err := tx.InsertDeliveries(ctx, []store.Delivery{{
				ID: ids[len(ids)-1], EventID: e.ID, SubscriptionID: sub.ID, EndpointID: sub.EndpointID, PartnerID: sub.PartnerID, EventType: e.CEType,
				Status: store.DeliveryPending, IdempotencyKey: "k", KeyExpiresAt: tx.Now, DueAt: tx.Now,
			}}); err != nil {
				return err
			}
		}
		return nil
	}))
	lock := store.NewLockID()
	noError(t, d.db.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.PullClaim(ctx, store.PullClaim{SubscriptionID: sub.ID, LockID: lock, ClientID: "cli_fetcher", Limit: 1, Lease: store.At(tx.Now.Add(60e9)), MaxReceives: 10})
		return err
	}))
	its, admin := "/partner/subscriptions/"+sub.ID, d.browser()
	admin.login(t, testEmail)
	page := text(b.get(its))
	wantWords(t, page, "wait at your endpoint until you fetch them", "Nothing can be fetched until you end the pause", "can be received again", "Received again")
	wantRedirect(t, b.post(its+"/pause", url.Values{"reason": {"maintenance"}}), its)
	page += text(b.get(its)) + text(admin.get("/admin/subscriptions/"+sub.ID)) + text(b.get(here))
	wantRedirect(t, b.post(its+"/resume", nil), its)
	page += text(b.get(its))
	wantWords(t, page, "Events can be fetched again", "Resume fetching")
	lacks(t, page, "Sends to", "Sending", "sent to", "sending", "not sent", "is sent", "Sent again")
	page = text(b.get(here))
	wantWords(t, page, sub.ID+"/receive", "Waiting to be received", "Received, not yet acknowledged", "The oldest waits since")
	wantWords(t, text(b.get("/partner/deliveries/"+ids[0])), "Receive 1: in the hands of the consumer", "Received by cli_fetcher")
	noError(t, d.db.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.PullReject(ctx, sub.ID, []store.PullLock{{DeliveryID: ids[0], LockID: lock}})
		return err
	}))
	wantWords(t, text(b.get("/partner/deliveries/"+ids[0])), "Receive 1: rejected", "In error queue: Rejected by the receiver")
}

// Rules: EDU-11, CE-56.
func TestEndpointWithWindowsAndBatches(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t)
	b, _ := h.at(t, "pat@example.nl")
	here := newEndpoint(t, b)
	wantPage(t, b.post(here, endpointForm("tokenSecret", "", "windows", "mon-fri 07:00-19:00\nnever", "batchEvents", "many")), http.StatusUnprocessableEntity, `href="#windows"`, `href="#batchEvents"`, "mon-fri 07:00-19:00")
	wantPage(t, b.post(here, endpointForm("tokenSecret", "", "batchEvents", "100")), http.StatusUnprocessableEntity, `href="#batchStated"`, "name the contract of your API that takes them")
	wantRedirect(t, b.post(here, endpointForm("tokenSecret", "", "windows", "Mon-Fri 07:00-19:00", "timeZone", "Europe/Amsterdam",
		"batchEvents", "100", "batchWaitSeconds", "2", "batchStated", "on")), here)
	wantWords(t, text(b.get(here)), "Monday to Friday 07:00 to 19:00 (Europe/Amsterdam)", "at most 100 events and 1 MiB, after at most 2 s", "no contract shows it")
	wantWords(t, text(b.get(here+"/edit")), "mon-fri 07:00-19:00", `value="100"`)
	e := must(h.db.Endpoint(t.Context(), idOf(here)))(t)
	if e.BatchEvents != 100 || !e.BatchStated || e.BatchWaitMS != 2000 || !strings.Contains(e.Windows, `"days":["mon","tue","wed","thu","fri"]`) {
		t.Errorf("stored %+v", e)
	}
}

// Rules: EDU-18.
func TestRetryScheduleOverTheAPI(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil).withCatalogue(t)
	partner := h.newPartner(t, "School")
	c, endpoint := h.consumer(t, partner.ID), h.newEndpoint(t, partner.ID)
	type retry struct {
		Waits       []string `json:"waits"`
		MaxAttempts int      `json:"maxAttempts"`
		Deadline    string   `json:"deadline"`
	}
	type answer struct {
		ID        string `json:"id"`
		Retry     *retry `json:"retry"`
		Effective retry  `json:"effectiveRetry"`
	}
	ask := func(own string) apiAnswer {
		return c.postJSON(t, "/events/v1/subscriptions", fmt.Sprintf(`{"endpointId":%q,"types":["nl.example.student.enrolled"],"purpose":"our records","retry":%s}`, endpoint.ID, own))
	}
	for own, pointer := range map[string]string{
		`{"waits":["soon"]}`: "/retry/waits", `{"maxAttempts":1001}`: "/retry/maxAttempts", `{"deadline":"1s"}`: "/retry/deadline", `5`: "/retry", `{"pauses":[]}`: "/retry/pauses",
	} {
		refused := ask(own).problem(t, http.StatusBadRequest, "invalid")
		if len(refused.Errors) != 1 || refused.Errors[0].Pointer != pointer {
			t.Errorf("%s: %+v", own, refused.Errors)
		}
	}
	var made, now answer
	ask(`{"waits":["5s","1m"],"maxAttempts":10,"deadline":"1d"}`).want(t, http.StatusCreated).decode(t, &made)
	if made.Retry == nil || fmt.Sprint(*made.Retry) != "{[5s 1m] 10 24h}" || fmt.Sprint(made.Effective) != fmt.Sprint(*made.Retry) {
		t.Errorf("made %+v", made)
	}
	patch(t, c, made.ID, `{"retry":{"maxAttempts":3}}`).want(t, http.StatusOK).decode(t, &now)
	if now.Retry == nil || now.Retry.MaxAttempts != 3 || now.Effective.Deadline != "168h" || len(now.Effective.Waits) != 8 {
		t.Errorf("changed %+v", now)
	}
	now = answer{}
	patch(t, c, made.ID, `{"retry":null}`).want(t, http.StatusOK).decode(t, &now)
	if now.Retry != nil || now.Effective.MaxAttempts != 50 {
		t.Errorf("taken away %+v", now)
	}
}

func TestDeliveryTellsWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil).withCatalogue(t)
	partner := h.newPartner(t, "School")
	c, publisher, endpoint := h.consumer(t, partner.ID), h.publisher(t, ""), h.newEndpoint(t, partner.ID)
	sub := must(h.reg.Subscriptions.Request(t.Context(), registry.SystemActor(), partners.SubscriptionRequest{
		EndpointID: endpoint.ID, Types: []string{"nl.example.student.enrolled"}, Purpose: "our records", OrderBy: "type",
	}))(t)
	noError(t, h.reg.Subscriptions.Approve(t.Context(), registry.SystemActor(), sub.ID))
	closed := time.Now().UTC().Add(24 * time.Hour).Format("Mon")
	noError(t, h.db.Write(t.Context(), func(tx *store.Tx) error {
		e, err := tx.Endpoint(t.Context(), endpoint.ID)
		if err != nil {
			return err
		}
		e.Windows = `{"timeZone":"UTC","open":[{"days":["` + strings.ToLower(closed) + `"],"from":"12:00","to":"13:00"}]}`
		return tx.UpdateEndpoint(t.Context(), &e)
	}))
	h.engine.Changed()
	publisher.publish(t, sampleEvent("1")).want(t, http.StatusAccepted)
	publisher.publish(t, sampleEvent("2")).want(t, http.StatusAccepted)
	list := decoded[struct{ Deliveries []struct{ DeliveryID string } }](t, c.get(t, "/events/v1/deliveries").want(t, http.StatusOK))
	type wait struct {
		WaitsFor, WaitReason string
		WaitsUntil           time.Time
	}
	var first, second wait
	c.get(t, "/events/v1/deliveries/"+list.Deliveries[1].DeliveryID).want(t, http.StatusOK).decode(t, &first)
	c.get(t, "/events/v1/deliveries/"+list.Deliveries[0].DeliveryID).want(t, http.StatusOK).decode(t, &second)
	if first.WaitReason != "window" || first.WaitsUntil.Hour() != 12 || first.WaitsFor != "" {
		t.Errorf("first waits %+v", first)
	}
	if second.WaitReason != "order" || second.WaitsFor != list.Deliveries[1].DeliveryID {
		t.Errorf("second waits %+v", second)
	}
}

// Rules: EDU-11.
func TestBatchPage(t *testing.T) { // guarantee G7
	t.Parallel()
	w := newQueueWorld(t)
	one, two := w.deliver(w.event(event.DataJSON, `1`), w.first), w.deliver(w.event(event.DataJSON, `2`), w.first)
	b := store.Batch{EndpointID: one.EndpointID, IdempotencyKey: "4b2a1a0e-9c1d-4b57-9c0e-0e8b8a5b7d11", KeyExpiresAt: one.KeyExpiresAt, Members: store.Strings{one.ID, two.ID}, Size: 2048}
	w.write(func(tx *store.Tx) error { return tx.FreezeBatch(t.Context(), &b) })
	w.write(func(tx *store.Tx) error {
		return tx.InsertAttempts(t.Context(), []store.Attempt{
			{DeliveryID: one.ID, Number: 1, StartedAt: tx.Now, StatusCode: 503, URL: "https://roc.example.nl/events", BatchID: b.ID},
			{DeliveryID: two.ID, Number: 1, StartedAt: tx.Now, StatusCode: 503, BatchID: b.ID},
		})
	})
	shows(t, w.admin.get("/admin/deliveries/"+two.ID), http.StatusOK, "one of 2 in one request", "It went with others in a batch")
	page := shows(t, w.first.browser.get("/partner/batches/"+b.ID), http.StatusOK, "Batch of 2 events", "2 KiB", "answered 503", "POST https://roc.example.nl/events", "Deliveries in this batch")
	for _, d := range []store.Delivery{one, two} {
		if !strings.Contains(page, "/partner/deliveries/"+d.ID) {
			t.Errorf("the batch does not lead to %s", d.ID)
		}
	}
	wantStatus(t, w.other.browser.get("/partner/batches/"+b.ID), http.StatusNotFound)
	w.write(func(tx *store.Tx) error {
		return tx.DissolveBatch(t.Context(), b, "", store.BatchRejected, func() string { return "another" })
	})
	shows(t, w.admin.get("/admin/batches/"+b.ID), http.StatusOK, "The receiver rejected this batch for what is in it")
}
