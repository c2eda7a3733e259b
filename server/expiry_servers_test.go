package main

import (
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"schakel/delivery/amqp/link"
	"schakel/delivery/outbound"
	"schakel/delivery/trace"
	"schakel/registry"
	"schakel/registry/identity/token"
	"schakel/registry/installation"
	"schakel/registry/mail"
	"schakel/server/cli"
	"schakel/store"
)

// endingHosts are servers with a certificate that ends soon.
type endingHosts struct {
	t     *testing.T
	until time.Time
	pair  tls.Certificate
	ca    string // file with the certificate
}

func newEndingHosts(t *testing.T) *endingHosts {
	h := &endingHosts{t: t, until: time.Now().Add(20 * 24 * time.Hour).Truncate(time.Second).UTC()}
	h.pair, h.ca, _ = endingPair(t, "ending", h.until)
	return h
}

func (h *endingHosts) config() *tls.Config {
	return &tls.Config{Certificates: []tls.Certificate{h.pair}, MinVersion: tls.VersionTLS12}
}

// serve starts a host for HTTP and returns its address; answers are by path, with its own address in place of HOST.
func (h *endingHosts) serve(answers map[string]string) string {
	h.t.Helper()
	server := httptest.NewUnstartedServer(nil)
	server.TLS = h.config()
	server.StartTLS()
	h.t.Cleanup(server.Close)
	base := strings.Replace(server.URL, "127.0.0.1", "localhost", 1)
	server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, is := answers[r.URL.Path]
		if !is {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, strings.ReplaceAll(answer, "HOST", base))
	})
	return base
}

// listen starts a server of another protocol and returns its port; take gets each connection before its TLS.
func (h *endingHosts) listen(take func(net.Conn)) int {
	h.t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(h.t, err)
	h.t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				take(conn)
			}()
		}
	}()
	return listener.Addr().(*net.TCPAddr).Port
}

