package web

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"schakel/store"
	webcontracts "schakel/web/contracts"
)

// An administrator mirrors a list of addresses in the portal, and settles the alarm
// about bytes that changed.
//
// Rules: EDU-06e, EDU-N05, EDU-N06.
func TestMirrorPages(t *testing.T) {
	t.Parallel()
	address, body, client := newMirrorSource(t)
	h := newPortalHarness(t)
	h.mirror.Client = client
	b := h.browser()
	b.login(t, testEmail)
	wantWords(t, text(b.get(webcontracts.MirrorPages)), "No register is mirrored yet", "Mirror a register")
	wantWords(t, text(b.get(webcontracts.MirrorPages+"/new")), "Apicurio Registry 3", "15 4 * * *")
	form := url.Values{"name": {"Noord"}, "kind": {"urls"}, "urls": {"http://noord.example/x"}, "schedule": {"soon"}, "enabled": {"on"}, "secret": {"two words"}}
	answer := b.post(webcontracts.MirrorPages, form)
	wantStatus(t, answer, http.StatusUnprocessableEntity)
	wantWords(t, text(answer), "must begin with https://", "Write it as cron does", "without spaces", "http://noord.example/x")
	form.Set("urls", address)
	form.Set("schedule", "@daily")
	form.Set("secret", "not-to-be-told")
	answer = b.post(webcontracts.MirrorPages, form)
	wantStatus(t, answer, http.StatusSeeOther)
	one := answer.Header.Get("Location")
	page := text(b.get(one))
	wantWords(t, page, "Noord is mirrored on its schedule", "Run it now", "there is one", "start with noord-", "It did not run yet")
	if strings.Contains(page, "not-to-be-told") || strings.Contains(text(b.get(one+"/edit")), "not-to-be-told") {
		t.Error("a page shows the key")
	}
	wantStatus(t, b.post(one+"/runs", nil), http.StatusSeeOther)
	id := strings.TrimPrefix(one, webcontracts.MirrorPages+"/")
	for _, word := range []string{"first", "second"} {
		body.Store(mirrorBody(word))
		_, err := h.reg.Mirrors.Run(t.Context(), id, "schedule")
		noError(t, err)
	}
	h.checkAlarmPages(t, b, one, id)

	form.Set("name", "Noordwest")
	form.Del("enabled")
	form.Set("secret", "")
	wantStatus(t, b.post(one+"/edit", form), http.StatusSeeOther)
	wantWords(t, text(b.get(one)), "Noordwest", "it is switched off")
	form.Set("name", "x")
	wantStatus(t, b.post(one+"/edit", form), http.StatusUnprocessableEntity)
	wantWords(t, text(b.get(webcontracts.MirrorPages)), "Noordwest", "1 with other bytes")
	wantStatus(t, b.get(webcontracts.MirrorPages+"/none"), http.StatusNotFound)
	h.checkMirrorCopies(t, b, id)
	partner, _ := h.at(t, "pat@example.nl")
	for _, path := range []string{webcontracts.MirrorPages, webcontracts.MirrorPages + "/new", one, one + "/edit", one + "/copies"} {
		wantStatus(t, partner.get(path), http.StatusForbidden)
	}
	wantStatus(t, partner.post(one+"/runs", nil), http.StatusForbidden)
	wantStatus(t, partner.post(one+"/removal", nil), http.StatusForbidden)

	wantStatus(t, b.post(one+"/removal", url.Values{"reason": {strings.Repeat("x", 1001)}}), http.StatusUnprocessableEntity)
	answer = b.post(one+"/removal", url.Values{"reason": {"Noord stops."}})
	wantStatus(t, answer, http.StatusSeeOther)
	wantWords(t, text(b.get(webcontracts.MirrorPages)), "Noordwest is not mirrored any more. Its copies stay.", "No register is mirrored yet")
	wantStatus(t, b.get(one), http.StatusNotFound)
	wantWords(t, text(b.get("/contracts/noord-students")), "A copy of https://127.0.0.1", "not mirrored any more")
}

