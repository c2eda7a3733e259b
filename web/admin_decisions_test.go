package web

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"schakel/delivery/event"
	"schakel/registry"
	"schakel/registry/identity"
	"schakel/store"
	"schakel/web/site"
)

// decision is one step taken about something.
type decision struct {
	path   string
	reason string
	want   int    // status of the answer
	says   string // on the page that is answered
	state  string // afterwards
}

func (o *adminHarness) decide(t *testing.T, d decision, state func() string) {
	t.Helper()
	answer := o.admin.post(d.path, url.Values{"reason": {d.reason}})
	if answer.StatusCode != d.want {
		t.Errorf("%s answers %d, want %d", d.path, answer.StatusCode, d.want)
	}
	if page := text(answer); d.says != "" && !strings.Contains(page, d.says) {
		t.Errorf("%s does not say %q", d.path, d.says)
	}
	if got := state(); got != d.state {
		t.Errorf("after %s it is %s, want %s", d.path, got, d.state)
	}
}

func TestPartnerDecisions(t *testing.T) {
	t.Parallel()
	o := newAdminHarness(t)
	p := o.requested(t, "Leerlingzorg Zuid", true)
	base := "/admin/partners/" + p.ID
	wantWords(t, o.page(t, base), "Wants to receive by", "Mutation files")
	for _, d := range []decision{
		{base + "/reject", "", 422, "Say why", "requested"},
		{base + "/suspend", "A reason", 409, "You cannot suspend", "requested"},
		{base + "/approve", "", 303, "", "approved"},
		{base + "/approve", "", 409, "You cannot approve", "approved"},
		{base + "/suspend", "No", 422, "at least 3", "approved"},
		{base + "/suspend", "Their receiver leaks.", 303, "", "suspended"},
		{base + "/resume", "", 303, "", "approved"},
		{base + "/end", " ", 422, "Say why", "approved"},
		{base + "/end", "They left the chain.", 303, "", "ended"},
		{base + "/resume", "", 409, "You cannot resume", "ended"},
	} {
		o.decide(t, d, func() string {
			now := must(o.db.Partner(t.Context(), p.ID))(t)
			return now.Status
		})
	}
	wantWords(t, o.page(t, base), "They left the chain.", "Ada Admin ended the exchange with Leerlingzorg Zuid")
}

func TestPartnerWithoutConfirmedMailIsNotApproved(t *testing.T) {
	t.Parallel()
	o := newAdminHarness(t)
	p := o.requested(t, "Leerlingzorg Zuid", false)
	base := "/admin/partners/" + p.ID
	page := o.page(t, base)
	wantWords(t, page, "It can be approved once", "E-mail confirmed")
	lacks(t, page, base+"/approve")
	o.decide(t, decision{base + "/approve", "", 409, "is not confirmed yet", "requested"}, func() string {
		now := must(o.db.Partner(t.Context(), p.ID))(t)
		return now.Status
	})
}

func TestSubscriptionDecisions(t *testing.T) {
	t.Parallel()
	o := newAdminHarness(t)
	s := o.subscription(t, o.endpoint(t, o.partner.ID).ID)
	base := "/admin/subscriptions/" + s.ID
	for _, d := range []decision{
		{base + "/reject", "", 422, "Say why", "requested"},
		{base + "/approve", "", 303, "", "approved"},
		{base + "/suspend", "", 422, "Say why", "approved"},
		{base + "/suspend", "Asked by the data owner.", 303, "", "suspended"},
		{base + "/approve", "", 409, "You cannot approve", "suspended"},
		{base + "/resume", "", 303, "", "approved"},
		{base + "/end", "", 422, "Say why", "approved"},
		{base + "/end", "The purpose is gone.", 303, "", "ended"},
	} {
		o.decide(t, d, func() string {
			now := must(o.db.Subscription(t.Context(), s.ID))(t)
			return now.Status
		})
	}
}

func TestEndpointDecisions(t *testing.T) {
	t.Parallel()
	o := newAdminHarness(t)
	e := o.endpoint(t, o.partner.ID)
	base := "/admin/endpoints/" + e.ID
	for _, d := range []decision{
		{base + "/pause", "", 422, "Say why", "active"},
		{base + "/pause", "Their log is full.", 303, "", "paused"},
		{base + "/pause", "Their log is full.", 409, "You cannot pause", "paused"},
		{base + "/suspend", "", 422, "Say why", "paused"},
		{base + "/suspend", "It floods their log.", 303, "", "suspended"},
		{base + "/resume", "", 303, "", "active"},
		{base + "/end", "", 422, "Say why", "active"},
		{base + "/end", "Replaced.", 303, "", "ended"},
	} {
		o.decide(t, d, func() string {
			now := must(o.db.Endpoint(t.Context(), e.ID))(t)
			return now.Status
		})
	}
}

