package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"schakel/delivery/amqp/certs/certtest"
	"schakel/server/cli"
	"schakel/web/site"
)

// A wrong flag of client certificates is refused with the reason; each API has its own mode.
//
// Rules: SEC-25.
func TestClientCertificateFlags(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pki := certtest.New(t, time.Now())
	file := func(name string, content []byte) string {
		path := filepath.Join(dir, name)
		must(t, os.WriteFile(path, content, 0o600))
		return path
	}
	roots := file("roots.pem", certtest.PEM(pki.Root, pki.Between))
	for want, f := range map[string]ClientCertificateFlags{
		"":                    {ClientCertificates: []string{"request", "events=require", "oauth=off"}, ClientCA: []string{roots}},
		"neither off":         {ClientCertificates: []string{"always"}, ClientCA: []string{roots}},
		"no API":              {ClientCertificates: []string{"portal=require"}, ClientCA: []string{roots}},
		"--client-ca":         {ClientCertificates: []string{"events=request"}},
		"no PEM":              {ClientCA: []string{file("empty", []byte("nothing"))}},
		"intermediates alone": {ClientCA: []string{file("between.pem", certtest.PEM(pki.Between))}},
		"no such file":        {ClientCA: []string{filepath.Join(dir, "missing")}},
	} {
		err := f.CheckFlags()
		if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
	f := ClientCertificateFlags{ClientCertificates: []string{"request", "events=require", "oauth=off"}, ClientCA: []string{roots}}
	if err := (ServeCmd{ClientCertificateFlags: f}).CheckFlags(); err == nil || !strings.Contains(err.Error(), "--client-certificate-proxy") {
		t.Errorf("neither TLS nor a proxy: %v", err)
	}
	all, one := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/24")}, []netip.Prefix{netip.MustParsePrefix("10.0.0.1/32")}
	if err := (ServeCmd{ClientCertificateFlags: f, HTTPFlags: HTTPFlags{TrustedProxy: all}}).CheckFlags(); err == nil {
		t.Error("a proxy that hands no certificates on is enough")
	}
	must(t, (ServeCmd{ClientCertificateFlags: f, HTTPFlags: HTTPFlags{TrustedProxy: all, ClientCertificateProxy: one}}).CheckFlags())
	must(t, HTTPFlags{TrustedProxy: all, ClientCertificateProxy: one}.CheckFlags())
	for _, trusted := range [][]netip.Prefix{nil, {netip.MustParsePrefix("10.0.1.0/24")}, {netip.MustParsePrefix("10.0.0.1/32")}} {
		if err := (HTTPFlags{TrustedProxy: trusted, ClientCertificateProxy: all}).CheckFlags(); err == nil || !strings.Contains(err.Error(), "10.0.0.0/24: name it with --trusted-proxy") {
			t.Errorf("certificates of a proxy that is not trusted, by %v: %v", trusted, err)
		}
	}
	modes, err := f.modes()
	if err != nil || modes["events"] != "require" || modes["registry"] != "request" || modes["oauth"] != "off" || f.asks("oauth") || !f.asks("mutations") {
		t.Errorf("modes %v, %v", modes, err)
	}
	var cfg tls.Config
	must(t, f.askFor(&cfg))
	if cfg.ClientAuth != tls.RequestClientCert || !cfg.ClientCAs.Equal(poolOf(pki.Root)) {
		t.Error("browsers would be asked for any certificate")
	}
	// Without anybody to ask about revocation: refused, tried, or not asked.
	leaf, listed := pki.Issue("00000001234567890000"), file("list.crl", pki.CRL())
	for _, tc := range []struct {
		revocation string
		lists      []string
		good       bool
		unknown    bool
	}{
		{"require", nil, false, false},
		{"try", nil, true, false},
		{"off", nil, true, false},
		{"require", []string{listed}, true, false},
		{"require", []string{filepath.Join(dir, "missing.crl")}, false, true},
		{"try", []string{filepath.Join(dir, "missing.crl")}, true, false},
	} {
		f.ClientRevocation, f.ClientCRL = tc.revocation, tc.lists
		policy, err := f.policy(cli.OutboundFlags{}, slog.New(slog.DiscardHandler))
		must(t, err)
		err = policy.Check(context.Background(), []*x509.Certificate{leaf.Cert}) // its intermediate is in --client-ca
		if (err == nil) != tc.good || errors.Is(err, site.ErrRevocationUnknown) != tc.unknown {
			t.Errorf("%s with %v: %v", tc.revocation, tc.lists, err)
		}
	}
}

func poolOf(c *x509.Certificate) *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(c)
	return pool
}
