package services

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"schakel/registry"
	"schakel/registry/contracts"
	"schakel/registry/identity"
	"schakel/registry/identity/token"
	"schakel/registry/partners"
	"schakel/registry/profile"
	"schakel/store"
	"schakel/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

const goodOIN = "00000001003214345000"

// world is a registry with an own organisation, an administrator and a clock.
type world struct {
	*Services
	db    *store.DB
	clock *storetest.Clock
	own   store.Partner
	admin registry.Actor
	cfg   registry.Config
}

// configure makes the services anew around a configuration that is changed.
func (w *world) configure(t *testing.T, change func(*registry.Config)) {
	t.Helper()
	change(&w.cfg)
	var err error
	w.Services, err = New(w.cfg, w.Accounts)
	must(t, err)
}

// hexDigest is the SHA-256 of bytes in hexadecimal, as contracts tell it.
func hexDigest(content []byte) string { return fmt.Sprintf("%x", sha256.Sum256(content)) }

// inWorlds runs a test in a fresh world on each database.
func inWorlds(t *testing.T, fn func(t *testing.T, w *world)) {
	t.Helper()
	t.Parallel()
	for name, open := range map[string]func(testing.TB, ...storetest.Option) *store.DB{
		"sqlite": storetest.SQLite, "postgres": storetest.Postgres,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := storetest.NewClock()
			fn(t, newWorld(t, open(t, storetest.WithClock(clock)), clock))
		})
	}
}

func testConfig(t *testing.T, db *store.DB, clock *storetest.Clock) registry.Config {
	t.Helper()
	vault, err := registry.VaultFromKey([]byte("0123456789abcdef0123456789abcdef"))
	must(t, err)
	return registry.Config{
		DB: db, Now: clock.Now, Log: slog.New(slog.NewTextHandler(io.Discard, nil)), BaseURL: "https://schakel.example/",
		Organisation: "Chain Office", Vault: vault, Profile: profile.LenientProfile(), CheckURL: onlyHTTPS,
	}
}

func onlyHTTPS(raw string) error {
	if !strings.HasPrefix(raw, "https://") {
		return errors.New("The URL must begin with https://.")
	}
	return nil
}