// A partner reads who paused its endpoint and why, and cannot resume it.
func TestPartnerReadsWhoPausedItsEndpoint(t *testing.T) {
	t.Parallel()
	o := newAdminHarness(t)
	e := o.endpoint(t, o.partner.ID)
	here := "/partner/endpoints/" + e.ID
	wantStatus(t, o.admin.post("/admin/endpoints/"+e.ID+"/pause", url.Values{"reason": {"Their log is full."}}), http.StatusSeeOther)
	owner := o.browser().login(t, o.staff.Email)
	page := text(owner.get(here))
	wantWords(t, page, "Ada Admin, an administrator, paused this endpoint.", "Reason: Their log is full.")
	lacks(t, page, here+"/resume")
	wantRedirect(t, owner.post(here+"/resume", nil), here)
	wantWords(t, text(owner.get(here)), "only an administrator resumes it")
	now := must(o.db.Endpoint(t.Context(), e.ID))(t)
	if now.Status != store.EndpointPaused {
		t.Errorf("it is %s", now.Status)
	}
}

func TestEndpointTestLeadsToItsDelivery(t *testing.T) {
	t.Parallel()
	o := newAdminHarness(t)
	e := o.endpoint(t, o.partner.ID)
	to := redirected(t, o.admin.post("/admin/endpoints/"+e.ID+"/test", url.Values{}))
	if !strings.HasPrefix(to, "/admin/deliveries/dlv_") {
		t.Fatalf("sent to %q", to)
	}
	d := must(o.db.Delivery(t.Context(), strings.TrimPrefix(to, "/admin/deliveries/")))(t)
	if d.EndpointID != e.ID {
		t.Errorf("the delivery is for %s", d.EndpointID)
	}
}

func TestClientDecisions(t *testing.T) {
	t.Parallel()
	o := newAdminHarness(t)
	c := o.waitingClient(t)
	base := "/admin/clients/" + c.ID
	scopes := func() string {
		now := must(o.db.Client(t.Context(), c.ID))(t)
		return now.Status + " " + strings.Join(now.Scopes, ",")
	}
	o.decide(t, decision{base + "/reject", "", 422, "Say why", "active "}, scopes)
	wantPage(t, o.admin.post(base+"/approve", url.Values{"seen": {"something else"}}), http.StatusConflict, "The request has changed")
	wantRedirect(t, o.admin.post(base+"/approve", url.Values{"seen": {identity.ClientRequestSeen(c)}}), base)
	if got := scopes(); got != "active events.publish" {
		t.Errorf("after the approval it is %q", got)
	}
	o.decide(t, decision{base + "/approve", "", 409, "asks for nothing", "active events.publish"}, scopes)
	o.decide(t, decision{base + "/revoke", "", 422, "Say why", "active events.publish"}, scopes)
	o.decide(t, decision{base + "/revoke", "Its key leaked.", 303, "", "revoked events.publish"}, scopes)
}

// An administrator acts for the own organisation on the pages that partners have.
func TestOwnOrganisation(t *testing.T) {
	t.Parallel()
	o := newAdminHarness(t)
	answer := o.admin.post("/admin/own/clients", url.Values{
		"name": {"Student system"}, "authMethod": {"client_secret_basic"}, "scopes": {identity.ScopeEventsPublish},
		"publishTypes": {"nl.example.student.*"}, "publishSources": {"urn:nld:oin:00000001003214345000:*"},
	})
	if answer.StatusCode >= 400 {
		t.Fatalf("status %d: %s", answer.StatusCode, text(answer))
	}
	clients := must(o.db.Clients(t.Context(), o.own.ID))(t)
	if len(clients) != 1 || !clients[0].Scopes.Contains(identity.ScopeEventsPublish) || clients[0].Waiting() {
		t.Fatalf("own clients: %+v", clients)
	}
	wantWords(t, o.page(t, "/admin/clients"), "Student system", "/admin/own/clients/"+clients[0].ID)
	wantWords(t, o.page(t, "/admin/clients/"+clients[0].ID), "Change it")
	s := o.subscription(t, o.endpoint(t, o.partner.ID).ID)
	wantWords(t, o.page(t, "/admin/subscriptions/"+s.ID), "urn:nld:oin:00000001003214345000:*", "(own organisation)")
}

