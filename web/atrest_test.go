package web

import (
	"archive/zip"
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"schakel/delivery/amqp/certs/certtest"
	"schakel/delivery/outbox"
	"schakel/registry"
	"schakel/registry/audit"
	"schakel/registry/partners"
	"schakel/registry/profile"
	"schakel/registry/services"
	"schakel/store"
	"schakel/store/backup"
	"schakel/store/needs"
)

// canaries are the secrets that a database must not hold readable, each in every form in which it could be written.
type canaries struct {
	t     *testing.T
	forms map[string][]byte // by what it is and its form
	seen  map[string]bool   // "table.column" that held a value
}

func newCanaries(t *testing.T) *canaries {
	return &canaries{t: t, forms: map[string][]byte{}, seen: map[string]bool{}}
}

// text keeps a secret that people or machines are shown, or type.
func (c *canaries) text(what, secret string) {
	c.t.Helper()
	if len(secret) < 10 {
		c.t.Fatalf("%s: %q is too short to be recognised", what, secret)
	}
	c.forms[what] = []byte(secret)
	c.forms[what+", escaped"] = []byte(url.QueryEscape(secret))
	c.forms[what+", lower case"] = []byte(strings.ToLower(secret))
	c.forms[what+", upper case"] = []byte(strings.ToUpper(secret))
	c.forms[what+", without dashes"] = []byte(strings.NewReplacer("-", "", " ", "").Replace(secret))
	c.raw(what, []byte(secret))
	if _, after, ok := strings.Cut(secret, "_"); ok && len(after) >= 20 { // schs_…, whsec_…
		c.forms[what+", without its prefix"] = []byte(after)
		if raw, err := base64.StdEncoding.DecodeString(after); err == nil {
			c.raw(what+", decoded", raw)
		}
	}
}

// raw keeps bytes. In base64 they look otherwise at each of three places; two bytes at either end hang on their neighbours.
func (c *canaries) raw(what string, secret []byte) {
	c.forms[what+", raw"] = secret
	c.forms[what+", hex"] = []byte(hex.EncodeToString(secret))
	for shift := range 3 {
		for name, enc := range map[string]*base64.Encoding{"base64": base64.RawStdEncoding, "base64url": base64.RawURLEncoding} {
			text := enc.EncodeToString(append(make([]byte, shift), secret...))
			from, to := (shift*8+5)/6, (shift+len(secret))*8/6
			c.forms[fmt.Sprintf("%s, %s at %d", what, name, shift)] = []byte(text[from:to])
		}
	}
}

// key keeps a private key.
func (c *canaries) key(what string, key crypto.Signer) {
	c.t.Helper()
	c.raw(what, must(x509.MarshalPKCS8PrivateKey(key))(c.t))
	switch k := key.(type) {
	case *rsa.PrivateKey:
		c.raw(what+", exponent", k.D.Bytes())
		c.raw(what+", prime", k.Primes[0].Bytes())
	case *ecdsa.PrivateKey:
		c.raw(what+", scalar", must(k.Bytes())(c.t))
	case ed25519.PrivateKey:
		c.raw(what+", seed", k.Seed())
	default:
		c.t.Fatalf("%s is of kind %T", what, key)
	}
}

// cookies keeps what a browser keeps.
func (c *canaries) cookies(what string, b *browser) {
	for name, value := range b.cookies {
		if len(value) >= 20 {
			c.text(what+": cookie "+name, value)
		}
	}
}

// notIn fails for each secret that a database holds readable, and for each column that nobody decided on.
func (c *canaries) notIn(db *store.DB) {
	c.t.Helper()
	for _, found := range c.find(db) {
		c.t.Error(found)
	}
	c.columns(db)
}

