package web

import (
	"net/http"
	"strings"
	"testing"

	"schakel/registry/identity"
	"schakel/store"
	"schakel/web/site"
)

type issueSeen struct {
	IssueID, PartnerID, Cause, Title, Detail, Status, Advice, AcknowledgedBy, ResolvedBy string
	Failures                                                                             int
	History                                                                              []struct{ Action, By string }
}

// A client lists and decides about the issues of its partner alone (guarantee G7); one of the own organisation that may write the
// register does so about everybody's.
func TestIssuesAPI(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil)
	mine, theirs := h.newPartner(t, "North"), h.newPartner(t, "South")
	consumer, decider := h.consumer(t, mine.ID), h.writer(t)
	bystander := h.newClient(t, "", identity.NewClient{Scopes: []string{site.ScopeEventsConsume}})
	fail := func(partner store.Partner, causes ...string) (ids []string) {
		e := store.Endpoint{PartnerID: partner.ID, Name: "At " + partner.Name, Kind: store.EndpointPull, Status: store.EndpointActive}
		noError(t, h.db.Write(t.Context(), func(tx *store.Tx) error {
			if err := tx.InsertEndpoint(t.Context(), &e); err != nil {
				return err
			}
			for _, cause := range causes {
				d := store.Delivery{ID: "dlv_1", PartnerID: partner.ID, EndpointID: e.ID, Cause: cause, Detail: "It failed."}
				if err := tx.RecordIssues(t.Context(), []store.Outcome{{Delivery: d}}); err != nil {
					return err
				}
			}
			return nil
		}))
		rows, _, err := h.db.Issues(t.Context(), store.IssueFilter{EndpointID: e.ID})
		noError(t, err)
		for _, i := range rows {
			ids = append(ids, i.ID)
		}
		return ids
	}
	own := fail(mine, "http-503", "rejected")
	other := fail(theirs, "dns")[0]
	listed := func(c *apiClient, query string) []issueSeen {
		t.Helper()
		return decoded[struct{ Issues []issueSeen }](t, c.get(t, "/events/v1/issues"+query).want(t, http.StatusOK)).Issues
	}
	for _, tt := range []struct {
		who   *apiClient
		query string
		want  int
	}{
		{consumer, "", 2},
		{decider, "", 3},
		{bystander, "", 0},
		{consumer, "?partnerId=" + theirs.ID, 0},
		{decider, "?partnerId=" + theirs.ID, 1},
		{consumer, "?cause=rejected", 1},
		{consumer, "?status=open&status=reopened", 2},
		{consumer, "?status=resolved", 0},
		{consumer, "?endpointId=ept_none", 0},
		{consumer, "?perPage=1", 1},
		{consumer, "?perPage=1&page=3", 0},
		{consumer, "?from=2000-01-01T00:00:00Z", 2},
		{consumer, "?until=2000-01-01T00:00:00Z", 0},
	} {
		if got := listed(tt.who, tt.query); len(got) != tt.want {
			t.Errorf("%s: %d issues, want %d", tt.query, len(got), tt.want)
		}
	}
	if total := consumer.get(t, "/events/v1/issues?perPage=1").header.Get("Total-Count"); total != "2" {
		t.Errorf("Total-Count %s", total)
	}
	for query, pointer := range map[string]string{"?status=dead": "status", "?from=yesterday": "from"} {
		answer := consumer.get(t, "/events/v1/issues"+query)
		answer.problem(t, http.StatusBadRequest, "invalid")
		if !strings.Contains(string(answer.body), pointer) {
			t.Errorf("%s: %s", query, answer.body)
		}
	}

	at := func(id, verb string) string { return "/events/v1/issues/" + id + verb }
	for _, verb := range []string{"/acknowledge", "/resolve", "/reopen"} {
		consumer.do(t, http.MethodPost, at(other, verb), "").problem(t, http.StatusNotFound, "not-found")
	}
	consumer.get(t, at(other, "")).problem(t, http.StatusNotFound, "not-found")
	got := decoded[issueSeen](t, consumer.get(t, at(own[0], "")).want(t, http.StatusOK))
	if got.Status != "open" || got.Title == "" || got.Advice == "" || got.Failures != 1 || len(got.History) != 1 || got.History[0].Action != "opened" {
		t.Errorf("%+v", got)
	}
	for _, step := range []struct {
		who    *apiClient
		verb   string
		status int
		state  string
	}{
		{consumer, "/reopen", http.StatusConflict, "open"},
		{consumer, "/acknowledge", http.StatusOK, "acknowledged"},
		{decider, "/acknowledge", http.StatusConflict, "acknowledged"},
		{decider, "/resolve", http.StatusOK, "resolved"},
		{consumer, "/resolve", http.StatusConflict, "resolved"},
		{consumer, "/reopen", http.StatusOK, "reopened"},
	} {
		answer := step.who.do(t, http.MethodPost, at(own[0], step.verb), "").want(t, step.status)
		if step.status == http.StatusConflict && !strings.Contains(strings.ToLower(string(answer.body)), step.state) {
			t.Errorf("%s: the problem does not name the state: %s", step.verb, answer.body)
		}
		if now := must(h.db.Issue(t.Context(), own[0]))(t); now.Status != step.state {
			t.Errorf("%s: the issue is %s, want %s", step.verb, now.Status, step.state)
		}
	}
	_, audited, err := h.db.Audits(t.Context(), store.AuditFilter{ObjectKind: "issue", ObjectID: own[0]})
	if err != nil || audited != 3 {
		t.Errorf("%d steps are audited, %v", audited, err)
	}
	if got := decoded[issueSeen](t, consumer.get(t, at(own[0], "")).want(t, http.StatusOK)); len(got.History) != 4 || got.History[0].By == "" {
		t.Errorf("%+v", got)
	}
}
