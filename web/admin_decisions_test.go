package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"schakel/registry/identity"
	"schakel/store"
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
			now, err := o.db.Partner(t.Context(), p.ID)
			noError(t, err)
			return now.Status
		})
	}
	wantText(t, o.page(t, base), "They left the chain.", "Ada Admin ended the exchange with Leerlingzorg Zuid")
}

func TestPartnerWithoutConfirmedMailIsNotApproved(t *testing.T) {
	t.Parallel()
	o := newAdminHarness(t)
	p := o.requested(t, "Leerlingzorg Zuid", false)
	base := "/admin/partners/" + p.ID
	page := o.page(t, base)
	wantText(t, page, "It can be approved once", "E-mail confirmed")
	if strings.Contains(page, base+"/approve") {
		t.Error("the page offers to approve it")
	}
	o.decide(t, decision{base + "/approve", "", 409, "is not confirmed yet", "requested"}, func() string {
		now, err := o.db.Partner(t.Context(), p.ID)
		noError(t, err)
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
			now, err := o.db.Subscription(t.Context(), s.ID)
			noError(t, err)
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
			now, err := o.db.Endpoint(t.Context(), e.ID)
			noError(t, err)
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
	owner := o.browser()
	owner.login(t, o.staff.Email)
	page := text(owner.get(here))
	wantText(t, page, "Ada Admin, an administrator, paused this endpoint.", "Reason: Their log is full.")
	if strings.Contains(page, here+"/resume") {
		t.Error("the partner is offered to resume it")
	}
	wantRedirect(t, owner.post(here+"/resume", nil), here)
	wantText(t, text(owner.get(here)), "only an administrator resumes it")
	now, err := o.db.Endpoint(t.Context(), e.ID)
	noError(t, err)
	if now.Status != store.EndpointPaused {
		t.Errorf("it is %s", now.Status)
	}
}

func TestEndpointTestLeadsToItsDelivery(t *testing.T) {
	t.Parallel()
	o := newAdminHarness(t)
	e := o.endpoint(t, o.partner.ID)
	answer := o.admin.post("/admin/endpoints/"+e.ID+"/test", url.Values{})
	wantStatus(t, answer, http.StatusSeeOther)
	to := answer.Header.Get("Location")
	if !strings.HasPrefix(to, "/admin/deliveries/dlv_") {
		t.Fatalf("sent to %q", to)
	}
	d, err := o.db.Delivery(t.Context(), strings.TrimPrefix(to, "/admin/deliveries/"))
	noError(t, err)
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
		now, err := o.db.Client(t.Context(), c.ID)
		noError(t, err)
		return now.Status + " " + strings.Join(now.Scopes, ",")
	}
	o.decide(t, decision{base + "/reject", "", 422, "Say why", "active "}, scopes)
	stale := o.admin.post(base+"/approve", url.Values{"seen": {"something else"}})
	wantStatus(t, stale, http.StatusConflict)
	wantText(t, text(stale), "The request has changed")
	wantRedirect(t, o.admin.post(base+"/approve", url.Values{"seen": {identity.ClientRequestSeen(c)}}), base)
	if got := scopes(); got != "active events.publish" {
		t.Errorf("after the approval it is %q", got)
	}
	o.decide(t, decision{base + "/approve", "", 409, "asks for nothing", "active events.publish"}, scopes)
	o.decide(t, decision{base + "/revoke", "", 422, "Say why", "active events.publish"}, scopes)
	o.decide(t, decision{base + "/revoke", "Its key leaked.", 303, "", "revoked events.publish"}, scopes)
}