// find reads a database as it lies on the disk, its write-ahead log, and a backup of it, byte by byte.
func (c *canaries) find(db *store.DB) (found []string) {
	c.t.Helper()
	read, write := db.Pools()
	var path string
	noError(c.t, read.GetContext(c.t.Context(), &path, `SELECT file FROM pragma_database_list WHERE name = 'main'`))
	var made bytes.Buffer
	must(backup.Write(c.t.Context(), db, &made, backup.Info{}))(c.t)
	places := map[string][]byte{"a backup": made.Bytes()}
	archive := must(zip.NewReader(bytes.NewReader(made.Bytes()), int64(made.Len())))(c.t)
	for _, f := range archive.File {
		r := must(f.Open())(c.t)
		places["a backup: "+f.Name] = must(io.ReadAll(r))(c.t)
	}
	files := func(when string) {
		for _, end := range []string{"", "-wal", "-journal"} {
			content, err := os.ReadFile(path + end)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				c.t.Fatal(err)
			}
			places["the database"+end+when] = content
		}
	}
	files("")
	_, err := write.ExecContext(c.t.Context(), `PRAGMA wal_checkpoint(TRUNCATE)`)
	noError(c.t, err)
	files(", after a checkpoint")
	for place, content := range places {
		for what, form := range c.forms {
			if at := bytes.Index(content, form); at >= 0 {
				found = append(found, fmt.Sprintf("%s holds: %s\n… %q …", place, what, content[max(0, at-60):min(len(content), at+20)]))
			}
		}
	}
	return found
}

// sealedText matches a text of the vault, or the beginning of its bytes.
var sealedText = regexp.MustCompile(`[vb]1\.[0-9a-f]{8}\.`)

// columns holds every column of the schema that can hold a text against its decision.
func (c *canaries) columns(db *store.DB) {
	c.t.Helper()
	decided := decisions(c.t)
	read, _ := db.Pools()
	var all []struct {
		Table  string `db:"tbl"`
		Column string `db:"col"`
	}
	noError(c.t, read.SelectContext(c.t.Context(), &all, `SELECT t.name AS tbl, c.name AS col FROM sqlite_master t, pragma_table_info(t.name) c
		WHERE t.type = 'table' AND t.name NOT IN ('goose_db_version', 'sqlite_sequence') AND upper(c.type) IN ('TEXT', 'BLOB')`))
	left := map[string]bool{}
	for name := range decided {
		left[name] = true
	}
	for _, column := range all {
		name := column.Table + "." + column.Column
		decision, ok := decided[name]
		if !ok {
			c.t.Errorf("column %s has no decision in store/migrations/columns.txt: does it hold a secret?", name)
		}
		delete(left, name)
		var values [][]byte
		noError(c.t, read.SelectContext(c.t.Context(), &values, `SELECT `+column.Column+` FROM `+column.Table+` WHERE length(`+column.Column+`) > 0`))
		for _, value := range values {
			sealed := sealedText.Match(value)
			switch {
			case sealed && decision != "sealed" && decision != "passing":
				c.t.Errorf("column %s, which is %s, holds a sealed value: no key reaches it when it is sealed anew", name, decision)
			case sealed, decision == "hashed":
				c.seen[name] = true
			}
		}
	}
	for name := range left {
		c.t.Errorf("store/migrations/columns.txt decides on column %s, which there is not", name)
	}
}

// decisions reads which column holds what, by "table.column".
func decisions(t *testing.T) map[string]string {
	t.Helper()
	decided := map[string]string{}
	for line := range strings.Lines(string(must(os.ReadFile("../store/migrations/columns.txt"))(t))) {
		words := strings.Fields(line)
		if len(words) < 3 || words[0] == "#" {
			continue
		}
		if !slices.Contains([]string{"sealed", "hashed", "data", "passing", "plain"}, words[0]) {
			t.Errorf("unknown decision: %s", line)
		}
		for _, column := range words[2:] {
			decided[words[1]+"."+column] = words[0]
		}
	}
	return decided
}