func newWorld(t *testing.T, db *store.DB, clock *storetest.Clock) *world {
	t.Helper()
	accounts, err := identity.NewAccounts(db, clock.Now, identity.WithWeakPasswords())
	must(t, err)
	cfg := testConfig(t, db, clock)
	cfg.ServedKinds, cfg.ReadArea = []string{store.EndpointWebhook, store.EndpointAMQP, store.EndpointFiles}, squares
	services, err := New(cfg, accounts)
	must(t, err)
	own, err := services.Partners.EnsureOwn(t.Context(), "Chain Office", "")
	must(t, err)
	return &world{
		Services: services, db: db, clock: clock, own: own, cfg: cfg.WithDefaults(),
		admin: registry.AccountActor(newAdministrator(t, accounts, "admin@example.nl")),
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wantCode checks that err is an *Error of this code; "" wants none.
func wantCode(t *testing.T, what, code string, err error) {
	t.Helper()
	refused, _ := errors.AsType[*registry.Error](err)
	if code == "" && err != nil || code != "" && (refused == nil || refused.Code != code) {
		t.Errorf("%s: got %v, want code %q", what, err, code)
	}
}

func registration(name, oin, email string) partners.Registration {
	return partners.Registration{
		Name: name, OIN: oin, Contact: partners.Contact{Name: "Anna de Vries", Email: email, Phone: "+31 30 123 45 67"},
		EndpointKinds: []string{store.EndpointWebhook}, TermsAccepted: true, TermsVersion: "1", Addr: "192.0.2.1",
	}
}

// register sends a registration in and gives the partner that came of it.
func (w *world) register(t *testing.T, name, oin, email string) store.Partner {
	t.Helper()
	must(t, w.Partners.Register(t.Context(), registration(name, oin, email)))
	p, err := w.db.PartnerByOIN(t.Context(), strings.ReplaceAll(oin, " ", ""))
	must(t, err)
	return p
}

// confirm follows the link that was mailed last to an address.
func (w *world) confirm(t *testing.T, email string) registry.Actor {
	t.Helper()
	account, err := w.Partners.Confirm(t.Context(), w.linkTo(t, email), goodPassword)
	must(t, err)
	return registry.AccountActor(account)
}

// partner makes an approved partner and someone of it who is logged in.
func (w *world) partner(t *testing.T, name, oin, email string) (store.Partner, registry.Actor) {
	t.Helper()
	p := w.register(t, name, oin, email)
	actor := w.confirm(t, email)
	must(t, w.Partners.Approve(t.Context(), w.admin, p.ID))
	p, err := w.Partners.Get(t.Context(), registry.ScopeOf(p.ID), p.ID)
	must(t, err)
	return p, actor
}

// twoPartners makes two approved partners.
func (w *world) twoPartners(t *testing.T) (p store.Partner, actor registry.Actor, other store.Partner, stranger registry.Actor) {
	t.Helper()
	p, actor = w.partner(t, "Scholengroep Noord", goodOIN, "anna@noord.example")
	other, stranger = w.partner(t, "Leerlingzorg Zuid", "00000003123456780000", "bob@zuid.example")
	return p, actor, other, stranger
}

// mailsTo lists the mails to an address, newest first.
func (w *world) mailsTo(t *testing.T, email string) []store.Mail {
	t.Helper()
	all, _, err := w.Mails.List(t.Context(), w.admin, store.Page{})
	must(t, err)
	var list []store.Mail
	for _, m := range all {
		if m.Recipient == email {
			list = append(list, m)
		}
	}
	return list
}

// linkTo finds the token of the confirmation mailed last to an address.
func (w *world) linkTo(t *testing.T, email string) string {
	t.Helper()
	link := regexp.MustCompile(`https://schakel\.example/register/confirm/(\S+)`)
	for _, m := range w.mailsTo(t, email) {
		if found := link.FindStringSubmatch(m.Body); found != nil {
			return found[1]
		}
	}
	t.Fatalf("no confirmation was mailed to %s", email)
	return ""
}

func webhook() partners.EndpointInput {
	return partners.EndpointInput{
		Name: "Main", Kind: store.EndpointWebhook, URL: "https://noord.example/events",
		TokenURL: "https://noord.example/token", TokenClientID: "schakel", TokenSecret: "top secret words",
		TokenAuthMethod: token.ClientSecretBasic,
	}
}

func (w *world) endpoint(t *testing.T, actor registry.Actor) store.Endpoint {
	t.Helper()
	e, err := w.Endpoints.Create(t.Context(), actor, "", webhook())
	must(t, err)
	return e
}

const (
	enrolled  = "nl.example.student.enrolled"
	leftEvent = "nl.example.student.left"
)

// asyncDocument is a contract that defines the given event types.
func asyncDocument(version string, types ...string) []byte {
	var b strings.Builder
	b.WriteString(`{"asyncapi":"3.0.0","info":{"title":"Students","version":"` + version + `"},"components":{"messages":{`)
	for i, name := range types {
		if i > 0 {
			b.WriteString(",")
		}
		b.WriteString(`"m` + strconv.Itoa(i) + `":{"name":"` + name + `","payload":{"type":"object"}}`)
	}
	b.WriteString(`}}}`)
	return []byte(b.String())
}

func contractInput(id string) contracts.ContractInput {
	return contracts.ContractInput{
		ID: id, Kind: "asyncapi", Title: "Student events", Visibility: store.VisibilityPartners, Classification: "confidential",
	}
}

// catalogue publishes a contract that defines the event types of the tests.
func (w *world) catalogue(t *testing.T) {
	t.Helper()
	_, err := w.Contracts.Create(t.Context(), w.admin, contractInput("student-events"))
	must(t, err)
	_, err = w.Contracts.Upload(t.Context(), w.admin, "student-events", contracts.Upload{Content: asyncDocument("1.0.0", enrolled, leftEvent)})
	must(t, err)
	_, err = w.publish(t.Context(), w.admin, "student-events", "1.0.0", "")
	must(t, err)
}

func (w *world) subscribe(t *testing.T, actor registry.Actor, endpointID string, types ...string) store.Subscription {
	t.Helper()
	s, err := w.Subscriptions.Request(t.Context(), actor, partners.SubscriptionRequest{EndpointID: endpointID, Types: types, Purpose: "keep our records right"})
	must(t, err)
	return s
}

// lastSentence returns the newest entry of the audit trail as a sentence.
func (w *world) lastSentence(t *testing.T) string {
	t.Helper()
	rows, _, err := w.Audit.List(t.Context(), registry.Scope{All: true}, store.AuditFilter{Page: store.Page{Number: 1, Size: 1}})
	must(t, err)
	return registry.Sentence(rows[0])
}

// publish publishes the draft as the register holds it now.
func (w *world) publish(ctx context.Context, actor registry.Actor, id, version, reason string) (store.ContractVersion, error) {
	v, err := w.db.ContractVersion(ctx, id, version)
	if err != nil {
		return v, err
	}
	return w.Contracts.Publish(ctx, actor, id, version, contracts.PublishInput{Digest: v.Digest, Reason: reason})
}

func wantAbsent(t *testing.T, rows any, secrets ...string) {
	t.Helper()
	text := fmt.Sprintf("%+v", rows)
	for _, secret := range secrets {
		if secret == "" || strings.Contains(text, secret) {
			t.Errorf("%q is in %T", secret, rows)
		}
	}
}
