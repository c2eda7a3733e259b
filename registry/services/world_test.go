package services

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"schakel/registry"
	registryamqp "schakel/registry/amqp"
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

func must(t testing.TB, err error) {
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
			m, err = w.Mails.Get(t.Context(), w.admin, m.ID)
			must(t, err)
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
	return registry.Sentence(t.Context(), rows[0])
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

// testRSA makes the keys of the tests once.
var testRSA = sync.OnceValue(func() [2]*rsa.PrivateKey {
	var keys [2]*rsa.PrivateKey
	for i := range keys {
		key, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			panic(err)
		}
		keys[i] = key
	}
	return keys
})

// pemPair makes a certificate for a use that is signed by itself, and its key, as PEM.
func pemPair(t *testing.T, name string, usage x509.KeyUsage, key int, changes ...func(*x509.Certificate)) (certificate, private string) {
	t.Helper()
	c := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, KeyUsage: usage, BasicConstraintsValid: true,
		NotBefore: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), NotAfter: time.Date(2028, 1, 1, 0, 0, 0, 0, time.UTC),
	}
	for _, change := range changes {
		change(c)
	}
	pair := testRSA()[key]
	der, err := x509.CreateCertificate(rand.Reader, c, c, pair.Public(), pair)
	must(t, err)
	pkcs8, err := x509.MarshalPKCS8PrivateKey(pair)
	must(t, err)
	return block("CERTIFICATE", der), block("PRIVATE KEY", pkcs8)
}

func block(kind string, der []byte) string {
	var b bytes.Buffer
	_ = pem.Encode(&b, &pem.Block{Type: kind, Bytes: der})
	return b.String()
}

const (
	signUsage    = x509.KeyUsageContentCommitment
	encryptUsage = x509.KeyUsageDataEncipherment
)

func goodBroker() registryamqp.BrokerInput {
	return registryamqp.BrokerInput{
		Name: "Health exchange", Dialect: store.AMQPRabbitMQ4, URL: "amqps://broker.example:5671", Namespace: "DigitalDialog",
		SASL: store.AMQPPlain, Username: "schakel", Password: "top secret", Enabled: true,
	}
}

func (w *world) broker(t *testing.T) store.AMQPBroker {
	t.Helper()
	b, err := w.AMQP.CreateBroker(t.Context(), w.admin, goodBroker())
	must(t, err)
	return b
}

func healthParty(broker string, her int64) registryamqp.PartyInput {
	return registryamqp.PartyInput{BrokerID: broker, Kind: store.AMQPHealth, Name: "Legekontor", HerID: her, Enabled: true}
}

func (w *world) amqpEndpoint(t *testing.T, actor registry.Actor) store.Endpoint {
	t.Helper()
	e, err := w.Endpoints.Create(t.Context(), actor, "", partners.EndpointInput{Name: "Queues", Kind: store.EndpointAMQP})
	must(t, err)
	return e
}

// otherRegister is a register with the API of a Schakel that can lie.
type otherRegister struct {
	*httptest.Server
	mu        sync.Mutex
	contracts map[string]map[string]otherVersion
	copyOf    map[string]string
	texts     map[string][2]string // titles and descriptions, of those that have their own
	key       string
}

type otherVersion struct{ body, status, digest string }

func newOtherRegister(t *testing.T) *otherRegister {
	o := &otherRegister{contracts: map[string]map[string]otherVersion{}, copyOf: map[string]string{}, texts: map[string][2]string{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /registry/v1/contracts", o.locked(o.list))
	mux.HandleFunc("GET /registry/v1/contracts/{id}/versions", o.locked(o.versions))
	mux.HandleFunc("GET /registry/v1/contracts/{id}/versions/{v}/original", o.locked(o.original))
	o.Server = httptest.NewTLSServer(mux)
	t.Cleanup(o.Close)
	o.Client().CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return o
}

func (o *otherRegister) locked(fn http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.key != "" && r.Header.Get("Authorization") != "Bearer "+o.key {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		fn(w, r)
	}
}

func (o *otherRegister) list(w http.ResponseWriter, _ *http.Request) {
	list := []map[string]any{}
	for id := range o.contracts {
		row := map[string]any{"id": id, "title": "Contract " + id, "owner": "Noord"}
		if text, ok := o.texts[id]; ok {
			row["title"], row["description"] = text[0], text[1]
		}
		if o.copyOf[id] != "" {
			row["copyOf"] = map[string]any{"url": o.copyOf[id]}
		}
		list = append(list, row)
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"contracts": list})
}

func (o *otherRegister) versions(w http.ResponseWriter, r *http.Request) {
	list := []map[string]any{}
	all := o.contracts[r.PathValue("id")]
	for _, number := range slices.Sorted(maps.Keys(all)) {
		v := all[number]
		list = append(list, map[string]any{"version": number, "status": v.status, "digest": "sha256:" + v.digest})
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"versions": list})
}

func (o *otherRegister) original(w http.ResponseWriter, r *http.Request) {
	v, ok := o.contracts[r.PathValue("id")][r.PathValue("v")]
	if !ok {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	tag := `"` + hexDigest([]byte(v.body)) + `"`
	w.Header().Set("ETag", tag)
	if r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	_, _ = w.Write([]byte(v.body))
}

// put offers a version; a body of one word is put in a valid document.
func (o *otherRegister) put(id, number, status, word string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	body := fmt.Sprintf(`{"openapi":"3.1.0","info":{"title":"T","version":%q,"description":%q},"paths":{}}`, number, word)
	if strings.HasPrefix(word, "raw:") {
		body = word[4:]
	}
	if o.contracts[id] == nil {
		o.contracts[id] = map[string]otherVersion{}
	}
	o.contracts[id][number] = otherVersion{body, status, hexDigest([]byte(body))}
}

func (o *otherRegister) describe(id, title, description string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.texts[id] = [2]string{title, description}
}

func (o *otherRegister) drop(id, number string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if delete(o.contracts[id], number); number == "" {
		delete(o.contracts, id)
	}
}

func (w *world) mirrors(t *testing.T, o *otherRegister, edit func(*contracts.MirrorInput)) store.MirrorSource {
	t.Helper()
	w.configure(t, func(c *registry.Config) { c.MirrorHTTP = o.Client() })
	in := contracts.MirrorInput{Name: "Noord", Kind: store.MirrorSchakel, URL: o.URL, Schedule: "@every 6h", Enabled: true}
	if edit != nil {
		edit(&in)
	}
	s, err := w.Mirrors.Create(t.Context(), w.admin, in)
	must(t, err)
	return s
}

// mirrored runs a mirror and wants these counts: new, unchanged, changed, refused, marked, failed.
func (w *world) mirrored(t *testing.T, s store.MirrorSource, cause string, want ...int) []contracts.MirrorLine {
	t.Helper()
	run, err := w.Mirrors.Run(t.Context(), s.ID, cause)
	must(t, err)
	got := []int{run.Added, run.Unchanged, run.Changed, run.Refused, run.Marked, run.Failed}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("run found %v, want %v: %s %s", got, want, run.Error, run.Lines)
	}
	lines, err := contracts.MirrorLines(run)
	must(t, err)
	return lines
}
