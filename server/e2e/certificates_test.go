package e2e

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"schakel/delivery/amqp/certs/certtest"
	"schakel/registry"
	"schakel/registry/identity"
	"schakel/registry/identity/token"
	"schakel/registry/partners"
	"schakel/server/demo"
	"schakel/server/trial"
	"schakel/store"
	"schakel/store/storetest"
)

// certifiedSide is one of two programs that prove themselves to each other by certificates: its certificates as a client of the other, and what was
// agreed there.
type certifiedSide struct {
	*trial.Program
	pki       *certtest.PKI
	path      string // where its own organisation receives
	eventType string // that it sends
	ledger    *trial.Ledger
	sub       string // of the other, to what this one sends
	endpoint  string // of that
	url       string // of the other
	owner     registry.Actor
	clientID  string // of this one at the other
	shown     certtest.Pair
}

// newCertified makes a program with a TLS certificate of its organisation, which asks its callers for one.
func newCertified(t *testing.T, pki *certtest.PKI, own demo.Organisation, database, path, eventType string) *certifiedSide {
	t.Helper()
	dir := t.TempDir()
	pair := pki.Issue(own.OIN())
	write := func(name string, text []byte) string {
		file := filepath.Join(dir, name)
		trial.Must(t, os.WriteFile(file, text, 0o600))
		return file
	}
	roots := x509.NewCertPool()
	roots.AddCert(pki.Root)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, MaxIdleConnsPerHost: 64}
	t.Cleanup(transport.CloseIdleConnections)
	p := &trial.PKI{
		CAFile: write("root.pem", certtest.PEM(pki.Root)), CertFile: write("cert.pem", pair.Chain), KeyFile: write("key.pem", pair.KeyPEM), Cert: pair.TLS,
		Client: &http.Client{Transport: transport, Timeout: 30 * time.Second},
	}
	program := trial.NewProgram(t, p, own, database, "--client-certificates", "request", "--client-ca", p.CAFile, "--client-revocation", "off")
	return &certifiedSide{Program: program, pki: pki, path: path, eventType: eventType, ledger: trial.NewLedger()}
}

// partnerOf registers the organisation of one side with the other, with an address that no account there has.
func partnerOf(t *testing.T, own demo.Organisation, at *demo.Chain) (store.Partner, registry.Actor) {
	t.Helper()
	own.Email = "certified@" + own.KVK + ".example"
	partner, actor, err := at.Approved(t.Context(), own)
	trial.Must(t, err)
	return partner, actor
}

// agree lets one side send to the other, whose people own the endpoint here: the client there, of the partner sender, has keys that count by their
// certificate alone, and tokens that are bound to its TLS certificate.
func agree(t *testing.T, from, to *certifiedSide, here, there *demo.Chain, owner registry.Actor, sender store.Partner) {
	t.Helper()
	ctx := t.Context()
	client, _, err := there.Clients.Create(ctx, there.Admin, sender.ID, identity.NewClient{
		Name: "Schakel of " + from.Own.Name, AuthMethod: token.PrivateKeyJWT, Scopes: []string{identity.ScopeEventsPublish},
		PublishTypes: []string{"nl.voorbeeld.*"}, PublishSources: []string{"urn:nld:oin:" + from.Own.OIN() + ":*"}, CertificateKeys: true, CertificateBound: true,
	})
	trial.Must(t, err)
	from.owner, from.clientID, from.url, from.shown = owner, client.ID, to.Base, from.pki.Issue(from.Own.OIN())
	endpoint, err := here.Endpoints.Create(ctx, owner, "", from.input(from.shown))
	trial.Must(t, err)
	sub, err := here.Request(ctx, owner, endpoint.ID, from.eventType)
	trial.Must(t, err)
	trial.Must(t, here.Subscriptions.Approve(ctx, here.Admin, sub.ID))
	from.endpoint, from.sub = endpoint.ID, sub.ID
}

func (s *certifiedSide) input(pair certtest.Pair) partners.EndpointInput {
	return partners.EndpointInput{
		Name: "Schakel", Kind: store.EndpointWebhook, URL: s.url + "/events/v1/events", TokenURL: s.url + "/oauth/token", TokenClientID: s.clientID,
		TokenScope: identity.ScopeEventsPublish, TokenAuthMethod: token.PrivateKeyJWT, Certificate: string(pair.Chain), CertificateKey: string(pair.KeyPEM),
	}
}

// newKey gives the program a key with a certificate that signs its client assertions, and its token issuer another key.
func (s *certifiedSide) newKey(t *testing.T) {
	t.Helper()
	pair, dir := s.pki.Issue(s.Own.OIN()), t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	trial.Must(t, os.WriteFile(cert, pair.Chain, 0o600))
	trial.Must(t, os.WriteFile(key, pair.KeyPEM, 0o600))
	at := []string{"client", "new-key", "--database", s.Database, "--secret-key-file", s.SecretKey}
	for _, args := range [][]string{append(at, "--certificate", cert, "--key", key), at} {
		if code, out := s.Command(t, "", args...); code != 0 {
			t.Fatalf("%q: %d %s", args, code, out)
		}
	}
}

