package outbound

import (
	"context"
	"crypto/tls"
)

// Certificate is a client certificate with its key, for receivers that ask for one. ID names it: connections and TLS sessions are shared by requests
// with the same ID alone.
type Certificate struct {
	ID  string
	TLS *tls.Certificate
}

// certificateKey is the context key of the client certificate of a request.
type certificateKey struct{}

// WithCertificate returns a context for requests of DoFor that show a client certificate to who asks for one; nil changes nothing.
func WithCertificate(ctx context.Context, c *Certificate) context.Context {
	if c == nil {
		return ctx // as most attempts have it
	}
	return context.WithValue(ctx, certificateKey{}, c)
}

// certificateOf returns the client certificate of a request; nil when it has none.
func certificateOf(ctx context.Context) *Certificate {
	c, _ := ctx.Value(certificateKey{}).(*Certificate)
	return c
}

// AddTo makes TLS show the certificate, also to a receiver that does not name its authority among those that it accepts. On nil it does nothing.
func (c *Certificate) AddTo(cfg *tls.Config) {
	if c == nil {
		return
	}
	cfg.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return c.TLS, nil }
}

// ownerKey tells connections apart: by owner, and by the certificate that they were made with.
type ownerKey struct{ name, certificate string }

func keyOf(name string, c *Certificate) ownerKey {
	if c == nil {
		return ownerKey{name: name}
	}
	return ownerKey{name, c.ID}
}
