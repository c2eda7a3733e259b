package endpointcheck

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"time"

	"schakel/delivery/outbound"
	"schakel/templates/i18n"
)

// checkCertificate rates the certificate (SEC-23, SEC-26) with the handshake that every delivery makes, and reports whether that works.
func (r *run) checkCertificate(ctx context.Context, name string) bool {
	conn, _, err := r.client.Dial(ctx, r.URL)
	if err != nil {
		r.skip(noAnswer(outbound.Kind(err)), "certificate-chain")
		return false
	}
	defer func() { _ = conn.Close() }()
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	cfg := r.client.TLS()
	cfg.ServerName, cfg.Time, cfg.ClientSessionCache = name, r.now, nil
	r.Certificate.AddTo(cfg)
	secure := tls.Client(conn, cfg)
	err = secure.HandshakeContext(ctx)
	chain := secure.ConnectionState().PeerCertificates
	if wrong, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		chain = wrong.UnverifiedCertificates
	}
	if len(chain) == 0 {
		r.add(Finding{Code: "certificate-chain", Result: Fault, Level: Insufficient, Text: "check.text.no-certificate", Remedy: "check.remedy.suites", Received: fmt.Sprint(err)})
		return false
	}
	r.judgeCertificate(chain, name, cfg.RootCAs)
	return err == nil
}

func (r *run) judgeCertificate(chain []*x509.Certificate, name string, roots *x509.CertPool) {
	leaf, now := chain[0], r.now()
	shown := describe(leaf)
	issuers := x509.NewCertPool()
	for _, c := range chain[1:] {
		issuers.AddCert(c)
	}
	// At a moment within its lifetime, so that a chain is not wrong because it has expired.
	_, err := leaf.Verify(x509.VerifyOptions{Roots: roots, Intermediates: issuers, CurrentTime: leaf.NotBefore.Add(leaf.NotAfter.Sub(leaf.NotBefore) / 2)})
	f := Finding{Code: "certificate-chain", Result: Pass, Level: Good, Text: i18n.M("check.text.chain", leaf.Issuer.CommonName), Received: shown}
	if err != nil {
		f.Result, f.Level, f.Text, f.Remedy = Fault, Insufficient, "check.text.chain-unknown", "check.remedy.chain"
		if len(chain) == 1 && leaf.Issuer.String() != leaf.Subject.String() {
			f.Remedy = "check.remedy.chain-short"
		}
		f.Received += err.Error()
	}
	r.add(f)

	f = Finding{Code: "certificate-name", Result: Pass, Level: Good, Text: i18n.M("check.text.name", name)}
	if err := leaf.VerifyHostname(name); err != nil {
		f.Result, f.Level, f.Text, f.Remedy, f.Received = Fault, Insufficient, i18n.M("check.text.name-wrong", name), "check.remedy.name", shown
	}
	r.add(f)

	f = Finding{Code: "certificate-dates", Result: Pass, Level: Good, Text: i18n.M("check.text.until", leaf.NotAfter)}
	switch {
	case now.After(leaf.NotAfter):
		f.Result, f.Level, f.Text, f.Remedy = Fault, Insufficient, i18n.M("check.text.expired", leaf.NotAfter), "check.remedy.dates"
	case now.Before(leaf.NotBefore):
		f.Result, f.Level, f.Text, f.Remedy = Fault, Insufficient, i18n.M("check.text.not-yet", leaf.NotBefore), "check.remedy.dates"
	case leaf.NotAfter.Sub(now) < min(30*24*time.Hour, leaf.NotAfter.Sub(leaf.NotBefore)/4):
		f.Result, f.Text, f.Remedy = Advice, i18n.M("check.text.ends-soon", leaf.NotAfter), "check.remedy.dates"
	}
	r.add(f)

	level, key := keyLevel(leaf.PublicKey)
	f = Finding{Code: "certificate-key", Result: byLevel(level), Level: level, Text: i18n.M("check.text.key", key)}
	if f.Result != Pass {
		f.Remedy = "check.remedy.key"
	}
	r.add(f)

	level, signed := Good, leaf.SignatureAlgorithm
	for _, c := range chain {
		if c.Issuer.String() == c.Subject.String() && c != leaf {
			continue // nobody looks at the signature of a root
		}
		if l := signatureLevel(c.SignatureAlgorithm); worse(level, l) != level {
			level, signed = l, c.SignatureAlgorithm
		}
	}
	f = Finding{Code: "certificate-signature", Result: byLevel(level), Level: level, Text: i18n.M("check.text.signature", signed.String())}
	if f.Result != Pass {
		f.Remedy = "check.remedy.certificate-signature"
	}
	r.add(f)
}

// describe shows a certificate in a few lines.
func describe(c *x509.Certificate) string {
	names := strings.Join(c.DNSNames, ", ")
	for _, ip := range c.IPAddresses {
		names += " " + ip.String()
	}
	return fmt.Sprintf("Subject: %s\nIssuer: %s\nNames: %s\nValid: %s to %s\n", c.Subject, c.Issuer, names, c.NotBefore.UTC().Format(time.DateOnly), c.NotAfter.UTC().Format(time.DateOnly))
}

// keyLevel rates the key of a certificate, and names it (SEC-23).
func keyLevel(key any) (Level, string) {
	switch k := key.(type) {
	case *rsa.PublicKey:
		bits := k.N.BitLen()
		switch {
		case bits >= 3072:
			return Good, fmt.Sprintf("RSA %d", bits)
		case bits >= 2048:
			return PhaseOut, fmt.Sprintf("RSA %d", bits)
		}
		return Insufficient, fmt.Sprintf("RSA %d", bits)
	case *ecdsa.PublicKey:
		bits := k.Curve.Params().BitSize
		if bits < 256 {
			return PhaseOut, fmt.Sprintf("EC %d", bits)
		}
		return Good, k.Curve.Params().Name
	case ed25519.PublicKey:
		return Good, "Ed25519"
	}
	return Insufficient, "?"
}

func signatureLevel(a x509.SignatureAlgorithm) Level {
	switch a {
	case x509.SHA256WithRSA, x509.SHA384WithRSA, x509.SHA512WithRSA, x509.SHA256WithRSAPSS, x509.SHA384WithRSAPSS, x509.SHA512WithRSAPSS,
		x509.ECDSAWithSHA256, x509.ECDSAWithSHA384, x509.ECDSAWithSHA512, x509.PureEd25519:
		return Good
	}
	return Insufficient
}
