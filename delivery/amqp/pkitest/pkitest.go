// Package pkitest makes a public key infrastructure for tests: a root, an intermediate, leaves for the usages of the profile, and
// a responder and revocation lists on loopback that can be made to fail. Only tests may import it.
package pkitest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/crypto/ocsp"
)

// Leaf is a certificate with its key. It can be converted to cms.Identity.
type Leaf struct {
	Certificate *x509.Certificate
	Key         crypto.PrivateKey // an *rsa.PrivateKey of 2048 bits
}

// PKI is a root with one intermediate that signs leaves, and its server. It is safe for concurrent use.
type PKI struct {
	Root         *x509.Certificate
	Intermediate *x509.Certificate
	Server       *httptest.Server // responder and lists

	t       testing.TB
	now     func() time.Time
	rootKey *ecdsa.PrivateKey
	key     *ecdsa.PrivateKey // of the intermediate
	serial  atomic.Int64
	leaves  atomic.Int64

	above               []*x509.Certificate // issuers between the intermediate and the root
	helper, falseHelper Leaf                // a responder named by the issuer, and one that is not

	mu       sync.Mutex
	mode     Mode
	listMode Mode
	revoked  map[string]time.Time // by serial number
	asked    map[string]int       // requests by path
}

// New makes a PKI whose certificates are valid around the clock's present:
// issuers for ten years, leaves for two. Its server ends with the test.
func New(t testing.TB, now func() time.Time) *PKI {
	t.Helper()
	p := start(t, now)
	p.Root = p.sign(p.issuer("Test Root"), &p.rootKey.PublicKey, nil, p.rootKey)
	p.Intermediate = p.sign(p.issuer("Test Issuer"), &p.key.PublicKey, p.Root, p.rootKey)
	p.name()
	return p
}

// SubIssuer makes an issuer below the intermediate of p. It has a server of its
// own for its leaves; about itself one asks that of p.
func (p *PKI) SubIssuer() *PKI {
	p.t.Helper()
	sub := start(p.t, p.now)
	template := p.issuer("Test Sub Issuer")
	template.OCSPServer = []string{p.Server.URL + "/ocsp"}
	sub.Root, sub.above = p.Root, p.Issuers()
	sub.Intermediate = p.sign(template, &sub.key.PublicKey, p.Intermediate, p.key)
	sub.name()
	return sub
}

func start(t testing.TB, now func() time.Time) *PKI {
	p := &PKI{t: t, now: now, revoked: map[string]time.Time{}, asked: map[string]int{}}
	p.Server = httptest.NewServer(p.handler())
	t.Cleanup(p.Server.Close)
	p.rootKey, p.key = p.newCAKey(), p.newCAKey()
	return p
}

// name makes the responders that are not the issuer itself.
func (p *PKI) name() {
	p.helper = p.leaf(p.newCAKey(), x509.KeyUsageDigitalSignature, func(c *x509.Certificate) {
		c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageOCSPSigning}
	})
	p.falseHelper = p.leaf(p.newCAKey(), x509.KeyUsageDigitalSignature)
}

// Issuers gives what stands between a leaf and the root.
func (p *PKI) Issuers() []*x509.Certificate {
	return append([]*x509.Certificate{p.Intermediate}, p.above...)
}

// Leaf makes a certificate. Each change may alter the template before it is signed.
func (p *PKI) Leaf(usage x509.KeyUsage, changes ...func(*x509.Certificate)) Leaf {
	p.t.Helper()
	return p.leaf(rsaKey(p.t, int(p.leaves.Add(1))), usage, changes...)
}

func (p *PKI) leaf(key crypto.Signer, usage x509.KeyUsage, changes ...func(*x509.Certificate)) Leaf {
	serial := p.serial.Add(1)
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(serial + 1000),
		Subject:               pkix.Name{CommonName: "Test Enterprise", Organization: []string{"Test"}},
		NotBefore:             p.now().AddDate(-1, 0, 0),
		NotAfter:              p.now().AddDate(1, 0, 0),
		KeyUsage:              usage,
		BasicConstraintsValid: true,
		SubjectKeyId:          big.NewInt(serial + 1<<40).Bytes(),
		OCSPServer:            []string{p.Server.URL + "/ocsp"},
		CRLDistributionPoints: []string{p.Server.URL + "/crl"},
	}
	for _, change := range changes {
		change(template)
	}
	return Leaf{p.sign(template, key.Public(), p.Intermediate, p.key), key}
}

// Signer makes a certificate for non-repudiation.
func (p *PKI) Signer(changes ...func(*x509.Certificate)) Leaf {
	p.t.Helper()
	return p.Leaf(x509.KeyUsageContentCommitment, changes...)
}

// Recipient makes a certificate for data encipherment and key encipherment.
func (p *PKI) Recipient(changes ...func(*x509.Certificate)) Leaf {
	p.t.Helper()
	return p.Leaf(x509.KeyUsageDataEncipherment|x509.KeyUsageKeyEncipherment, changes...)
}

// Valid is a change for Leaf: it sets the validity.
func Valid(from, until time.Time) func(*x509.Certificate) {
	return func(c *x509.Certificate) { c.NotBefore, c.NotAfter = from, until }
}

// WithoutOCSP is a change for Leaf: only a revocation list is named.
func WithoutOCSP(c *x509.Certificate) { c.OCSPServer = nil }

// WithoutCRL is a change for Leaf: only a responder is named.
func WithoutCRL(c *x509.Certificate) { c.CRLDistributionPoints = nil }