func TestRoutesBetweenPartners(t *testing.T) {
	t.Parallel()
	o := newAdminHarness(t)
	other := o.harness.partner(t, "bob@zuid.example").PartnerID
	good := url.Values{"from": {o.partner.ID}, "to": {other}, "eventType": {officeType}}
	for field, wrong := range map[string]url.Values{
		"from":      {"from": {""}, "to": good["to"], "eventType": good["eventType"]},
		"to":        {"from": good["from"], "to": {o.own.ID}, "eventType": good["eventType"]},
		"eventType": {"from": good["from"], "to": good["to"], "eventType": {""}},
	} {
		wantPage(t, o.admin.post("/admin/routes", wrong), http.StatusUnprocessableEntity, `href="#`+field+`"`)
	}
	wantRedirect(t, o.admin.post("/admin/routes", good), "/admin/routes")
	wantPage(t, o.admin.post("/admin/routes", good), http.StatusConflict, "This route is there already.")
	routes := must(o.db.Routes(t.Context()))(t)
	if len(routes) != 1 {
		t.Fatalf("%d routes", len(routes))
	}
	wantWords(t, o.page(t, "/admin/routes"), "Ada Admin", routes[0].ID+"/removal")
	wantRedirect(t, o.admin.post("/admin/routes/"+routes[0].ID+"/removal", url.Values{}), "/admin/routes")
	wantWords(t, o.page(t, "/admin/routes"), "No route is open")
}

func TestAdministrators(t *testing.T) {
	t.Parallel()
	o := newAdminHarness(t)
	for field, form := range map[string]url.Values{
		"name":  {"name": {""}, "email": {"eva@example.nl"}, "role": {"administrator"}},
		"email": {"name": {"Eva"}, "email": {"eva"}, "role": {"administrator"}},
	} {
		wantPage(t, o.admin.post("/admin/accounts", form), http.StatusUnprocessableEntity, `href="#`+field+`"`)
	}
	wantStatus(t, o.admin.post("/admin/accounts", url.Values{"name": {"Pat"}, "email": {"PAT@noord.example"}}), http.StatusUnprocessableEntity)
	wantRedirect(t, o.admin.post("/admin/accounts", url.Values{"name": {"Eva"}, "email": {"eva@example.nl"}, "role": {"administrator"}}), "/admin/accounts")
	eva := must(o.db.AccountByEmail(t.Context(), "eva@example.nl"))(t)
	if eva.Role != store.RoleAdministrator || eva.Status != store.AccountInvited {
		t.Fatalf("invited as %s, %s", eva.Role, eva.Status)
	}
	page := o.page(t, "/admin/mails")
	wantWords(t, page, "eva@example.nl")
	lacks(t, page, "/account/invitation/")
	wantWords(t, o.page(t, "/admin/audit"), "Ada Admin invited Eva with the role of administrator")
}

func TestBlockingPeople(t *testing.T) {
	t.Parallel()
	o := newAdminHarness(t)
	partner := o.asPartner(t)
	wantStatus(t, partner.get("/partner"), http.StatusOK)
	base := "/admin/accounts/" + o.staff.ID
	wantRedirect(t, o.admin.post(base+"/block", url.Values{}), "/admin/partners/"+o.partner.ID)
	wantStatus(t, partner.get("/partner"), http.StatusSeeOther)
	refused := o.browser().post("/login", url.Values{"email": {o.staff.Email}, "password": {testPassword}})
	if refused.StatusCode == http.StatusSeeOther {
		t.Error("who is blocked can log in")
	}
	wantRedirect(t, o.admin.post(base+"/unblock", url.Values{}), "/admin/partners/"+o.partner.ID)
	o.asPartner(t)
	wantRedirect(t, o.admin.post(base+"/link", url.Values{}), "/admin/partners/"+o.partner.ID)

	me := must(o.db.AccountByEmail(t.Context(), testEmail))(t)
	wantRedirect(t, o.admin.post("/admin/accounts/"+me.ID+"/block", url.Values{}), "/admin/accounts")
	wantWords(t, o.page(t, "/admin/accounts"), "You cannot block your own account.")
}