// Nothing that gives access lies readable in the database, its write-ahead log, or a backup: every kind of secret and of one-time link is
// made or typed here in the ways of its users, and then looked for. Each sealed and hashed column gets a value, so that none is missed.
func TestNothingSecretIsStored(t *testing.T) {
	t.Parallel()
	needs.Unraced(t)
	c := newCanaries(t)
	c.ofPeople()
	c.ofPartners()
	c.ofMachines()
	c.ofProviders()
	c.ofData()
	for name, decision := range decisions(t) {
		// What a broker leaves for people needs a broker: package schakel/delivery/amqp tests that it is sealed.
		if (decision == "sealed" || decision == "hashed" || decision == "passing") && !c.seen[name] && name != "amqp_message.encoded" {
			t.Errorf("no secret was put in column %s, which is %s", name, decision)
		}
	}
	listed := map[string]bool{}
	for _, s := range services.Sealed() {
		listed[s.Table+"."+s.Column] = true
	}
	for name, decision := range decisions(t) {
		if (decision == "sealed") != listed[name] {
			t.Errorf("column %s is %s here; services.Sealed lists it: %v", name, decision, listed[name])
		}
	}
}

// The search finds what it is for, as it is and within base64 at any place, in the database and in a backup.
func TestCanariesAreFound(t *testing.T) {
	t.Parallel()
	needs.Unraced(t)
	for _, stored := range []string{
		"canary-in-a-cage", "a canary-in-a-cage, and more", base64.StdEncoding.EncodeToString([]byte("a canary-in-a-cage")),
		base64.RawURLEncoding.EncodeToString([]byte("in canary-in-a-cage")), hex.EncodeToString([]byte("canary-in-a-cage")), "CANARY-IN-A-CAGE",
	} {
		h, c := newHarness(t, nil), newCanaries(t)
		c.text("canary", "canary-in-a-cage")
		if found := c.find(h.db); len(found) != 0 {
			t.Fatalf("found before it was stored: %q", found)
		}
		noError(t, h.db.Write(t.Context(), func(tx *store.Tx) error { return tx.SetSetting(t.Context(), "cage", stored) }))
		found := strings.Join(c.find(h.db), "\n")
		for _, place := range []string{"the database-wal holds", "the database, after a checkpoint holds", "a backup: tables/setting holds"} {
			if !strings.Contains(found, place) {
				t.Errorf("%q: not found: %s; found %q", stored, place, found)
			}
		}
	}
}

// ofPeople makes accounts: links, passwords, factors, recovery codes, sessions.
func (c *canaries) ofPeople() {
	w := newQueueWorld(c.t)
	c.text("password", testPassword)
	fresh := newHarness(c.t, nil)
	c.text("setup link", must(fresh.accounts.SetupLink(c.t.Context()))(c.t))
	c.notIn(fresh.db)

	wantStatus(c.t, w.admin.post("/admin/accounts", url.Values{"name": {"Ann"}, "email": {"ann@example.nl"}, "role": {"administrator"}}), http.StatusSeeOther)
	c.text("invitation", idOf(w.lastLink("ann@example.nl")))
	wantStatus(c.t, w.first.browser.post("/partner/people", url.Values{"name": {"Ida"}, "email": {"ida@first.example"}, "role": {store.RoleReader}}), http.StatusSeeOther)
	c.text("invitation of a colleague", idOf(w.lastLink("ida@first.example")))
	wantRedirect(c.t, w.browser().post("/login/password", url.Values{"email": {w.other.email}}), "/login")
	reset := match(c.t, `/account/password-reset/\w+`, w.lastMail(c.t, w.other.email))
	c.text("reset link", idOf(reset))
	c.text("chosen password", "canary password of somebody")
	wantStatus(c.t, w.browser().post(reset, url.Values{"password": {"canary password of somebody"}}), http.StatusSeeOther)

	secret, codes := w.addApp(c.t, w.first.browser)
	c.text("TOTP secret", strings.ReplaceAll(secret, " ", ""))
	c.raw("TOTP secret, decoded", must(base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(strings.ReplaceAll(secret, " ", "")))(c.t))
	for i, code := range codes {
		c.text(fmt.Sprint("recovery code ", i), code)
	}
	begun := w.browser().login(c.t, testEmail)
	page := text(begun.get("/account/factors/app")) // is left at that
	c.text("TOTP secret that nobody confirmed", strings.ReplaceAll(regexp.MustCompile(`id="secret">([A-Z2-7 ]+)<`).FindStringSubmatch(page)[1], " ", ""))
	c.cookies("administrator", begun)
	c.cookies("partner", w.first.browser)

	visitor := w.browser()
	wantRedirect(c.t, visitor.post("/register", step("organisation", "name", "Canary School of Drafts", "do", "later")), "/register/saved")
	wantStatus(c.t, visitor.post("/register/link", url.Values{"email": {"draft@example.nl"}}), http.StatusSeeOther)
	c.text("draft", "Canary School of Drafts")
	c.text("link to a draft", idOf(match(c.t, `/register/resume/\w+`, w.lastMail(c.t, "draft@example.nl"))))
	c.cookies("visitor", visitor)
	w.mailsOfConfirmation(c)
	c.notIn(w.db)
}