func (p *PKI) issuer(name string) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber:          big.NewInt(p.serial.Add(1)),
		Subject:               pkix.Name{CommonName: name, SerialNumber: rand.Text()},
		NotBefore:             p.now().AddDate(-5, 0, 0),
		NotAfter:              p.now().AddDate(5, 0, 0),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
}

// sign makes a certificate; without a parent it signs itself.
func (p *PKI) sign(template *x509.Certificate, public any, parent *x509.Certificate, key crypto.Signer) *x509.Certificate {
	if parent == nil {
		parent = template
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, key)
	if err != nil {
		p.t.Fatal(err)
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		p.t.Fatal(err)
	}
	return c
}

func (p *PKI) newCAKey() *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		p.t.Fatal(err)
	}
	return key
}

// rsaKeys are made once a process: they are slow to make. Leaves that follow one another have different ones.
var rsaKeys [4]struct {
	once sync.Once
	key  *rsa.PrivateKey
	err  error
}

func rsaKey(t testing.TB, i int) *rsa.PrivateKey {
	t.Helper()
	slot := &rsaKeys[i%len(rsaKeys)]
	slot.once.Do(func() { slot.key, slot.err = rsa.GenerateKey(rand.Reader, 2048) })
	if slot.err != nil {
		t.Fatal(slot.err)
	}
	return slot.key
}

// Mode sets the behaviour of the responder or the list.
type Mode int

// The modes. Good is the beginning.
const (
	Good         Mode = iota // honest: revoked certificates are revoked, the others good
	Unknown                  // knows no certificate; for a list the same as Good
	Stale                    // honest, but its answers ended yesterday
	BadSignature             // signed by somebody else
	Garbage                  // answers with something that is no answer
	Down                     // answers 503
	Delegated                // honest, signed by a responder named by the issuer; for a list the same as Good
	FalseHelper              // signed by a leaf of the issuer that is no responder; for a list the same as Good
	Hangs                    // does not answer until the client goes away
)

// SetOCSP tells the responder how to behave from now on.
func (p *PKI) SetOCSP(mode Mode) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mode = mode
}

// SetCRL tells the revocation list how to behave from now on.
func (p *PKI) SetCRL(mode Mode) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.listMode = mode
}

// Revoke takes a certificate back, both at the responder and in the list.
func (p *PKI) Revoke(c *x509.Certificate) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.revoked[c.SerialNumber.String()] = p.now().Add(-time.Hour)
}

// Asked counts the requests to the responder ("/ocsp") or for the list ("/crl").
func (p *PKI) Asked(path string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked[path]
}

func (p *PKI) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /ocsp", p.serve("/ocsp", func() Mode { return p.mode }, p.answer))
	mux.HandleFunc("GET /crl", p.serve("/crl", func() Mode { return p.listMode }, p.list))
	return mux
}

// serve counts, does what is the same for both, and writes what make gives.
func (p *PKI) serve(path string, mode func() Mode, make func(Mode, []byte) ([]byte, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		p.asked[path]++
		now := mode()
		p.mu.Unlock()
		question, err := io.ReadAll(io.LimitReader(r.Body, 1<<16))
		if now == Hangs {
			<-r.Context().Done()
			return
		}
		body := []byte("no answer at all")
		if err == nil && now != Garbage && now != Down {
			body, err = make(now, question)
		}
		if err != nil || now == Down {
			http.Error(w, "down", http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write(body) // the client may have gone
	}
}

func (p *PKI) answer(mode Mode, question []byte) ([]byte, error) {
	request, err := ocsp.ParseRequest(question)
	if err != nil {
		return nil, err
	}
	template := ocsp.Response{
		Status: ocsp.Good, SerialNumber: request.SerialNumber,
		ThisUpdate: p.now().Add(-time.Minute), NextUpdate: p.now().Add(24 * time.Hour),
	}
	if at, revoked := p.revokedAt(request.SerialNumber); revoked {
		template.Status, template.RevokedAt = ocsp.Revoked, at
	}
	signer, key := p.Intermediate, crypto.Signer(p.key)
	switch mode {
	case Unknown:
		template.Status = ocsp.Unknown
	case Stale:
		template.ThisUpdate, template.NextUpdate = p.now().AddDate(0, 0, -2), p.now().AddDate(0, 0, -1)
	case BadSignature:
		key = p.rootKey
	case Delegated, FalseHelper:
		helper := p.helper
		if mode == FalseHelper {
			helper = p.falseHelper
		}
		signer, template.Certificate = helper.Certificate, helper.Certificate
		key, _ = helper.Key.(crypto.Signer)
	}
	return ocsp.CreateResponse(p.Intermediate, signer, template, key)
}

func (p *PKI) list(mode Mode, _ []byte) ([]byte, error) {
	template := &x509.RevocationList{
		Number: big.NewInt(1), ThisUpdate: p.now().Add(-time.Minute), NextUpdate: p.now().Add(24 * time.Hour),
	}
	p.mu.Lock()
	for serial, at := range p.revoked {
		number, _ := new(big.Int).SetString(serial, 10)
		template.RevokedCertificateEntries = append(template.RevokedCertificateEntries,
			x509.RevocationListEntry{SerialNumber: number, RevocationTime: at})
	}
	p.mu.Unlock()
	if mode == Stale {
		template.ThisUpdate, template.NextUpdate = p.now().AddDate(0, 0, -2), p.now().AddDate(0, 0, -1)
	}
	der, err := x509.CreateRevocationList(rand.Reader, template, p.Intermediate, p.key)
	if err == nil && mode == BadSignature {
		der[len(der)-1] ^= 1
	}
	return der, err
}

func (p *PKI) revokedAt(serial *big.Int) (time.Time, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at, ok := p.revoked[serial.String()]
	return at, ok
}
