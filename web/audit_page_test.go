package web

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"schakel/registry"
	"schakel/store"
	"schakel/web/site"
)

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
		"Ada resent a delivery of x.":                              {Action: "delivery.resent", ActorName: "Ada", ObjectName: "x", Detail: `{"reason":""}`},
		"Ada discarded a delivery of x: “Old.”":                    {Action: "delivery.discarded", ActorName: "Ada", ObjectName: "x", Detail: `{"reason":"Old."}`},
		"Ada started a job to offer more than 1,204 events again.": {Action: "deliveries.replay", ActorName: "Ada", Detail: `{"count":1204,"more":true}`},
		"Ada stopped a job to replay after 3 of 1,204.":            {Action: "deliveries.cancel", ActorName: "Ada", Detail: `{"what":"replay","count":3,"total":1204}`},
		"Ada started a job to resend 1,204 deliveries.":            {Action: "deliveries.resend", ActorName: "Ada", Detail: `{"count":1204}`},
		"Someone started a job to discard 0 deliveries.":           {Action: "deliveries.discard", Detail: `broken`},
		"Ada sent a test event to endpoint Hook.":                  {Action: "endpoint.tested", ActorName: "Ada", ObjectName: "Hook", Detail: `{}`},
		"Ada approved the registration of ROC.":                    {Action: registry.ActionPartnerApproved, ActorName: "Ada", ObjectName: "ROC", Detail: `{}`},
	} {
		if got := site.AuditSentence(entry); got != want {
			t.Errorf("told as %q, want %q", got, want)
		}
	}
	if got := site.ActionLabel("client.secret-rotated"); got != "Client: secret rotated" {
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
		"all":       {"", 1},
		"partner":   {"partner=" + w.first.id, 1},
		"another":   {"partner=" + w.other.id, 0},
		"action":    {"action=delivery.resent", 1},
		"other one": {"action=partner.approved", 0},
		"actor":     {"actor=" + w.portalHarness.admin.ID, 1},
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
	if !strings.Contains(page, `href="/admin/deliveries/`+d.ID+`"`) {
		t.Error("the entry does not link to the delivery")
	}
}
