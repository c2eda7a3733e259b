package web

import (
	"bytes"
	"mime/multipart"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"schakel/registry/profile"
	"schakel/store"
	"schakel/store/needs"
	"schakel/templates/i18n"
)

// newSettingsHarness makes a portal with an administrator who is logged in.
func newSettingsHarness(t *testing.T) (*portalHarness, *browser) {
	t.Helper()
	d := newPortalHarness(t)
	b := d.browser().login(t, testEmail)
	return d, b
}

// settingsOf is the form with the settings of now; pairs change it.
func (d *portalHarness) settingsOf(t *testing.T, pairs ...string) url.Values {
	t.Helper()
	state := must(d.reg.Profile.Load(t.Context()))(t)
	form := url.Values{"version": {strconv.FormatInt(state.Version, 10)}, "reason": {""}}
	for key, value := range state.Values() {
		form.Set(key, value)
	}
	return changed(form, pairs...)
}

func (d *portalHarness) wantSetting(t *testing.T, key, want string) {
	t.Helper()
	state := must(d.reg.Profile.Load(t.Context()))(t)
	if got := state.Values()[key]; got != want {
		t.Errorf("%s is %s, want %s", key, got, want)
	}
}

// TestSettingsPage: what is relaxed is named first; a change is
// told and stored in the audit trail.
func TestSettingsPage(t *testing.T) {
	t.Parallel()
	d, b := newSettingsHarness(t)
	page := text(b.get("/admin/settings"))
	wantWords(t, page, "3 settings depart from the strict profile", "Settings that depart from the profile or were changed", "Honoured when it is sent", "Revert to: Required: without a key the answer is 400", "Lifetime of a key", "7 days", "Back to strict")
	lacks(t, page, "168h")
	for _, s := range profile.Settings() {
		wantWords(t, page, s.Title.String())
		for _, rule := range s.Rules {
			wantWords(t, page, `href="/docs/rules#`+rule+`"`)
		}
	}
	form := text(b.get("/admin/settings/edit"))
	for _, s := range profile.Settings() {
		wantWords(t, form, `name="`+s.Key+`"`)
	}
	wantWords(t, form, "From 1 day to 28 days. The profile asks for 7 days. Write a time with its unit, such as 30s, 10m or 168h.", `value="168h"`)
	for lang, words := range map[i18n.Lang]string{i18n.Dutch: "7 dagen", i18n.Norwegian: "7 døgn"} {
		page := text(b.in(t, lang, "/admin/settings"))
		wantWords(t, page, words)
		lacks(t, page, "168h")
		wantWords(t, text(b.in(t, lang, "/search?q=idempotency")), words)
	}
	b.in(t, i18n.English, "/admin/settings")
	if n := strings.Count(text(b.get("/admin/settings/edit?group=access")), "<details class=\"schakel-fold\" open"); n != 1 || strings.Contains(form, "<details class=\"schakel-fold\" open") {
		t.Errorf("%d groups are open where one was asked for", n)
	}
	wantRedirect(t, b.post("/admin/settings", d.settingsOf(t, "idempotency.require_key", "off", "idempotency.ttl", "200h", "reason", "old systems")), "/admin/settings")
	page = text(b.get("/admin/settings"))
	wantWords(t, page, "2 settings were changed", "4 settings depart", "65,536 bytes", "No limit", "Not looked at", "Tighter", "“old systems”", "Ada Admin changed “Idempotency-Key on events” from “Required: without a key the answer is 400” to “Not looked at”")
	wantWords(t, text(b.get("/admin/audit")), "Ada Admin changed “Idempotency-Key on events” from “Required: without a key the answer is 400” to “Not looked at”")
	wantRedirect(t, b.post("/admin/settings", d.settingsOf(t)), "/admin/settings")
	wantWords(t, text(b.get("/admin/settings")), "Nothing was changed.")
}

// TestSettingsRefused: each field is checked, with the error beside it and what
// was typed still there.
func TestSettingsRefused(t *testing.T) {
	t.Parallel()
	needs.Unraced(t)
	d, b := newSettingsHarness(t)
	for _, s := range profile.Settings() {
		answer := b.post("/admin/settings", d.settingsOf(t, s.Key, "no-such-value"))
		page := text(answer)
		if answer.StatusCode != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d", s.Key, answer.StatusCode)
		}
		wantWords(t, page, `href="#`+s.Key+`">`+s.Title.String()+": ", s.Key+`-error`)
		if s.Choices == nil {
			wantWords(t, page, `value="no-such-value"`)
		}
	}
	wantStatus(t, b.post("/admin/settings", d.settingsOf(t, "reason", strings.Repeat("r", 1001))), http.StatusUnprocessableEntity)
	wantPage(t, b.post("/admin/settings", d.settingsOf(t, "idempotency.ttl", "48h")), http.StatusUnprocessableEntity, "Retries end when the Idempotency-Key does", "sending.deadline-error")
	state := must(d.reg.Profile.Load(t.Context()))(t)
	if state.Version != 0 {
		t.Errorf("version %d", state.Version)
	}
}