// renew gives the endpoint another client certificate and takes the one before away, and waits until the other side was shown the new one.
func (s *certifiedSide) renew(t *testing.T, other *certifiedSide, round int) {
	t.Helper()
	until := time.Now().AddDate(0, 0, 30+round).Truncate(time.Second)
	pair := s.pki.Issue(s.Own.OIN(), func(c *x509.Certificate) { c.NotAfter = until })
	s.SetUp(t, func(c *demo.Chain) {
		e, err := c.Endpoints.Update(t.Context(), s.owner, s.endpoint, s.input(pair))
		trial.Must(t, err)
		list, err := partners.Certificates(e)
		trial.Must(t, err)
		if len(list) != 2 {
			t.Fatalf("%d certificates", len(list))
		}
		_, err = c.Endpoints.RemoveCertificate(t.Context(), s.owner, s.endpoint, list[1].ID)
		trial.Must(t, err)
	})
	s.shown = pair
	trial.Eventually(t, "the new certificate is shown", func() (seen bool, last string) {
		other.Open(t, func(db *store.DB) {
			client, err := db.Client(t.Context(), s.clientID)
			trial.Must(t, err)
			seen, last = client.CertificateUntil.Equal(until), client.CertificateUntil.String()
		})
		return seen, last
	})
}

// TestCertificatesRotate connects two programs, one on SQLite and one on PostgreSQL, whose organisations have certificates as PKIoverheid gives them, with the OIN in the subject. Each proves
// itself to the other with private_key_jwt, a key that the other knows by its certificate in x5c alone, and uses tokens that are bound to its TLS
// certificate. Events go both ways while keys and certificates of either side change, and none that was acknowledged is lost.
//
// Rules: SEC-02, SEC-05, SEC-06.
func TestCertificatesRotate(t *testing.T) {
	t.Parallel()
	pki := certtest.New(t, time.Now())
	a := newCertified(t, pki, demo.OwnA(), trial.SQLitePath(t), "/a/own", demo.TypeStudentChanged)
	b := newCertified(t, pki, demo.OwnB(), storetest.PostgresURL(t), "/b/own", demo.TypeEnrolled)
	r := trial.NewReceiver(t, a.PKI)
	publishers := map[*certifiedSide]demo.Credentials{}
	a.SetUp(t, func(ca *demo.Chain) {
		b.SetUp(t, func(cb *demo.Chain) {
			for _, s := range []struct {
				*certifiedSide
				*demo.Chain
			}{{a, ca}, {b, cb}} {
				ctx := t.Context()
				trial.Must(t, demo.PublishContracts(ctx, s.Services, s.Chain.Admin))
				publishers[s.certifiedSide] = trial.Must1[demo.Credentials](t)(s.Publisher(ctx, s.Chain.Admin, s.Own))
				_, err := s.Subscribe(ctx, s.Chain.Admin, r.Target("own", s.path), demo.EventTypes()...)
				trial.Must(t, err)
			}
			bInA, ownerInA := partnerOf(t, b.Own, ca)
			aInB, ownerInB := partnerOf(t, a.Own, cb)
			agree(t, a, b, ca, cb, ownerInA, aInB)
			agree(t, b, a, cb, ca, ownerInB, bInA)
		})
	})
	sides := []*certifiedSide{a, b}
	for _, s := range sides {
		s.newKey(t)
		s.Start(t)
	}
	done := make(chan struct{})
	var load sync.WaitGroup
	stop := sync.OnceFunc(func() { close(done); load.Wait() })
	defer stop()
	for _, s := range sides {
		access := s.Token(t, publishers[s], "events.publish")
		for n := range 2 {
			p := &trial.Publisher{Program: s.Program, Ledger: s.ledger, Name: fmt.Sprint(s.path, n), Type: s.eventType}
			load.Go(func() { p.Run(t, access, done) })
		}
	}
	for round := range 3 {
		for i, s := range sides {
			s.newKey(t)
			s.renew(t, sides[1-i], round)
		}
	}
	stop()
	for i, s := range sides {
		s.Drain(t)
		sides[1-i].Drain(t)
		account := s.ledger.Compare(t, s.Program, r, map[string]string{s.sub: sides[1-i].path})
		t.Logf("from %s: %s", s.Own.Name, account)
		if account.Lost > 0 || account.Parked > 0 || account.Events == 0 {
			t.Errorf("from %s: %s; missing %v", s.Own.Name, account, account.Missing)
			s.Explain(t)
			sides[1-i].Explain(t)
		}
	}
	for i, s := range sides {
		s.withoutCertificate(t, sides[1-i])
	}
	for _, s := range sides {
		s.Stop(t)
	}
}

// withoutCertificate sees that the tokens of the exchange are of no use without the certificate: the other side refuses who shows none, and who shows
// another one of the same organisation.
func (s *certifiedSide) withoutCertificate(t *testing.T, other *certifiedSide) {
	t.Helper()
	_, body := trial.NewEvent(s.Own, s.eventType)
	s.SetUp(t, func(c *demo.Chain) {
		key := trial.Must1[[]token.CertifiedKey](t)(c.SigningKeys.AssertionKeys(t.Context()))[0]
		form := tokenForm(t, key, s.clientID, other.Base)
		if status, _ := askToken(t, other, form, nil); status != http.StatusUnauthorized {
			t.Errorf("a token without a TLS certificate: %d", status)
		}
		status, access := askToken(t, other, tokenForm(t, key, s.clientID, other.Base), &s.shown.TLS)
		if status != http.StatusOK || access == "" {
			t.Fatalf("a token with the certificate: %d", status)
		}
		another := s.pki.Issue(s.Own.OIN())
		for name, c := range map[string]struct {
			pair *tls.Certificate
			want int
		}{"none": {nil, http.StatusUnauthorized}, "another": {&another.TLS, http.StatusUnauthorized}, "its own": {&s.shown.TLS, http.StatusAccepted}} {
			if got := publishWith(t, other, access, body, c.pair); got != c.want {
				t.Errorf("a bound token with certificate %s: %d, want %d", name, got, c.want)
			}
		}
	})
}
