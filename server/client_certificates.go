package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"schakel/delivery/amqp/certs"
	"schakel/registry/installation"
	"schakel/server/cli"
	"schakel/store"
	"schakel/web/site"
)

// ClientCertificateFlags are about the TLS certificates of machines that call our APIs.
type ClientCertificateFlags struct {
	ClientCertificates []string `placeholder:"MODE|API=MODE" help:"Whether machines that call our APIs prove themselves with a TLS certificate: off, request (one that is sent is checked) or require. For all APIs, or for one of events, registry, mutations and oauth (the token endpoint), as events=require (repeatable). Default: off."`
	ClientCA           []string `name:"client-ca" placeholder:"FILE" help:"PEM file with the roots of those certificates, and intermediates that callers may leave out (repeatable). Certificates in assertions (x5c) are held against them too. Read at the start."`
	ClientCRL          []string `name:"client-crl" placeholder:"FILE|URL" help:"Revocation list of their issuers, DER or PEM, looked at before the addresses in a certificate (repeatable). A file is read again each minute, an address each hour or at the end of its list."`
	ClientRevocation   string   `enum:"require,try,off" default:"require" help:"When nobody can say whether a certificate was revoked: require refuses it, try accepts it. off never asks, for a test PKI."`
}

// certificateAPIs are the APIs that can ask for certificates.
func certificateAPIs() []string { return []string{"events", "registry", "mutations", "oauth"} }

// modes reads --client-certificates.
func (f ClientCertificateFlags) modes() (map[string]string, error) {
	modes := map[string]string{}
	for _, given := range f.ClientCertificates {
		area, mode, one := strings.Cut(given, "=")
		if !one {
			area, mode = "", given
		}
		if !slices.Contains([]string{site.CertificatesOff, site.CertificatesRequest, site.CertificatesRequire}, mode) {
			return nil, fmt.Errorf("--client-certificates: %q is neither off, request nor require", mode)
		}
		if one && !slices.Contains(certificateAPIs(), area) {
			return nil, fmt.Errorf("--client-certificates: there is no API %q; there are %s", area, strings.Join(certificateAPIs(), ", "))
		}
		for _, a := range certificateAPIs() {
			if one && a == area || !one && modes[a] == "" {
				modes[a] = mode
			}
		}
	}
	return modes, nil
}

// asks reports whether one of these APIs asks for certificates.
func (f ClientCertificateFlags) asks(areas ...string) bool {
	modes, _ := f.modes() // they were checked at the start
	return slices.ContainsFunc(areas, func(a string) bool { return modes[a] != "" && modes[a] != site.CertificatesOff })
}

// CheckFlags checks what flags cannot say one by one.
func (f ClientCertificateFlags) CheckFlags() error {
	if _, err := f.modes(); err != nil {
		return err
	}
	if f.asks(certificateAPIs()...) && len(f.ClientCA) == 0 {
		return errors.New("--client-certificates needs --client-ca: the roots that certificates are held against")
	}
	_, _, err := f.authorities()
	return err
}

// authorities reads the roots, and the intermediates beside them.
func (f ClientCertificateFlags) authorities() (roots []certs.Anchor, between []*x509.Certificate, err error) {
	for _, path := range f.ClientCA {
		raw, err := os.ReadFile(path)
		if err != nil {
			return nil, nil, fmt.Errorf("read --client-ca: %w", err)
		}
		found := 0
		for block, rest := pem.Decode(raw); block != nil; block, rest = pem.Decode(rest) {
			c, err := x509.ParseCertificate(block.Bytes)
			if err != nil {
				return nil, nil, fmt.Errorf("read --client-ca %s: %w", path, err)
			}
			found++
			if c.CheckSignatureFrom(c) == nil {
				roots = append(roots, certs.Anchor{Certificate: c, NoRevocation: f.ClientRevocation == "off"})
			} else {
				between = append(between, c)
			}
		}
		if found == 0 {
			return nil, nil, fmt.Errorf("read --client-ca: %s holds no PEM certificate", path)
		}
	}
	if len(between) > 0 && len(roots) == 0 {
		return nil, nil, errors.New("--client-ca holds intermediates alone: the root that signed them is needed")
	}
	return roots, between, nil
}

// policy makes what judges certificates; nil when there are no roots to hold them against.
func (f ClientCertificateFlags) policy(out cli.OutboundFlags, log *slog.Logger) (*site.CertificatePolicy, error) {
	roots, between, err := f.authorities()
	if err != nil || len(roots) == 0 {
		return nil, err
	}
	modes, err := f.modes()
	if err != nil {
		return nil, err
	}
	client, err := out.RevocationHTTP()
	if err != nil {
		return nil, err
	}
	v := certs.New(certs.Config{
		Roots: roots, Intermediates: between, HTTP: out.Servers.For(installation.ExpiryRevocation, client), Now: cli.Clock, Lists: f.ClientCRL, Soft: f.ClientRevocation == "try", RestAfter: revocationRest,
	})
	check := func(ctx context.Context, chain []*x509.Certificate) error {
		_, err := v.Check(ctx, chain[0], chain[1:], certs.Client)
		if e, ok := errors.AsType[*certs.Error](err); ok {
			if e.Kind == certs.Unavailable {
				log.WarnContext(ctx, "nobody says whether a client certificate was revoked", "subject", chain[0].Subject.String(), "error", err)
				return fmt.Errorf("%w: %s", site.ErrRevocationUnknown, e.Detail)
			}
			if e.Detail == "" {
				return errors.New(string(e.Kind))
			}
			return fmt.Errorf("%s: %s", e.Kind, e.Detail)
		}
		return err
	}
	return &site.CertificatePolicy{Modes: modes, Check: check}, nil
}

// askFor makes a server ask for certificates below our roots, so that a browser has none to offer. The API that is called judges them: it
// can give the reason of a refusal.
func (f ClientCertificateFlags) askFor(cfg *tls.Config) error {
	roots, _, err := f.authorities()
	if err != nil || !f.asks(certificateAPIs()...) {
		return err
	}
	cfg.ClientAuth, cfg.ClientCAs = tls.RequestClientCert, x509.NewCertPool()
	for _, root := range roots {
		cfg.ClientCAs.AddCert(root.Certificate)
	}
	return nil
}

// noteCertificate records the certificate that a client showed, once for each.
func noteCertificate(db *store.DB, log *slog.Logger) func(context.Context, string, *x509.Certificate) {
	return func(ctx context.Context, clientID string, cert *x509.Certificate) {
		known, err := db.Client(ctx, clientID)
		if err != nil || known.CertificateUntil.Equal(cert.NotAfter.Truncate(time.Microsecond)) {
			return
		}
		err = db.Write(ctx, func(tx *store.Tx) error {
			return tx.NoteClientCertificate(ctx, clientID, cert.Subject.String(), store.At(cert.NotAfter))
		})
		if err != nil {
			log.WarnContext(ctx, "the certificate of a client is not noted", "client", clientID, "error", err)
		}
	}
}