// mailsOfConfirmation registers an organisation, whose link is mailed.
func (w *queueWorld) mailsOfConfirmation(c *canaries) {
	contact := []string{"contactName", "Eva", "email", "eva@regenboog.example", "name", "Basisschool De Regenboog", "by", "brin", "brin", "12AB", "terms", "on"}
	wantRedirect(c.t, w.browser().post("/register", step("check", contact...)), "/register/sent")
	c.text("confirmation of a registration", idOf(match(c.t, `/register/confirm/\w+`, w.lastMail(c.t, "eva@regenboog.example"))))
}

// ofPartners fills in and makes the secrets of endpoints, clients, mirrors and message brokers.
func (c *canaries) ofPartners() {
	w := newAMQPWorld(c.t)
	c.text("secret for a token endpoint", "canary-of-the-token-endpoint")
	here := setUp(c.t, w.staff.post("/partner/endpoints", endpointForm("tokenSecret", "canary-of-the-token-endpoint")))
	for range 2 { // of which one signs along
		page := text(w.staff.post(here+"/signing", signingForm(store.SignStandard, store.SignHMAC, "48")))
		c.text("secret of webhooks", whsec.FindString(page+text(w.staff.post(here+"/signing/rotate", nil))))
	}
	other := setUp(c.t, w.staff.post("/partner/endpoints", endpointForm("name", "Other", "tokenSecret", "canary-of-the-token-endpoint")))
	wantStatus(c.t, w.staff.post(other+"/signing", signingForm(store.SignMessage, store.SignEd25519, "0")), http.StatusOK)
	for _, id := range []string{idOf(here), idOf(other)} {
		for _, k := range must(w.reg.Endpoints.SignKeys(must(w.db.Endpoint(c.t.Context(), id))(c.t), w.clock.Now()))(c.t) {
			c.raw("key of webhooks "+k.ID, k.Secret)
		}
	}
	shown := certtest.New(c.t, w.clock.Now()).Issue("00000001123456789000")
	c.key("key of a client certificate", shown.Key)
	c.forms["key of a client certificate, a line"] = []byte(strings.Split(string(shown.KeyPEM), "\n")[1])
	wantRedirect(c.t, w.staff.post(other, endpointForm("name", "Other", "tokenSecret", "canary-of-the-token-endpoint", "certificate", string(shown.Chain), "certificateKey", string(shown.KeyPEM))), other)
	page, client := newClient(c.t, w.staff, clientForm())
	c.text("client secret", match(c.t, `schs_[\w-]+`, page))
	c.text("new client secret", match(c.t, `schs_[\w-]+`, text(w.staff.post(client+"/secret", nil))))
	c.text("key to read contracts", match(c.t, `schr_[\w-]+`, text(w.staff.post("/partner/keys", url.Values{"name": {"Renovate"}, "expires": {""}}))))

	certificate, key := testCertificate(c.t, "clinic", w.clock.Now().AddDate(1, 0, 0))
	block, _ := pem.Decode([]byte(key))
	c.key("private key for brokers", must(x509.ParsePKCS1PrivateKey(block.Bytes))(c.t))
	c.raw("private key for brokers, PKCS #1", block.Bytes)
	c.forms["private key for brokers, a line"] = []byte(strings.Split(key, "\n")[3])
	c.text("password of a broker", "canary-of-the-broker")
	broker := url.Values{
		"name": {"Exchange"}, "dialect": {"rabbitmq4"}, "url": {"amqps://broker.example"}, "sasl": {"plain"}, "username": {"schakel"}, "enabled": {"on"},
		"password": {"canary-of-the-broker"}, "certificate": {certificate}, "privateKey": {key},
	}
	wantStatus(c.t, w.admin.post("/admin/amqp/brokers", broker), http.StatusSeeOther)
	w.broker = must(w.db.AMQPBrokers(c.t.Context()))(c.t)[0].ID
	own := redirected(c.t, w.admin.post("/admin/amqp/parties", w.partyForm("name", "Chain clinic", "herId", "100")))
	wantStatus(c.t, w.admin.post(own+"/certificates", url.Values{"certificates": {certificate}, "privateKeys": {key}}), http.StatusSeeOther)

	state := must(w.reg.Profile.Load(c.t.Context()))(c.t)
	values := state.Values()
	values["sending.new_destination"] = registry.DestinationApproval
	_, _, err := w.reg.Profile.Save(c.t.Context(), registry.SystemActor(), profile.ProfileChange{Version: state.Version, Values: values})
	noError(c.t, err)
	c.text("secret for a token endpoint that waits", "canary-of-the-next-token-endpoint")
	wantRedirect(c.t, w.staff.post(other, endpointForm("name", "Other", "url", "https://next.example/in", "tokenSecret", "canary-of-the-next-token-endpoint")), other+"/move")
	c.text("client secret that waits", match(c.t, `schs_[\w-]+`, text(w.staff.post(client+"/secret", nil))))
	c.notIn(w.db)
}

