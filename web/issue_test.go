package web

import (
	"net/http"
	"strings"
	"testing"

	"schakel/store"
	"schakel/web/site"
)

// fails makes a delivery of a partner fail for a cause, and records the issue.
func (w *queueWorld) fails(p queueParty, cause string) (store.Delivery, store.Issue) {
	w.t.Helper()
	d := w.dead(p)
	_, pool := w.db.Pools()
	if _, err := pool.ExecContext(w.t.Context(), `UPDATE delivery SET cause = ? WHERE id = ?`, cause, d.ID); err != nil {
		w.t.Fatal(err)
	}
	o := store.Outcome{Delivery: store.Delivery{ID: d.ID, PartnerID: p.id, EndpointID: p.endpoint, Cause: cause, Detail: "It failed."}}
	w.write(func(tx *store.Tx) error { return tx.RecordIssues(w.t.Context(), []store.Outcome{o}) })
	found, _, err := w.db.Issues(w.t.Context(), store.IssueFilter{EndpointID: p.endpoint, Cause: cause})
	noError(w.t, err)
	return d, found[0]
}

// The list of issues shows what fails, to a partner its own alone (guarantee G7); a person acknowledges and resolves.
func TestIssuePages(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	_, mine := w.fails(w.first, "http-503")
	_, theirs := w.fails(w.other, "dns")
	if page := shows(t, w.admin.get("/admin/issues"), http.StatusOK); !strings.Contains(page, "Answered 503") || !strings.Contains(page, "The host name was not found") || rows(page) != 2 {
		t.Errorf("%d rows", rows(page))
	}
	page := shows(t, w.first.browser.get("/partner/issues"), http.StatusOK)
	if rows(page) != 1 || !strings.Contains(page, "Answered 503") || strings.Contains(page, "The host name was not found") {
		t.Errorf("a partner sees %d rows", rows(page))
	}
	for _, step := range []string{"/acknowledge", "/resolve"} {
		shows(t, w.first.browser.post("/partner/issues/"+theirs.ID+step, nil), http.StatusNotFound)
	}
	status := func() string { return must(w.db.Issue(t.Context(), mine.ID))(t).Status }
	for _, tt := range []struct {
		b          *browser
		path, want string
		code       int
	}{
		{w.first.browser, "/partner/issues/" + mine.ID + "/acknowledge", store.IssueAcknowledged, http.StatusSeeOther},
		{w.admin, "/admin/issues/" + mine.ID + "/acknowledge", store.IssueAcknowledged, http.StatusConflict},
		{w.admin, "/admin/issues/" + mine.ID + "/resolve", store.IssueResolved, http.StatusSeeOther},
	} {
		if answer := tt.b.post(tt.path, nil); answer.StatusCode != tt.code || status() != tt.want {
			t.Errorf("%s: %d and %s, want %d and %s", tt.path, answer.StatusCode, status(), tt.code, tt.want)
		}
	}
	if page := shows(t, w.admin.get("/admin/issues?state=resolved"), http.StatusOK); rows(page) != 1 || !strings.Contains(page, "Resolved by ") {
		t.Error("the resolved one is not listed alone")
	}
	log, n, err := w.db.Audits(t.Context(), store.AuditFilter{Action: "issue.resolved"})
	if err != nil || n != 1 || !strings.Contains(site.AuditSentence(t.Context(), log[0]), "Answered 503") {
		t.Errorf("%v, %v", log, err)
	}
}

// The link of an issue lists the dead letters of its endpoint and cause, and no others.
func TestDeadLettersOfAnIssue(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	want, issue := w.fails(w.first, "http-503")
	w.fails(w.first, "dns")
	w.fails(w.other, "http-503")
	query := "endpoint=" + issue.EndpointID + "&cause=http-503"
	for _, page := range []string{
		shows(t, w.admin.get("/admin/dead-letters?"+query), http.StatusOK),
		shows(t, w.first.browser.get("/partner/deliveries?status=dead&"+query), http.StatusOK),
	} {
		if rows(page) != 1 || !strings.Contains(page, want.ID) {
			t.Errorf("%d rows, want delivery %s alone", rows(page), want.ID)
		}
	}
}