// checkMirrorCopies has more copies than the page of a mirror shows, and publishes one
// that its source deprecated while it waited.
func (h *portalHarness) checkMirrorCopies(t *testing.T, b *browser, id string) {
	t.Helper()
	ctx := t.Context()
	noError(t, h.db.Write(ctx, func(tx *store.Tx) error {
		for i := range 25 {
			contract := store.Contract{ID: fmt.Sprintf("noord-more-%02d", i), Kind: "openapi", Title: "More", Visibility: store.VisibilityInternal}
			copied := store.MirrorContract{ContractID: contract.ID, SourceID: id, OriginID: fmt.Sprintf("more-%02d", i), OriginURL: "https://noord.example"}
			if err := errors.Join(tx.InsertContract(ctx, &contract), tx.InsertMirrorContract(ctx, &copied)); err != nil {
				return err
			}
		}
		return nil
	}))
	one := webcontracts.MirrorPages + "/" + id
	wantWords(t, text(b.get(one)), "26 contracts", "See all 26 copies", one+"/copies")
	wantWords(t, text(b.get(one+"/copies")), "Copies from Noord", "noord-more-24", "26 contracts")
	wantWords(t, text(b.get(one+"/copies?page=2")), "noord-students")

	noError(t, h.db.Write(ctx, func(tx *store.Tx) error {
		draft, err := tx.ContractVersion(ctx, "noord-students", "1.0.0")
		if err != nil {
			return err
		}
		draft.Status = store.VersionDraft
		return errors.Join(tx.SetVersionStatus(ctx, &draft, store.VersionPublished), tx.SetMirrorCopyStatus(ctx, draft.ID, store.VersionDeprecated))
	}))
	publication := "/admin/contracts/noord-students/versions/1.0.0/publication"
	page := text(b.get(publication))
	wantWords(t, page, "this version is deprecated at its source", "it is deprecated at once")
	digest := regexp.MustCompile(`name="digest" value="([^"]+)"`).FindStringSubmatch(page)
	if digest == nil {
		t.Fatal("the form has no digest")
	}
	wantStatus(t, b.post(publication, url.Values{"digest": {digest[1]}}), http.StatusSeeOther)
	wantWords(t, text(b.get("/contracts/noord-students/versions/1.0.0")), "is published, and deprecated as it is at its source")
}

func (h *portalHarness) checkAlarmPages(t *testing.T, b *browser, one, id string) {
	t.Helper()
	ctx := t.Context()
	alarms, _, err := h.db.MirrorAsides(ctx, store.MirrorAsideFilter{SourceID: id})
	noError(t, err)
	runs, _, err := h.db.MirrorRuns(ctx, id, store.Page{})
	noError(t, err)
	if len(alarms) != 1 || len(runs) != 2 {
		t.Fatalf("alarms %+v, runs %+v", alarms, runs)
	}
	alarm := one + "/alarms/" + alarms[0].ID
	wantWords(t, text(b.get(one)), "gives other bytes than it did before", "Not settled", "noord-students", "1 with other bytes")
	wantWords(t, text(b.get(one+"/runs/"+runs[0].ID)), "Other bytes", "our copy stays as it is")
	wantWords(t, text(b.get(alarm)), "Our copy", "The other bytes", alarms[0].Digest, "Settle the alarm")
	download := b.get(alarm + "/content")
	if got := text(download); got != mirrorBody("second") || !strings.HasPrefix(download.Header.Get("Content-Disposition"), "attachment") {
		t.Errorf("kept aside %q, %s", got, download.Header.Get("Content-Disposition"))
	}
	for _, path := range []string{"/contracts/noord-students", "/contracts/noord-students/versions/1.0.0"} {
		wantWords(t, text(b.get(path)), "Copy", "Other bytes at the source", alarm, "127.0.0.1")
	}
	answer := b.post(alarm+"/settlement", url.Values{"reason": {"x"}})
	wantStatus(t, answer, http.StatusUnprocessableEntity)
	wantStatus(t, b.post(alarm+"/settlement", url.Values{"reason": {"They mended a word."}}), http.StatusSeeOther)
	wantWords(t, text(b.get(alarm)), "Settled by Ada Admin", "They mended a word.")
	wantWords(t, text(b.get("/admin/audit")), "settled the alarm about other bytes")
	wantStatus(t, b.get(one+"/alarms/none"), http.StatusNotFound)
}