func (h *endingHosts) file(name, text string) string {
	h.t.Helper()
	path := filepath.Join(h.t.TempDir(), name)
	must(h.t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// Whatever server this installation asks, the end of its certificate is told ahead once it was seen: of providers, token issuers, introspection,
// mirrors, registers, mail and syslog; and so is that of the certificate in a key that a client publishes at its address.
func TestEndsOfServers(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	hosts := newEndingHosts(t)
	key := jose.JSONWebKey{Key: hosts.pair.PrivateKey, KeyID: "theirs", Use: "sig"}
	public := key.Public()
	public.Certificates = append(public.Certificates, hosts.pair.Leaf)
	set, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{public}})
	must(t, err)
	clientHost := hosts.serve(map[string]string{"/jwks": string(set)})
	keysHost := hosts.serve(map[string]string{"/jwks": string(set)})
	tokenHost := hosts.serve(map[string]string{"/.well-known/openid-configuration": `{"issuer":"HOST","jwks_uri":"` + keysHost + `/jwks"}`})
	askedHost := hosts.serve(map[string]string{"/ask": `{"active":false}`})
	providerHost := hosts.serve(map[string]string{"/.well-known/openid-configuration": `{"issuer":"HOST","authorization_endpoint":"HOST/a","token_endpoint":"HOST/t","jwks_uri":"HOST/k"}`})
	mirrorHost := hosts.serve(nil)
	mandateHost := hosts.serve(nil)
	oinHost := hosts.serve(map[string]string{"/oin.json": `[]`})
	said := make(chan struct{}, 1)
	syslog := hosts.listen(func(conn net.Conn) {
		secure := tls.Server(conn, hosts.config())
		_, _ = io.Copy(io.Discard, secure)
		_ = secure.Close()
		said <- struct{}{}
	})
	smtp, mailed := mailServer(t, hosts.config(), false)

	cfg := inDir(t.TempDir())
	cfg.BaseURL = "https://schakel.example"
	cfg.CAFile, cfg.AllowOutbound = hosts.ca, []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
	cfg.OIDCIssuer, cfg.OIDCClientID, cfg.OIDCLabel = providerHost, "schakel", "SSO"
	cfg.OIDCScopes = []string{"openid"}
	cfg.TokenIssuers = []string{
		hosts.file("keys.yaml", "id: chain\nissuer: "+tokenHost+"\n"),
		hosts.file("asked.yaml", "id: asked\nissuer: https://elsewhere.example\nintrospection: {endpoint: "+askedHost+"/ask, opaque: true, client-id: us}\n"),
	}
	cfg.Mandates = hosts.file("mandates.yaml", "url: "+mandateHost+"\nkey-file: "+hosts.file("key", "k")+"\nservices: [{types: [nl.example.*], namespace: a}]\n")
	cfg.OINRegister = oinHost + "/oin.json"
	cfg.SMTPHost, cfg.SMTPPort, cfg.SMTPTLS, cfg.SMTPFrom, cfg.SMTPCA = "localhost", smtp, "starttls", "a@b.nl", hosts.ca
	cfg.AuditSyslog = "localhost:" + strconv.Itoa(syslog)
	must(t, cfg.MailFlags.CheckFlags())
	p, err := build(ctx, cfg, quiet(), func(err error) { t.Error(err) })
	must(t, err)
	t.Cleanup(func() { _ = p.db.Close() })
	partner := store.Partner{Name: "Vavo", OIN: "00000009999999990000", Status: store.PartnerApproved}
	machine := store.Client{Name: "LAS", Status: store.ClientActive, AuthMethod: token.PrivateKeyJWT, JWKSURI: clientHost + "/jwks"}
	source := store.MirrorSource{Name: "Theirs", Kind: store.MirrorURLs, URLs: store.Strings{"theirs " + mirrorHost + "/a.yaml"}, Enabled: true, Schedule: "0 3 * * *", Prefix: "theirs"}
	must(t, p.db.Write(ctx, func(tx *store.Tx) error {
		must(t, tx.InsertPartner(ctx, &partner))
		machine.PartnerID = partner.ID
		must(t, tx.InsertClient(ctx, &machine))
		must(t, tx.InsertMirrorSource(ctx, &source))
		return tx.InsertMail(ctx, &store.Mail{Recipient: "x@y.nl", Subject: "s", Body: "b", Status: store.MailPending, DueAt: tx.Now})
	}))
	ends := func() map[string]installation.Expiry {
		facts, _, err := p.registry.Installation.Report(ctx, false)
		must(t, err)
		list := map[string]installation.Expiry{}
		for _, e := range facts.Expiries() {
			if e.Kind != installation.ExpiryTrust {
				list[e.Item()] = e
			}
		}
		return list
	}
	if got := ends(); len(got) != 0 {
		t.Fatalf("before anything was asked: %v", got)
	}

	login := httptest.NewRecorder()
	p.app.Handler().ServeHTTP(login, httptest.NewRequest(http.MethodGet, "https://schakel.example/login/oidc", nil))
	p.issuer.Troubles(ctx)
	_, _ = p.issuer.Verify(ctx, "opaque")
	_, err = p.registry.Mirrors.Run(ctx, source.ID, "asked")
	must(t, err)
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: key}, (&jose.SignerOptions{}).WithType("JWT"))
	must(t, err)
	assertion, err := jwt.Signed(signer).Claims(jwt.Claims{
		Issuer: machine.ID, Subject: machine.ID, Audience: jwt.Audience{"https://schakel.example"}, ID: rand.Text(),
		IssuedAt: jwt.NewNumericDate(time.Now()), Expiry: jwt.NewNumericDate(time.Now().Add(time.Minute)),
	}).Serialize()
	must(t, err)
	form := url.Values{"grant_type": {"client_credentials"}, "client_assertion": {assertion}, "client_assertion_type": {"urn:ietf:params:oauth:client-assertion-type:jwt-bearer"}}
	if _, fail := p.issuer.Exchange(ctx, token.Request{Form: form}); fail == nil || fail.Code != "invalid_scope" { // only after the proof
		t.Errorf("token: %v", fail)
	}
	_, _, err = p.registry.Partners.Registered(ctx, registry.SystemActor(), store.Partner{OIN: "00000001234567890000"})
	must(t, err)
	if err := p.registry.Mandates.MaySend(ctx, partner, "nl.example.a.v1", "urn:nld:oin:00000001234567890000:systeem:a"); err == nil {
		t.Error("a register that knows nothing gave a mandate")
	}
	for _, s := range p.group.services {
		switch s := s.(type) {
		case *mail.Mailer:
			must(t, s.SendDue(ctx))
			<-mailed
		case *auditSender:
			must(t, s.targets[0].send(ctx, nil))
			<-said
		}
	}
	host := func(address string) string { return strings.TrimPrefix(address, "https://") }
	want := []string{
		installation.ExpiryProvider + " " + host(providerHost),
		installation.ExpiryTokenIssuer + " chain " + host(tokenHost),
		installation.ExpiryTokenIssuer + " chain " + host(keysHost),
		installation.ExpiryTokenIssuer + " asked " + host(askedHost),
		installation.ExpiryMirror + " " + source.ID + " " + host(mirrorHost),
		installation.ExpiryOINRegister + " " + host(oinHost),
		installation.ExpiryMandates + " " + host(mandateHost),
		installation.ExpiryKeyHost + " " + machine.ID,
		installation.ExpiryClientKeySet + " " + machine.ID,
		installation.ExpiryMailServer + " localhost:" + strconv.Itoa(smtp),
		installation.ExpirySyslog + " " + cfg.AuditSyslog,
	}
	slices.Sort(want)
	got := ends()
	if items := slices.Sorted(maps.Keys(got)); !slices.Equal(items, want) {
		t.Errorf("login %d\ngot  %q\nwant %q", login.Code, items, want)
	}
	for item, e := range got {
		days, due := e.Due(time.Now())
		if !e.Until.Equal(hosts.until) || !due || days != 30 || e.Remedy == "" || e.What.String() == "" || strings.Contains(e.What.String(), "%!") {
			t.Errorf("%s: %+v", item, e)
		}
		if theirs := strings.HasSuffix(item, " "+machine.ID); theirs != (e.PartnerID == partner.ID) {
			t.Errorf("%s is of %q", item, e.PartnerID)
		}
	}
}