// An administrator corrects a registration on a page of its own; what is wrong stands beside its field, and the partner reads what changed.
func TestPartnerIsCorrected(t *testing.T) {
	t.Parallel()
	o := newAdminHarness(t)
	p := o.requested(t, "Leerlingzorg Zuid", true)
	base := "/admin/partners/" + p.ID
	wantWords(t, o.page(t, base), "Correct the registration", base+"/registration")
	wantWords(t, o.page(t, base+"/registration"), p.OIN, p.ContactEmail, "Save the registration")
	form := url.Values{"name": {"Leerlingzorg Zuidoost"}, "oin": {"12"}, "contactName": {p.ContactName}, "email": {p.ContactEmail}}
	wantPage(t, o.admin.post(base+"/registration", form), http.StatusUnprocessableEntity, "An OIN has exactly 20 digits.", "Leerlingzorg Zuidoost")
	form.Set("oin", p.OIN)
	wantRedirect(t, o.admin.post(base+"/registration", form), base)
	wantWords(t, o.page(t, base), "corrected the registration of Leerlingzorg Zuidoost: name Leerlingzorg Zuidoost (was Leerlingzorg Zuid)")
	noError(t, o.reg.Partners.Reject(t.Context(), registry.SystemActor(), p.ID, "not known"))
	lacks(t, o.page(t, base), base+"/registration")
	wantRedirect(t, o.admin.get(base+"/registration"), base)
}

func TestEveryActionCanBeFilteredBy(t *testing.T) {
	t.Parallel()
	actions := site.AuditActions()
	for name, action := range constants(t, "../registry/audit.go", "Action") {
		if !slices.Contains(actions, action) {
			t.Errorf("%s cannot be filtered by", name)
		}
	}
	if !slices.IsSorted(actions) || len(slices.Compact(slices.Clone(actions))) != len(actions) {
		t.Error("the actions are not sorted, or some are there twice")
	}
}

func TestAuditSentences(t *testing.T) {
	t.Parallel()
	for want, entry := range map[string]store.Audit{
		"Ada resent a delivery of x.":                         {Action: "delivery.resent", ActorName: "Ada", ObjectName: "x", Detail: `{"reason":""}`},
		"Ada discarded a delivery of x: “Old.”":               {Action: "delivery.discarded", ActorName: "Ada", ObjectName: "x", Detail: `{"reason":"Old."}`},
		"Ada started a job to replay more than 1,204 events.": {Action: "deliveries.replay", ActorName: "Ada", Detail: `{"count":1204,"more":true}`},
		"Ada stopped a job to replay after 3 of 1,204.":       {Action: "deliveries.cancel", ActorName: "Ada", Detail: `{"what":"replay","count":3,"total":1204}`},
		"Ada started a job to resend 1,204 deliveries.":       {Action: "deliveries.resend", ActorName: "Ada", Detail: `{"count":1204}`},
		"Someone started a job to discard 0 deliveries.":      {Action: "deliveries.discard", Detail: `broken`},
		"Ada sent a test event to endpoint Hook.":             {Action: "endpoint.tested", ActorName: "Ada", ObjectName: "Hook", Detail: `{}`},
		"Ada approved the registration of ROC.":               {Action: registry.ActionPartnerApproved, ActorName: "Ada", ObjectName: "ROC", Detail: `{}`},
	} {
		if got := site.AuditSentence(t.Context(), entry); got != want {
			t.Errorf("told as %q, want %q", got, want)
		}
	}
	if got := site.ActionLabel(t.Context(), "client.secret-rotated"); got != "Client: secret rotated" {
		t.Errorf("labelled %q", got)
	}
}

func TestAuditPageFilters(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	d := w.dead(w.first)
	wantStatus(t, w.admin.post("/admin/deliveries/"+d.ID+"/resend", url.Values{"back": {""}}), http.StatusSeeOther)
	for name, tt := range map[string]struct {
		query string
		want  int
	}{
		"all":       {"", 6}, // with a login of the administrator, and of each partner a password and a login
		"partner":   {"partner=" + w.first.id, 3},
		"another":   {"partner=" + w.other.id, 2},
		"action":    {"action=delivery.resent", 1},
		"logins":    {"action=account.logged-in", 3},
		"other one": {"action=partner.approved", 0},
		"actor":     {"actor=" + w.portalHarness.admin.ID, 2},
		"nobody":    {"actor=acc_x", 0},
		"object":    {"object=" + d.ID, 1},
		"period":    {"until=2020-01-01", 0},
		"unknown":   {"action=%3Cscript%3E", 0},
	} {
		page := shows(t, w.admin.get("/admin/audit?"+tt.query), http.StatusOK)
		lacks(t, page, "<script>")
		if got := max(0, rows(page)); got != tt.want {
			t.Errorf("%s: %d entries, want %d", name, got, tt.want)
		}
	}
	page := shows(t, w.admin.get("/admin/audit?partner="+w.first.id), http.StatusOK, "Ada Admin resent a delivery of "+queueType+".", "Partner of first@example.nl", "Pat (first@example.nl)")
	wantWords(t, page, `href="/admin/deliveries/`+d.ID+`"`)
}

