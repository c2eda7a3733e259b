package web

import (
	"context"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"schakel/registry"
	"schakel/registry/installation"
	"schakel/store"
)

// The page lists problems first, and the steps; what an administrator confirms makes a problem go.
func TestInstallationPage(t *testing.T) {
	t.Parallel()
	d := newPortalHarness(t)
	vault := must(registry.VaultFromKey([]byte(strings.Repeat("\x07", 32))))(t)
	noError(t, vault.Check(t.Context(), d.db))
	d.reg.Installation.LookAround(func(_ context.Context, again bool) installation.Surroundings {
		s := installation.Surroundings{
			Key: &installation.KeyFile{Path: "/data/schakel.key", Fingerprint: vault.ID()}, Mail: &installation.MailServer{Host: "smtp.example.nl"},
			Disk: &installation.Disk{Folder: "/data", Free: 1 << 30, Size: 100 << 30},
		}
		if again {
			s.Address = &installation.Address{URL: "https://events.example.nl", Asked: true, Kind: "timeout"}
		}
		return s
	})
	b := d.browser().login(t, testEmail)
	page := wantPage(t, b.get("/admin/installation"), http.StatusOK, "disk-low", "1,024 of 102,400 MiB", "backup-never", "key-no-backup", "administrator-unconfirmed",
		"Publish a contract", "Make the administrator", "smtp.example.nl", "/data/schakel.key", vault.ID())
	if strings.Contains(page, "address-unreachable") {
		t.Error("an address is judged that nobody asked")
	}
	wantPage(t, b.get("/admin"), http.StatusOK, `href="/admin/installation"`, "problems to solve")

	wantRedirect(t, b.post("/admin/installation/key", url.Values{"fingerprint": {"other"}}), "/admin/installation")
	wantPage(t, b.get("/admin/installation"), http.StatusOK, "Another secret key is in use by now", "key-no-backup")
	wantRedirect(t, b.post("/admin/installation/key", url.Values{"fingerprint": {vault.ID()}}), "/admin/installation")
	if page := text(b.get("/admin/installation")); strings.Contains(page, "key-no-backup") || !strings.Contains(page, "Ada Admin") {
		t.Error("the confirmed copy of the key is still asked for")
	}
	wantPage(t, b.get("/admin/audit"), http.StatusOK, "Ada Admin confirmed that a copy of secret key "+vault.ID())

	noError(t, installation.RecordBackup(t.Context(), d.db, "schakel backup", installation.Record{Place: "/backup/a.zip", Bytes: 2048, KeyID: vault.ID()}))
	page = wantPage(t, b.get("/admin/installation"), http.StatusOK, "/backup/a.zip", "2 KiB")
	if strings.Contains(page, "backup-never") {
		t.Error("a recorded backup is not seen")
	}
	noError(t, d.db.Write(t.Context(), func(tx *store.Tx) error {
		return tx.SetSetting(t.Context(), "backup_last", `{"at":"`+d.clock.Now().Add(-8*24*time.Hour).Format(time.RFC3339)+`"}`)
	}))
	wantPage(t, b.get("/admin/installation"), http.StatusOK, "backup-old")
	wantRedirect(t, b.post("/admin/installation/test", nil), "/admin/installation")
	wantPage(t, b.get("/admin/installation"), http.StatusOK, "Everything was tested: 4 problems.")
}

// The link in a test mail confirms the address of who sent it, and of nobody else.
func TestTestMail(t *testing.T) {
	t.Parallel()
	d := newPortalHarness(t)
	b := d.browser().login(t, testEmail)
	wantRedirect(t, b.post("/admin/installation/mail", nil), "/admin/installation")
	mails := must(d.db.RecentMails(t.Context()))(t)
	if len(mails) != 1 || mails[0].Recipient != testEmail {
		t.Fatalf("mails %+v", mails)
	}
	mail := must(d.reg.Mails.Get(t.Context(), registry.SystemActor(), mails[0].ID))(t)
	proof := regexp.MustCompile(`/admin/installation\?mail=(\S+)`).FindStringSubmatch(mail.Body)
	if proof == nil {
		t.Fatalf("no link in %q", mail.Body)
	}
	wantPage(t, b.get("/admin/installation?mail="+proof[1]), http.StatusOK, "Confirm that the mail arrived", "administrator-unconfirmed")
	wantRedirect(t, b.post("/admin/installation/mail/confirmation", url.Values{"proof": {"forged"}}), "/admin/installation")
	wantPage(t, b.get("/admin/installation"), http.StatusOK, "nothing was confirmed", "administrator-unconfirmed")
	wantRedirect(t, b.post("/admin/installation/mail/confirmation", url.Values{"proof": {proof[1]}}), "/admin/installation")
	if page := text(b.get("/admin/installation")); strings.Contains(page, "administrator-unconfirmed") {
		t.Error("the confirmed address still counts as unconfirmed")
	}
}

// Only who has the same secret key can check the answer; partners do not see the page.
func TestInstallationProof(t *testing.T) {
	t.Parallel()
	d := newPortalHarness(t)
	vault := must(registry.VaultFromKey([]byte(strings.Repeat("\x07", 32))))(t)
	other := must(registry.VaultFromKey([]byte(strings.Repeat("\x08", 32))))(t)
	const question = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	answer := wantPage(t, d.browser().get(installation.ReachablePath+question), http.StatusOK)
	if asked := installation.ReachablePurpose + question; !vault.Proves(asked, answer) || other.Proves(asked, answer) || vault.Proves(asked+"A", answer) {
		t.Errorf("the answer is %q", answer)
	}
	wantStatus(t, d.browser().get(installation.ReachablePath+"short"), http.StatusNotFound)
	wantStatus(t, d.browser().get(installation.ReachablePath+strings.Repeat("-", 30)), http.StatusNotFound)
	d.partner(t, "pat@example.nl")
	wantStatus(t, d.browser().login(t, "pat@example.nl").get("/admin/installation"), http.StatusForbidden)
}

// X-Forwarded-For is noticed when it comes from an address that is no trusted proxy.
func TestForwardedIsNoticed(t *testing.T) {
	t.Parallel()
	d := newPortalHarness(t)
	d.browser().get("/login")
	if f, seen := d.app.Forwarded(); seen {
		t.Errorf("without the header: %+v", f)
	}
	b := d.browser()
	b.header.Set("X-Forwarded-For", "203.0.113.9")
	b.get("/login")
	if f, seen := d.app.Forwarded(); !seen || f.From.String() != "192.0.2.1" || f.At.IsZero() {
		t.Errorf("with the header: %+v, %v", f, seen)
	}
}