// TestSettingsChangedMeanwhile: the second of two changes is not lost, and does
// not undo the first unseen.
func TestSettingsChangedMeanwhile(t *testing.T) {
	t.Parallel()
	d, b := newSettingsHarness(t)
	mine := d.settingsOf(t, "events.batch", "off")
	wantRedirect(t, b.post("/admin/settings", d.settingsOf(t, "sending.max_attempts", "7")), "/admin/settings")
	answer := b.post("/admin/settings", mine)
	page := text(answer)
	if answer.StatusCode != http.StatusConflict {
		t.Fatalf("%d", answer.StatusCode)
	}
	wantWords(t, page, "Someone else changed the settings meanwhile", "What would change now", "7 attempts", "50 attempts", `name="version" value="1"`)
	d.wantSetting(t, "events.batch", "on")
	wantRedirect(t, b.post("/admin/settings", d.settingsOf(t, "events.batch", "off")), "/admin/settings")
	d.wantSetting(t, "sending.max_attempts", "7")
}

// TestSettingsRevert: one button takes a setting back to what the profile asks, or to what the installation started with; it is audited in the
// language of the reader.
func TestSettingsRevert(t *testing.T) {
	t.Parallel()
	d, b := newSettingsHarness(t)
	wantRedirect(t, b.post("/admin/settings", d.settingsOf(t, "sending.max_attempts", "7")), "/admin/settings")
	wantWords(t, text(b.get("/admin/settings")), "Revert to: 50 attempts")
	wantRedirect(t, b.post("/admin/settings/revert", url.Values{"key": {"sending.max_attempts"}, "version": {"0"}}), "/admin/settings")
	wantWords(t, text(b.get("/admin/settings")), "Someone else changed the settings meanwhile")
	d.wantSetting(t, "sending.max_attempts", "7")
	wantRedirect(t, b.post("/admin/settings/revert", url.Values{"key": {"sending.max_attempts"}, "version": {"1"}}), "/admin/settings")
	wantWords(t, text(b.get("/admin/settings")), "Most attempts is again: 50 attempts")
	d.wantSetting(t, "sending.max_attempts", "50")
	wantRedirect(t, b.post("/admin/settings/revert", url.Values{"key": {"tokens.client_auth"}, "version": {"2"}}), "/admin/settings")
	d.wantSetting(t, "tokens.client_auth", profile.AuthPrivateKey)
	b.header.Set("Accept-Language", "nl")
	wantWords(t, text(b.get("/admin/audit")), "Ada Admin", "van “7 pogingen” naar “50 pogingen”")
	wantStatus(t, b.post("/admin/settings/revert", url.Values{"key": {"no.such"}, "version": {"3"}}), http.StatusNotFound)

	b.header.Del("Accept-Language")
	wantRedirect(t, b.post("/admin/settings", d.settingsOf(t, "sending.deadline", "300h", "idempotency.ttl", "400h")), "/admin/settings")
	state := must(d.reg.Profile.Load(t.Context()))(t)
	wantRedirect(t, b.post("/admin/settings/revert", url.Values{"key": {"idempotency.ttl"}, "version": {strconv.FormatInt(state.Version, 10)}}), "/admin/settings")
	wantWords(t, text(b.get("/admin/settings")), "Lifetime of a key was not reverted", "at most 168h")
	d.wantSetting(t, "idempotency.ttl", "400h")
}

// TestSettingsSearch: a word selects settings by name, effect, value and rule.
func TestSettingsSearch(t *testing.T) {
	t.Parallel()
	_, b := newSettingsHarness(t)
	page := text(b.get("/admin/settings?q=CIRCUIT_WAIT"))
	wantWords(t, page, "1 setting has “CIRCUIT_WAIT”.", "<details class=\"schakel-fold\" open>")
	lacks(t, page, "Lifetime of a key</p>")
	wantWords(t, text(b.get("/admin/settings?q=nothing+has+this")), "0 settings have")
}

func TestSettingsBackToStrict(t *testing.T) {
	t.Parallel()
	d, b := newSettingsHarness(t)
	wantStatus(t, b.post("/admin/settings/strict", url.Values{"version": {"0"}}), http.StatusUnprocessableEntity)
	wantPage(t, b.post("/admin/settings/strict", url.Values{"version": {"9"}, "reason": {"audit"}}), http.StatusConflict, "Someone else changed")
	wantStatus(t, b.post("/admin/settings/strict", url.Values{"reason": {"audit"}}), http.StatusConflict)
	wantRedirect(t, b.post("/admin/settings/strict", url.Values{"version": {"0"}, "reason": {"audit"}}), "/admin/settings")
	page := text(b.get("/admin/settings"))
	wantWords(t, page, "nothing is relaxed")
	lacks(t, page, "Back to strict")
	d.wantSetting(t, "register.spec_versions", "refuse")
	d.wantSetting(t, "tokens.client_auth", "private_key_jwt")
}