// What a reader has at hand finds a delivery and an event: the id of either, and the subject.
func TestSearchFindsIDsAndSubjects(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	own := must(w.db.OwnPartner(t.Context()))(t)
	e := store.Event{PartnerID: own.ID, ClientID: "cli_test", CEID: "ce-of-pupil", CESource: "urn:x", CEType: queueType, CESubject: "pupil/42", Data: []byte("{}")}
	e.Attributes = []byte(`{"specversion":"1.0","id":"ce-of-pupil","source":"urn:x","type":"` + queueType + `","subject":"pupil/42"}`)
	w.write(func(tx *store.Tx) error {
		e.ID, e.AcceptedAt = tx.NewID("evt"), tx.Now
		_, err := tx.InsertEvents(t.Context(), []store.Event{e})
		return err
	})
	w.event(event.DataJSON, `{}`)
	d, other := w.deliver(e, w.first), w.dead(w.other)
	for _, tt := range []struct {
		at    *browser
		path  string
		value url.Values
		finds bool
	}{
		{w.admin, "/admin/deliveries", url.Values{"event": {d.ID}}, true},
		{w.admin, "/admin/deliveries", url.Values{"event": {e.ID}}, true},
		{w.admin, "/admin/deliveries", url.Values{"event": {e.CEID}}, true},
		{w.admin, "/admin/deliveries", url.Values{"subject": {"pupil/42"}}, true},
		{w.admin, "/admin/deliveries", url.Values{"subject": {"pupil/4"}}, false},
		{w.admin, "/admin/dead-letters", url.Values{"subject": {"pupil/42"}}, false},
		{w.first.browser, "/partner/deliveries", url.Values{"event": {d.ID}}, true},
		{w.first.browser, "/partner/deliveries", url.Values{"subject": {"pupil/42"}}, true},
		{w.other.browser, "/partner/deliveries", url.Values{"event": {d.ID}}, false},
		{w.other.browser, "/partner/deliveries", url.Values{"subject": {"pupil/42"}}, false},
	} {
		page := text(tt.at.get(tt.path + "?" + tt.value.Encode()))
		if found := strings.Contains(page, "/deliveries/"+d.ID+`"`); found != tt.finds || strings.Contains(page, "/deliveries/"+other.ID+`"`) {
			t.Errorf("%s?%s: found %v, want %v and no other", tt.path, tt.value.Encode(), found, tt.finds)
		}
	}
	for _, value := range []url.Values{{"event": {e.ID}}, {"subject": {"pupil/42"}}, {"event": {e.CEID}}} {
		page := text(w.admin.get("/admin/events?" + value.Encode()))
		if strings.Count(page, "/admin/events/evt_") != 1 || !strings.Contains(page, "/admin/events/"+e.ID) {
			t.Errorf("events?%s does not show the event alone", value.Encode())
		}
	}
}

// The own page tells the login before the present one, also to who came by a one-time link.
func TestLastLogin(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	token := must(h.accounts.SetupLink(t.Context()))(t)
	b := h.browser()
	wantStatus(t, b.post("/setup/"+token, url.Values{"name": {"Ada"}, "email": {testEmail}, "password": {testPassword}, "start": {"strict"}}), http.StatusSeeOther)
	first := h.clock.Now()
	account := must(h.db.AccountByEmail(t.Context(), testEmail))(t)
	if !account.LastLoginAt.Equal(store.At(first).Time) || !account.PreviousLoginAt.IsZero() {
		t.Errorf("after the first link: %v, before it %v", account.LastLoginAt, account.PreviousLoginAt)
	}
	shows(t, b.get("/account"), http.StatusOK, "Login before that never")
	h.clock.Advance(3 * time.Hour)
	again := h.browser().login(t, testEmail)
	page := shows(t, again.get("/account"), http.StatusOK, "Last login", "Login before that")
	wantWords(t, page, first.UTC().Format("2006-01-02T15:04"))
	h.clock.Advance(time.Minute)
	again.get("/account")
	account = must(h.db.AccountByEmail(t.Context(), testEmail))(t)
	if want := store.At(first.Add(3 * time.Hour)); !account.LastLoginAt.Equal(want.Time) {
		t.Errorf("last login %v, want %v: using a session is no login", account.LastLoginAt, want)
	}
}