// ofMachines publishes, and lets a machine fill in secrets, whose answers are kept with their Idempotency-Key.
func (c *canaries) ofMachines() {
	h := newAPIHarness(c.t, nil).withCatalogue(c.t)
	writer := h.writer(c.t)
	c.text("client secret of a machine", writer.secret)
	c.text("access token", writer.token)
	c.text("key of a mirror", "canary-of-the-mirror")
	once := []string{"Content-Type", "application/json", "Idempotency-Key", `"` + uuid.NewString() + `"`}
	writer.do(c.t, http.MethodPost, "/registry/v1/mirrors",
		`{"name":"Noord","kind":"urls","urls":["https://noord.example/x.json"],"schedule":"@daily","key":"canary-of-the-mirror"}`, once...).want(c.t, http.StatusCreated)
	for _, k := range must(h.reg.SigningKeys.SigningKeys(c.t.Context()))(c.t) {
		c.key("key of access tokens", k.Private)
	}
	certified := certtest.New(c.t, h.clock.Now()).Issue("00000001123456789000")
	c.key("key of client assertions", certified.Key)
	must(h.reg.SigningKeys.AddAssertionKey(c.t.Context(), registry.SystemActor(), certified.TLS, 0))(c.t)
	vault := must(registry.VaultFromKey(bytes.Repeat([]byte{7}, 32)))(c.t) // of the harness
	must(audit.New(registry.Config{DB: h.db, Now: h.clock.Now, Vault: vault}).Sign(c.t.Context()))(c.t)
	noError(c.t, vault.Check(c.t.Context(), h.db))
	signer := must(vault.OpenKey("audit_signing_key", must(h.db.Setting(c.t.Context(), "audit_signing_key"))(c.t)))(c.t)
	c.key("key of checkpoints", signer)
	sub := h.approvedSubscription(c.t, h.newPartner(c.t, "School").ID)
	_, public := recipientKey(c.t)
	noError(c.t, h.reg.Subscriptions.SetEncryption(c.t.Context(), registry.SystemActor(), sub.ID, public))
	seed := must(partners.OpenEncryptSeed(vault, must(h.db.Subscription(c.t.Context(), sub.ID))(c.t).EncryptSeed))(c.t)
	c.raw("seed of an encryption", seed)
	c.raw("key of the vault", bytes.Repeat([]byte{7}, 32))
	c.notIn(h.db)
}

