package web

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"schakel/registry"
	"schakel/registry/identity"
	"schakel/store"
	"schakel/store/storetest"
	"schakel/web/site"
)

const (
	testEmail    = "admin@example.nl"
	testPassword = "correct horse battery"
)

// harness is the real router on a real database.
type harness struct {
	cfg      Config
	app      *site.App
	db       *store.DB
	accounts *identity.Accounts
	clock    *storetest.Clock
	log      *lockedBuffer
}

// lockedBuffer is a log that a test can read.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer.
func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// String returns the log so far.
func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// newHarness makes the router; change may alter its configuration first.
func newHarness(t *testing.T, change func(*Config)) *harness {
	t.Helper()
	// From the real time on, because session cookies carry a real date.
	clock := storetest.NewClockAt(time.Now())
	h := &harness{db: storetest.SQLite(t, storetest.WithClock(clock)), clock: clock, log: &lockedBuffer{}}
	var err error
	if h.accounts, err = identity.NewAccounts(h.db, h.clock.Now, identity.WithWeakPasswords()); err != nil {
		t.Fatal(err)
	}
	cfg := Config{AppConfig: site.AppConfig{
		BaseURL: &url.URL{Scheme: "http", Host: "schakel.example.nl"},
		Now:     h.clock.Now, Log: slog.New(slog.NewTextHandler(h.log, nil)),
		Accounts: h.accounts, Sessions: h.db,
	}}
	if change != nil {
		change(&cfg)
	}
	h.cfg = cfg
	if h.app, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	return h
}

// administrator makes the first administrator.
func (h *harness) administrator(t *testing.T) store.Account {
	t.Helper()
	token, err := h.accounts.SetupLink(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	account, err := h.accounts.CreateAdministrator(t.Context(), token, "Ada Admin", testEmail, testPassword)
	if err != nil {
		t.Fatal(err)
	}
	return account
}

// partner makes an account of a partner.
func (h *harness) partner(t *testing.T, email string) store.Account {
	t.Helper()
	ctx := t.Context()
	p := store.Partner{Name: "Partner of " + email, Status: store.PartnerApproved}
	if err := h.db.Write(ctx, func(tx *store.Tx) error { return tx.InsertPartner(ctx, &p) }); err != nil {
		t.Fatal(err)
	}
	_, token, err := h.accounts.Invite(ctx, identity.NewAccount{Email: email, Name: "Pat", Role: store.RolePartner, PartnerID: p.ID})
	if err != nil {
		t.Fatal(err)
	}
	account, err := h.accounts.ChoosePassword(ctx, registry.LinkInvitation, token, testPassword)
	if err != nil {
		t.Fatal(err)
	}
	return account
}

// browser keeps cookies, and sends the origin of its requests, as browsers do.
type browser struct {
	h       *harness
	cookies map[string]string
	header  http.Header
}

func (h *harness) browser() *browser {
	return &browser{h: h, cookies: map[string]string{}, header: http.Header{"Sec-Fetch-Site": {"same-origin"}}}
}

func (b *browser) get(path string) *http.Response { return b.do(http.MethodGet, path, "") }

func (b *browser) post(path string, form url.Values) *http.Response {
	return b.do(http.MethodPost, path, form.Encode())
}

func (b *browser) do(method, target, body string) *http.Response {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.Host = b.h.app.Cfg.BaseURL.Host
	r.Header = b.header.Clone()
	if body != "" && r.Header.Get("Content-Type") == "" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for name, value := range b.cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	w := httptest.NewRecorder()
	b.h.app.Handler().ServeHTTP(w, r)
	answer := w.Result()
	for _, c := range answer.Cookies() {
		if c.MaxAge < 0 {
			delete(b.cookies, c.Name)
			continue
		}
		b.cookies[c.Name] = c.Value
	}
	return answer
}

// login logs in and fails the test when that does not work.
func (b *browser) login(t *testing.T, email string) {
	t.Helper()
	answer := b.post("/login", url.Values{"email": {email}, "password": {testPassword}})
	wantStatus(t, answer, http.StatusSeeOther)
}

func wantStatus(t *testing.T, answer *http.Response, status int) {
	t.Helper()
	if answer.StatusCode != status {
		t.Fatalf("status %d, want %d: %s", answer.StatusCode, status, text(answer))
	}
}

func wantRedirect(t *testing.T, answer *http.Response, to string) {
	t.Helper()
	wantStatus(t, answer, http.StatusSeeOther)
	if got := answer.Header.Get("Location"); got != to {
		t.Fatalf("sent to %q, want %q", got, to)
	}
}

// text reads the body; it can be called once.
func text(answer *http.Response) string {
	b, _ := io.ReadAll(answer.Body)
	return strings.ReplaceAll(string(b), "<wbr>", "") // where a long name may go on at the next line
}
