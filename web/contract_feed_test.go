package web

import (
	"encoding/xml"
	"net/http"
	"strings"
	"testing"

	"schakel/registry"
	"schakel/registry/contracts"
	"schakel/registry/identity"
	"schakel/store"
	webcontracts "schakel/web/contracts"
)

// Rules: EDU-N06.
func TestFeeds(t *testing.T) {
	t.Parallel()
	o := newAdminHarness(t)
	target := "/contracts/student-events/feed.atom"
	o.setVisibility(t, "student-events", store.VisibilityPartners)
	wantStatus(t, o.browser().get(target), http.StatusUnauthorized)
	wantStatus(t, o.admin.get(target), http.StatusOK)
	o.setVisibility(t, "student-events", store.VisibilityPublic)
	_, err := o.reg.Contracts.Update(t.Context(), registry.SystemActor(), "student-events", contracts.ContractInput{Title: "Students & <events>"})
	noError(t, err)
	o.secondVersion(t, "2.0.0") // a draft is not told
	for path, entries := range map[string]int{target: 1, "/contracts/feed.atom": 1} {
		answer := o.browser().get(path)
		wantStatus(t, answer, http.StatusOK)
		if media := answer.Header.Get("Content-Type"); !strings.HasPrefix(media, "application/atom+xml") {
			t.Errorf("%s is %s", path, media)
		}
		var feed webcontracts.AtomFeed
		noError(t, xml.Unmarshal([]byte(text(answer)), &feed))
		if len(feed.Entries) != entries || feed.ID == "" || feed.Updated != feed.Entries[0].Updated || feed.Author == "" ||
			feed.Entries[0].Title != "Students & <events> 1.0.0" || !strings.HasPrefix(feed.Entries[0].ID, "http") {
			t.Errorf("%s: %+v", path, feed)
		}
	}
	wantText(t, text(o.browser().get("/contracts/student-events")), `type="application/atom+xml"`, target)
	wantText(t, text(o.browser().get("/contracts")), `href="/contracts/feed.atom"`)
	_, err = publishDraft(t.Context(), o.reg, registry.SystemActor(), "student-events", "2.0.0", "")
	noError(t, err)
	_, err = o.reg.Contracts.Withdraw(t.Context(), registry.SystemActor(), "student-events", "1.0.0", "It was wrong.")
	noError(t, err)
	feed := text(o.browser().get(target))
	if !strings.Contains(feed, "Version 1.0.0 is withdrawn. It was wrong.") || !strings.Contains(feed, `term="withdrawn"`) || !strings.Contains(feed, "2.0.0") {
		t.Errorf("the withdrawal is not told: %s", feed)
	}
	if all := text(o.browser().get("/contracts/feed.atom")); !strings.Contains(all, "Version 1.0.0 is withdrawn.") {
		t.Errorf("the feed of the register does not tell the withdrawal: %s", all)
	}
}

// A feed reader cannot log in: it sends a read-only key as its password, and gets
// what its partner may see. Who sends none is asked for one, also for what is not
// there.
//
// Rules: EDU-06e, EDU-N06.
func TestFeedsWithReadKey(t *testing.T) {
	t.Parallel()
	o := newAdminHarness(t)
	target := "/contracts/student-events/feed.atom"
	o.setVisibility(t, "student-events", store.VisibilityPartners)
	o.secondVersion(t, "2.0.0") // a draft is not told
	key, plain, err := o.reg.ReadKeys.Create(t.Context(), registry.SystemActor(), o.partner.ID, identity.NewReadKey{Name: "Feed reader"})
	noError(t, err)
	ask := func(path, password string) *http.Response {
		t.Helper()
		b := o.browser()
		if password != "" {
			b.header.Set("Authorization", basicAuth("anyone", password))
		}
		return b.get(path)
	}
	for _, path := range []string{target, "/contracts/feed.atom?all", "/contracts/feed.atom"} {
		answer := ask(path, plain)
		wantStatus(t, answer, http.StatusOK)
		var feed webcontracts.AtomFeed
		noError(t, xml.Unmarshal([]byte(text(answer)), &feed))
		if len(feed.Entries) != 1 || answer.Header.Get("Cache-Control") != "private, no-cache" {
			t.Errorf("%s: %+v, %v", path, feed.Entries, answer.Header)
		}
	}
	for path, password := range map[string]string{
		target: "", "/contracts/not-there/feed.atom": "", "/contracts/feed.atom?all": "", "/contracts/feed.atom": plain + "x", target + "?x": "guess",
	} {
		answer := ask(path, password)
		wantStatus(t, answer, http.StatusUnauthorized)
		if !strings.HasPrefix(answer.Header.Get("WWW-Authenticate"), "Basic ") {
			t.Errorf("%s: %v", path, answer.Header)
		}
	}
	wantStatus(t, ask("/contracts/not-there/feed.atom", plain), http.StatusNotFound)
	o.setVisibility(t, "student-events", store.VisibilityInternal)
	wantStatus(t, ask(target, plain), http.StatusNotFound)
	noError(t, o.reg.ReadKeys.Revoke(t.Context(), registry.SystemActor(), key.ID, "it leaked"))
	wantStatus(t, ask("/contracts/feed.atom", plain), http.StatusUnauthorized)
}