// ofData publishes events with encryption of data on: small, large and quarantined ones. They are read again as they were sent.
func (c *canaries) ofData() {
	w := newLargeWorld(c.t)
	w.set(c.t, "data.encryption", "on", "idempotency.on_mismatch", "quarantine")
	const source = "urn:nld:oin:00000001823288444000:systeem:sis"
	small := func(id, canary string) string {
		c.text("data of event "+id, canary)
		return `{"specversion":"1.0","id":"` + id + `","type":"nl.example.student.enrolled","source":"` + source + `","datacontenttype":"application/json","data":{"name":"` + canary + `"}}`
	}
	key := []string{"Content-Type", "application/cloudevents+json", "Idempotency-Key", freshKey()}
	w.publisher.do(c.t, http.MethodPost, "/events/v1/events", small("small-1", "Canary of a small event"), key...).want(c.t, http.StatusAccepted)
	wire, lock := w.received(c.t)
	wantWords(c.t, string(wire), "Canary of a small event")
	w.consumer.postJSON(c.t, w.base+"/acknowledge", `{"lockTokens":["`+lock+`"]}`).want(c.t, http.StatusOK)
	w.publisher.do(c.t, http.MethodPost, "/events/v1/events", small("small-2", "Canary of a quarantined event"), key...).want(c.t, http.StatusAccepted)

	body, data := largeEvent("large-1", 700_000)
	for at := 0; at+16 <= 512; at += 64 {
		c.raw(fmt.Sprint("large data at ", at), data[at:at+16])
	}
	w.publisher.publish(c.t, body).want(c.t, http.StatusAccepted)
	address, _ := w.address(c.t)
	if got := w.consumer.get(c.t, address).want(c.t, http.StatusOK); !bytes.Equal(got.body, data) {
		c.t.Errorf("%d bytes of large data came back otherwise", len(got.body))
	}
	part := w.consumer.do(c.t, http.MethodGet, address, "", "Range", "bytes=299999-300009").want(c.t, http.StatusPartialContent)
	if !bytes.Equal(part.body, data[299_999:300_010]) {
		c.t.Errorf("a part of large data across two pieces: %x", part.body)
	}
	waiting, total, err := w.db.Quarantines(c.t.Context(), store.QuarantineFilter{})
	if err != nil || total != 1 {
		c.t.Fatalf("quarantined: %+v, %v", waiting, err)
	}
	c.notIn(w.db)

	must(w.engine.Release(c.t.Context(), outbox.Actor{Kind: "person", Name: "Anna"}, waiting[0].ID))(c.t)
	released, _ := w.received(c.t)
	wantWords(c.t, string(released), "Canary of a quarantined event")

	// What was stored encrypted is read when that is off, and what is stored then is not encrypted.
	w.set(c.t, "data.encryption", "off")
	w.clock.Advance(time.Minute)
	w.publisher.token = w.publisher.newToken(c.t, "")
	w.publisher.publish(c.t, small("small-3", "Canary that is free")).want(c.t, http.StatusAccepted)
	if found := strings.Join(c.find(w.db), "\n"); !strings.Contains(found, "data of event small-3") || strings.Contains(found, "data of event small-1") {
		c.t.Errorf("with encryption off: %s", found)
	}
	for id, canary := range map[string]string{"small-1": "Canary of a small event", "small-3": "Canary that is free"} {
		events, _, err := w.db.Events(c.t.Context(), store.EventFilter{CEID: id})
		noError(c.t, err)
		wantWords(c.t, string(must(w.db.Event(c.t.Context(), events[0].ID))(c.t).Data), canary)
	}
}

// ofProviders logs in at an OpenID provider.
func (c *canaries) ofProviders() {
	p := newProvider(c.t)
	o := portalAt(c.t, p, nil)
	o.school(c.t, "11111111")
	p.change = func(claims map[string]any) { claims["urn:etoegang:1.9:KvKnr"] = "11111111" }
	b := o.browser()
	wantRedirect(c.t, b.get(atProvider(c.t, p, b, "")), "/partner")
	c.text("ID token", p.issued)
	c.text("client secret at the provider", "s3cret-s3cret")
	c.cookies("user of a provider", b)
	c.notIn(o.db)
}
