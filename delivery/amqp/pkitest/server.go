package pkitest

import (
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"io"
	"math/big"
	"net/http"
	"time"

	"golang.org/x/crypto/ocsp"
)

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
