package web

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"schakel/delivery/amqp"
	"schakel/delivery/filter"
	"schakel/delivery/mutation/area"
	"schakel/delivery/mutation/export"
	"schakel/delivery/mutation/ingest"
	"schakel/delivery/outbound"
	"schakel/delivery/outbox"
	"schakel/delivery/window"
	"schakel/registry"
	"schakel/registry/contracts"
	"schakel/registry/identity"
	"schakel/registry/profile"
	"schakel/registry/services"
	"schakel/store"
	"schakel/store/needs"
	"schakel/store/storetest"
	"schakel/web/site"
)

const (
	testEmail    = "admin@example.nl"
	testPassword = "correct horse battery staple"
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

// newHarness makes the router on SQLite; change may alter its configuration first.
func newHarness(t testing.TB, change func(*Config)) *harness {
	t.Helper()
	return newHarnessOn(t, storetest.SQLite, change)
}

// atOnce lists the tests that do several things at once. The search for data races runs these: in all others one request waits for
// the one before.
var atOnce = []string{
	"TestPagesOfferWhatARoleMay", "TestPublishConcurrentKey", "TestStalledLargeBodies", "TestRefusalOfOneUploadTooManyArrives", "TestOnceForAHundredAtOnce",
	"TestKeyInUse", "TestUploadsOfAPartnerAreFew", "TestTurns", "TestPublishersTakeTurns", "TestLiveTail", "TestLiveTailPage",
}

func newHarnessOn(t testing.TB, open storetest.Open, change func(*Config)) *harness {
	t.Helper()
	if name, _, _ := strings.Cut(t.Name(), "/"); !slices.Contains(atOnce, name) {
		needs.Unraced(t)
	}
	// From the real time on, because session cookies carry a real date.
	clock := storetest.NewClockAt(time.Now())
	h := &harness{db: open(t, storetest.WithClock(clock)), clock: clock, log: &lockedBuffer{}}
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
func (h *harness) administrator(t testing.TB) store.Account {
	t.Helper()
	token := must(h.accounts.SetupLink(t.Context()))(t)
	return must(h.accounts.CreateAdministrator(t.Context(), token, "Ada Admin", testEmail, testPassword))(t)
}

// partner makes an account of a partner.
func (h *harness) partner(t testing.TB, email string) store.Account {
	t.Helper()
	ctx := t.Context()
	p := store.Partner{Name: "Partner of " + email, Status: store.PartnerApproved}
	noError(t, h.db.Write(ctx, func(tx *store.Tx) error { return tx.InsertPartner(ctx, &p) }))
	return h.person(t, identity.NewAccount{Email: email, Name: "Pat", Role: store.RoleManager, PartnerID: p.ID})
}

// person makes an account with a password. Nothing of it is mailed or audited but the password.
func (h *harness) person(t testing.TB, in identity.NewAccount) store.Account {
	t.Helper()
	ctx, token := t.Context(), ""
	noError(t, h.db.Write(ctx, func(tx *store.Tx) (err error) {
		_, token, err = identity.InviteAccount(ctx, tx, in)
		return err
	}))
	return must(h.accounts.ChoosePassword(ctx, registry.LinkInvitation, token, testPassword))(t)
}

// browser keeps cookies, and sends the origin of its requests, as browsers do.
type browser struct {
	h       *harness
	cookies map[string]string
	header  http.Header
	addr    string // where it is; empty for the address of all others
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
	if b.addr != "" {
		r.RemoteAddr = net.JoinHostPort(b.addr, "1234")
	}
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
func (b *browser) login(t testing.TB, email string) *browser {
	t.Helper()
	wantStatus(t, b.post("/login", url.Values{"email": {email}, "password": {testPassword}}), http.StatusSeeOther)
	return b
}

func wantStatus(t testing.TB, answer *http.Response, status int) {
	t.Helper()
	if answer.StatusCode != status {
		t.Fatalf("status %d, want %d: %s", answer.StatusCode, status, text(answer))
	}
}

func wantRedirect(t testing.TB, answer *http.Response, to string) {
	t.Helper()
	if got := redirected(t, answer); got != to {
		t.Fatalf("sent to %q, want %q", got, to)
	}
}

// redirected returns the address to which an answer redirects.
func redirected(t testing.TB, answer *http.Response) string {
	t.Helper()
	wantStatus(t, answer, http.StatusSeeOther)
	return answer.Header.Get("Location")
}

// wantPage is the page of an answer, which must have this status and hold these words.
func wantPage(t testing.TB, answer *http.Response, status int, words ...string) string {
	t.Helper()
	wantStatus(t, answer, status)
	page := text(answer)
	wantWords(t, page, words...)
	return page
}

// text reads the body; it can be called once.
func text(answer *http.Response) string {
	b, _ := io.ReadAll(answer.Body)
	return strings.ReplaceAll(string(b), "<wbr>", "") // where a long name may go on at the next line
}

// testProfile holds the settings of most tests: its administrator has no second factor, and is not asked again who it is.
func testProfile() registry.Profile {
	p := profile.LenientProfile()
	p.AdministratorFactor, p.ProofAge = registry.FactorOptional, 12*time.Hour
	return p
}

// portalHarness is the portal with its real services; the engine is not started, so
// that what is queued stays where a test can see it.
type portalHarness struct {
	*harness
	reg      *services.Services
	admin    registry.Actor
	mirror   mirrorClient // fetches from registers that are mirrored
	exporter *export.Exporter
	guard    *outbound.Client // judges addresses where a test sets one
}

const deskTypes = `asyncapi: 3.1.0
info: {title: Student events, version: 1.2.0}
channels:
  students: {address: students, messages: {enrolled: {$ref: '#/components/messages/enrolled'}, left: {$ref: '#/components/messages/left'}}}
components:
  messages:
    enrolled: {name: nl.example.student.enrolled, title: A student was enrolled, contentType: application/json, payload: {type: object}, examples: [{payload: {student: "42"}}]}
    left: {name: nl.example.student.left, title: A student left, contentType: application/json, payload: {type: object}}
`

func newPortalHarness(t testing.TB, change ...func(*site.PortalConfig)) *portalHarness {
	t.Helper()
	return newPortalHarnessOn(t, storetest.SQLite, change...)
}

func newPortalHarnessOn(t testing.TB, open storetest.Open, change ...func(*site.PortalConfig)) *portalHarness {
	t.Helper()
	d := &portalHarness{mirror: mirrorClient{Client: &http.Client{}}}
	d.harness = newHarnessOn(t, open, func(cfg *Config) {
		db := cfg.Sessions.(*store.DB)
		vault := must(registry.VaultFromKey(bytes.Repeat([]byte{7}, 32)))(t)
		encrypter := newEncrypter(vault, cfg.Now)
		d.reg = must(services.New(registry.Config{
			CheckRecipient: encrypter.Check,
			DB:             db, Now: cfg.Now, Log: slog.New(slog.DiscardHandler), BaseURL: cfg.BaseURL.String(), Organisation: "Chain Office", Vault: vault, Profile: testProfile(),
			CheckFilters: filter.Check, CheckWindows: window.Check, MirrorHTTP: &d.mirror, BreakGlass: "office@example.nl", TokenIssuers: []string{"other"},
			ServedKinds: []string{store.EndpointWebhook, store.EndpointPull, store.EndpointAMQP, store.EndpointFiles, store.EndpointInbox}, ReadArea: area.Boundary,
			CheckURL: func(raw string) error {
				if d.guard != nil {
					return d.guard.CheckURL(raw)
				}
				if !strings.HasPrefix(raw, "https://") {
					return errors.New("The address must begin with https://.")
				}
				return nil
			},
		}, cfg.Accounts))(t)
		must(d.reg.Partners.EnsureOwn(t.Context(), "Chain Office", ""))(t)
		engine := outbox.New(outbox.Config{DB: db, Now: cfg.Now})
		bridge := amqp.New(amqp.Config{DB: db, Now: cfg.Now, Log: slog.New(slog.DiscardHandler), Node: "a"})
		bridge.Join(engine)
		d.exporter = export.New(export.Config{DB: db, Now: cfg.Now, Log: slog.New(slog.DiscardHandler)})
		cfg.Portal = &site.PortalConfig{
			DB: db, Engine: engine, Registry: d.reg, Mailbox: true, AMQP: bridge, Exporter: d.exporter, Ingester: ingest.New(ingest.Config{DB: db}), Encrypter: encrypter,
		}
		for _, c := range change {
			c(cfg.Portal)
		}
	})
	d.admin = registry.AccountActor(d.administrator(t))
	return d
}

// withCatalogue publishes a contract with two event types.
func (d *portalHarness) withCatalogue(t testing.TB) *portalHarness {
	t.Helper()
	ctx := t.Context()
	must(d.reg.Contracts.Create(ctx, d.admin, contracts.ContractInput{
		ID: "student-events", Kind: "asyncapi", Title: "Student events", Owner: "Chain Office", Visibility: store.VisibilityPublic, Classification: "internal",
		ContactName: "Ada", ContactEmail: "ada@example.nl",
	}))(t)
	must(d.reg.Contracts.Upload(ctx, d.admin, "student-events", contracts.Upload{Content: []byte(deskTypes), FileName: "students.yaml"}))(t)
	must(publishDraft(ctx, d.reg, d.admin, "student-events", "1.2.0", ""))(t)
	return d
}

// at is a browser logged in for an approved partner, and that partner's actor.
func (d *portalHarness) at(t testing.TB, email string) (*browser, registry.Actor) {
	t.Helper()
	account := d.partner(t, email)
	b := d.browser().login(t, email)
	return b, registry.AccountActor(account)
}

// endpointForm is a form that is right; pairs of name and value change it.
func endpointForm(pairs ...string) url.Values {
	return changed(url.Values{
		"name": {"Records"}, "kind": {"webhook"}, "url": {"https://roc.example.nl/events"}, "contentMode": {"structured"},
		"tokenAuthMethod": {"client_secret_basic"}, "tokenUrl": {"https://auth.example.nl/token"}, "tokenClientId": {"schakel"},
		"tokenSecret": {"hush-hush"}, "tokenScope": {"events"}, "ratePerSecond": {""}, "maxConcurrency": {"4"}, "timeoutSeconds": {"10"},
	}, pairs...)
}

func changed(form url.Values, pairs ...string) url.Values {
	for i := 0; i+1 < len(pairs); i += 2 {
		form.Set(pairs[i], pairs[i+1])
	}
	return form
}

// newEndpoint adds an endpoint by its form and gives its address.
func newEndpoint(t testing.TB, b *browser) string {
	t.Helper()
	return setUp(t, b.post("/partner/endpoints", endpointForm()))
}

// setUp gives the address of an endpoint from the answer that goes on with its setup.
func setUp(t testing.TB, answer *http.Response) string {
	t.Helper()
	here, _, found := strings.Cut(redirected(t, answer), "/setup")
	if !found {
		t.Fatalf("sent to %q, and not to the setup of an endpoint", here)
	}
	return here
}

// newSubscription asks for a subscription by its form and gives its address.
func newSubscription(t testing.TB, b *browser, endpoint string) string {
	t.Helper()
	return redirected(t, b.post("/partner/subscriptions/new", url.Values{
		"types": {"nl.example.student.enrolled"}, "endpoint": {idOf(endpoint)}, "name": {"Enrolments"}, "purpose": {"To keep our records up to date."},
	}))
}

func idOf(href string) string { return href[strings.LastIndex(href, "/")+1:] }

// mails lists the mails of a page with their texts, newest first.
func (d *portalHarness) mails(t testing.TB, p store.Page) []store.Mail {
	t.Helper()
	list, _, err := d.reg.Mails.List(t.Context(), registry.SystemActor(), p)
	noError(t, err)
	for i := range list {
		list[i] = must(d.reg.Mails.Get(t.Context(), registry.SystemActor(), list[i].ID))(t)
	}
	return list
}

// lastMail is the text of the newest mail to an address.
func (d *portalHarness) lastMail(t testing.TB, to string) string {
	t.Helper()
	for _, m := range d.mails(t, store.Page{}) {
		if m.Recipient == to {
			return m.Subject + "\n" + m.Body
		}
	}
	t.Fatalf("no mail to %s", to)
	return ""
}

func match(t testing.TB, pattern, in string) string {
	t.Helper()
	found := regexp.MustCompile(pattern).FindString(in)
	if found == "" {
		t.Fatalf("no %s in %s", pattern, in)
	}
	return found
}

func wantWords(t testing.TB, page string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(page, w) {
			t.Errorf("the page lacks %q", w)
		}
	}
}

func TestMain(m *testing.M) { storetest.Main(m) }