// importFile posts a file as a browser does.
func (b *browser) importFile(t *testing.T, content string) *http.Response {
	t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	part := must(w.CreateFormFile("document", "profile.yaml"))(t)
	must(part.Write([]byte(content)))(t)
	noError(t, w.Close())
	b.header.Set("Content-Type", w.FormDataContentType())
	defer b.header.Del("Content-Type")
	return b.do(http.MethodPost, "/admin/settings/import", body.String())
}

// TestSettingsFile: export, look at what an import changes, change it.
func TestSettingsFile(t *testing.T) {
	t.Parallel()
	d, b := newSettingsHarness(t)
	answer := b.get("/admin/settings/export")
	wantStatus(t, answer, http.StatusOK)
	if got := answer.Header.Get("Content-Disposition"); got != `attachment; filename="schakel-profile.yaml"` {
		t.Errorf("Content-Disposition %q", got)
	}
	file := text(answer)
	wantWords(t, file, "# RELAXED: the profile asks for refuse.", "  ttl: 168h\n")
	wantWords(t, text(b.importFile(t, file)), "Nothing: the settings are like this already.")
	other := strings.Replace(file, "  ttl: 168h\n", "  ttl: 200h\n", 1)
	wantPage(t, b.importFile(t, other), http.StatusOK, "What the file changes", "1 change", "Lifetime of a key", "7 days", "8 d 8 h", "Change these settings")
	d.wantSetting(t, "idempotency.ttl", "168h")
	apply := url.Values{"text": {other}, "version": {"0"}, "reason": {"agreed in the chain"}}
	wantRedirect(t, b.post("/admin/settings/import/confirmation", apply), "/admin/settings")
	d.wantSetting(t, "idempotency.ttl", "200h")
	wantPage(t, b.post("/admin/settings/import/confirmation", changed(apply, "text", file)), http.StatusConflict, "Someone else changed the settings meanwhile", "agreed in the chain", `name="version" value="1"`)
}

// TestSettingsFileRefused: what is wrong is told with its line, and a pasted text
// stays in the form.
func TestSettingsFileRefused(t *testing.T) {
	t.Parallel()
	_, b := newSettingsHarness(t)
	wantPage(t, b.importFile(t, "schakel-profile: 1\nevents:\n  batch: perhaps\n  bach: \"on\"\n"), http.StatusUnprocessableEntity, "Did you mean events.batch?", `href="#document"`)
	wantWords(t, text(b.importFile(t, "schakel-profile: 1\nevents:\n  batch: perhaps\n")), "Choose one of: off, on.")
	wantStatus(t, b.importFile(t, ""), http.StatusUnprocessableEntity)
	wantPage(t, b.post("/admin/settings/import/confirmation", url.Values{"text": {"a: <b>"}, "version": {"0"}}), http.StatusUnprocessableEntity, "a: &lt;b&gt;", "There is no group")
	wantStatus(t, b.post("/admin/settings/import", url.Values{}), http.StatusUnsupportedMediaType)
}

// TestSettingsAreTheAdministrators: others neither see nor change them.
func TestSettingsAreTheAdministrators(t *testing.T) {
	t.Parallel()
	d, _ := newSettingsHarness(t)
	partner, _ := d.at(t, "pat@example.nl")
	form := d.settingsOf(t, "events.batch", "off")
	for _, path := range []string{"/admin/settings", "/admin/settings/edit", "/admin/settings/export", "/admin/settings/import"} {
		wantStatus(t, partner.get(path), http.StatusForbidden)
		wantStatus(t, d.browser().get(path), http.StatusSeeOther)
	}
	for _, path := range []string{"/admin/settings", "/admin/settings/strict", "/admin/settings/import", "/admin/settings/import/confirmation"} {
		wantStatus(t, partner.post(path, form), http.StatusForbidden)
	}
	d.wantSetting(t, "events.batch", "on")
}

// TestSettingOfContentMode: CE-50, what a new endpoint begins with.
func TestSettingOfContentMode(t *testing.T) {
	t.Parallel()
	d, b := newSettingsHarness(t)
	partner, _ := d.at(t, "pat@example.nl")
	chosen := func(mode string) {
		t.Helper()
		page := text(partner.get("/partner/endpoints/new?kind=" + store.EndpointWebhook))
		match(t, `value="`+mode+`"[^>]* (checked|selected)`, page)
	}
	chosen("structured")
	wantRedirect(t, b.post("/admin/settings", d.settingsOf(t, "sending.content_mode", "binary")), "/admin/settings")
	chosen("binary")
}
