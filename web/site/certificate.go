package site

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	"schakel/registry/identity/token"
	"schakel/templates/i18n"
)

// How an API asks for TLS certificates of its callers (SEC-25).
const (
	CertificatesOff     = "off"
	CertificatesRequest = "request" // one that is sent is checked
	CertificatesRequire = "require" // no call without
)

// ErrRevocationUnknown is the error of [CertificatePolicy] when nobody says now whether a certificate was revoked.
var ErrRevocationUnknown = token.ErrRevocationUnknown

// CertificatePolicy holds the APIs where machines prove themselves with a TLS certificate, and the judge of it.
type CertificatePolicy struct {
	// Modes are by the name of an API; one that is not named is CertificatesOff.
	Modes map[string]string
	// Check judges a chain as it was sent, up to a trusted root. Its error is told to the caller.
	Check func(ctx context.Context, chain []*x509.Certificate) error
}

const contextCertificate = "certificate"

// judged is a certificate that was checked for this request.
type judged struct {
	cert *x509.Certificate
	err  error
}

// Certificate returns the certificate with which a machine connected, checked up to a trusted root; nil when it sent none, or when its API
// asks for none. A certificate that is refused, or missing where one is required, is a *Problem (SEC-25).
func (a *App) Certificate(c echo.Context) (*x509.Certificate, error) {
	if a.Cfg.Certificates == nil {
		return nil, nil
	}
	if j, ok := c.Get(contextCertificate).(judged); ok {
		return j.cert, j.err
	}
	var j judged
	area, _ := FindAPI(c.Request().URL.Path)
	if mode := a.Cfg.Certificates.Modes[area.Name]; mode != "" && mode != CertificatesOff {
		j.cert, j.err = a.judge(c, mode)
	}
	c.Set(contextCertificate, j)
	return j.cert, j.err
}

func (a *App) judge(c echo.Context, mode string) (*x509.Certificate, error) {
	chain, err := a.sentChain(c.Request())
	switch {
	case err != nil:
		return nil, NewProblem(http.StatusBadRequest, "certificate-unreadable", i18n.M("site.certificate-unreadable", i18n.Raw(err.Error())))
	case len(chain) == 0 && mode == CertificatesRequire:
		return nil, NewProblem(http.StatusUnauthorized, "certificate-missing", "site.certificate-missing")
	case len(chain) == 0:
		return nil, nil
	}
	err = a.Cfg.Certificates.Check(c.Request().Context(), chain)
	switch {
	case errors.Is(err, ErrRevocationUnknown):
		return nil, RetryLater(http.StatusServiceUnavailable, "certificate-unchecked", "site.certificate-unchecked", time.Minute)
	case err != nil:
		return nil, NewProblem(http.StatusUnauthorized, "certificate-refused", i18n.M("site.certificate-refused", chain[0].Subject.String(), i18n.Raw(err.Error())))
	}
	return chain[0], nil
}

// bound holds the certificate of a request against its token: the client that the token names, and the certificate that the token is for
// (SEC-07, SEC-13, SEC-15).
func (a *App) bound(c echo.Context, claims token.Claims, cert *x509.Certificate) error {
	if claims.Thumbprint != "" {
		sent, err := a.sentChain(c.Request())
		if err != nil || len(sent) == 0 || token.Thumbprint(sent[0]) != claims.Thumbprint {
			return InvalidToken("site.token-bound")
		}
	}
	return CertificateOf(claims.Client, cert)
}

// CertificateOf refuses a certificate that is not one of a client; nil is none.
func CertificateOf(client token.Client, cert *x509.Certificate) error {
	if cert == nil {
		return nil
	}
	wrong, ok := errors.AsType[*token.CertificateError](client.CheckCertificate(cert))
	if !ok {
		return nil
	}
	var text i18n.Message
	switch wrong.Why {
	case token.OtherOIN:
		text = i18n.M("site.certificate.other-oin", wrong.Found, wrong.Wants)
	case token.NoOIN:
		text = i18n.M("site.certificate.no-oin", wrong.Wants)
	case token.PartnerNoOIN:
		text = i18n.M("site.certificate.partner-oin", wrong.Found)
	default:
		text = i18n.M("site.certificate.other-subject", wrong.Found, wrong.Wants)
	}
	return NewProblem(http.StatusForbidden, "certificate-mismatch", text)
}

// sentChain returns the certificates with which a request came, the one of the caller first. Behind a trusted proxy that is named for it those
// of its headers count (RFC 9440); from anybody else these headers are ignored, for certificates are public and callers can send them. The
// own certificate of a trusted proxy never counts.
func (a *App) sentChain(r *http.Request) ([]*x509.Certificate, error) {
	from, trusted := a.fromProxy(r)
	if !trusted {
		if r.TLS == nil {
			return nil, nil
		}
		return r.TLS.PeerCertificates, nil
	}
	leaf, chain := r.Header.Values("Client-Cert"), r.Header.Values("Client-Cert-Chain")
	if len(leaf) == 0 {
		return nil, nil
	}
	if !within(a.Cfg.CertificateProxies, from) {
		a.unnamed.Do(func() {
			a.Cfg.Log.WarnContext(r.Context(), "Client-Cert of a trusted proxy is ignored; name the proxy with --client-certificate-proxy if it sets the header itself, else have it take the header away", "proxy", from.String())
		})
		return nil, nil
	}
	if len(leaf) > 1 {
		return nil, errors.New("there are two headers Client-Cert")
	}
	var certs []*x509.Certificate
	for _, item := range append(leaf, strings.Split(strings.Join(chain, ","), ",")...) {
		item = strings.TrimSpace(item)
		if item == "" {
			continue
		}
		if len(item) < 2 || item[0] != ':' || item[len(item)-1] != ':' {
			return nil, errors.New("a byte sequence between colons is expected in Client-Cert (RFC 9440)")
		}
		der, err := base64.StdEncoding.DecodeString(item[1 : len(item)-1])
		if err != nil {
			return nil, errors.New("the header Client-Cert is not in base64")
		}
		cert, err := x509.ParseCertificate(der)
		if err != nil {
			return nil, errors.New("the header Client-Cert holds no certificate")
		}
		certs = append(certs, cert)
	}
	return certs, nil
}