// A broker, a PostgreSQL and a collector of spans are among these servers; each is known by its handshake, whatever follows.
func TestEndsOfBrokerAndDatabase(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	hosts := newEndingHosts(t)
	shaken := make(chan error, 10)
	broker := hosts.listen(func(conn net.Conn) { shaken <- tls.Server(conn, hosts.config()).HandshakeContext(ctx) })
	postgres := hosts.listen(func(conn net.Conn) {
		if _, err := io.ReadFull(conn, make([]byte, 8)); err == nil { // it asks for TLS
			_, _ = conn.Write([]byte("S"))
			_ = tls.Server(conn, hosts.config()).HandshakeContext(ctx)
		}
	})
	servers := outbound.NewServers()
	collector := hosts.serve(map[string]string{"/v1/traces": "{}"})
	recorder := TraceFlags{TraceEndpoint: collector, TraceRatio: 1}.recorder()
	spans, err := traceService(TraceFlags{TraceEndpoint: collector}, cli.OutboundFlags{CAFile: hosts.ca, Servers: servers}, recorder, "node", quiet())
	must(t, err)
	recorder.Start(trace.Server, "a", "").End()
	must(t, spans.Start(ctx))
	must(t, spans.Stop(ctx)) // which exports what is there
	address := "localhost:" + strconv.Itoa(postgres)
	if db, err := openAlone(servers)(ctx, "postgres://u:p@"+address+"/schakel?sslmode=verify-full&sslrootcert="+url.QueryEscape(hosts.ca)); err == nil {
		_ = db.Close()
		t.Error("a database that says nothing was opened")
	}
	p, err := build(ctx, inDir(t.TempDir()), quiet(), func(err error) { t.Error(err) })
	must(t, err)
	t.Cleanup(func() { _ = p.db.Close() })
	ca, err := os.ReadFile(hosts.ca)
	must(t, err)
	row := store.AMQPBroker{Name: "Exchange", URL: "amqps://localhost:" + strconv.Itoa(broker), Dialect: store.AMQPRabbitMQ4, SASL: string(link.Anonymous), CA: string(ca), Enabled: true}
	must(t, p.db.Write(ctx, func(tx *store.Tx) error { return tx.InsertAMQPBroker(ctx, &row) }))
	if c, err := connector(p.registry, cli.OutboundFlags{Servers: servers}, quiet())(ctx, row, func(link.State) {}); err == nil {
		t.Cleanup(func() { _ = c.Stop(ctx) })
	}
	must(t, <-shaken)
	e := &examiner{db: p.db, client: p.outbound}
	e.flags.Servers = servers
	items := map[string]time.Time{}
	for _, one := range e.serverEnds(ctx) {
		items[one.Item()] = one.Until
	}
	for _, item := range []string{installation.ExpiryTraces + " " + strings.TrimPrefix(collector, "https://"), installation.ExpiryDatabaseServer + " " + address, installation.ExpiryBrokerServer + " " + row.ID} {
		if !items[item].Equal(hosts.until) {
			t.Errorf("%s: %v", item, items)
		}
	}
}
