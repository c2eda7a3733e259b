package services

import (
	"crypto/x509"
	"strings"
	"testing"
	"time"

	"schakel/registry"
	"schakel/registry/identity/token"
	"schakel/registry/partners"
	"schakel/store"
)

// A client certificate that cannot prove anything is refused beside its field, and tls_client_auth without one.
func TestCertificateInput(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		_, actor := w.partner(t, "Noord", goodOIN, "anna@noord.example")
		pki := newPKI(t, w.clock.Now())
		good, other := pki.Issue(goodOIN), pki.Issue(goodOIN)
		server := pki.Issue(goodOIN, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} })
		old := pki.Issue(goodOIN, func(c *x509.Certificate) {
			c.NotAfter = w.clock.Now().Add(-time.Hour)
			c.NotBefore = c.NotAfter.Add(-time.Hour)
		})
		for name, tt := range map[string]struct {
			field     string
			cert, key []byte
		}{
			"no key":         {"certificateKey", good.Chain, nil},
			"no certificate": {"certificate", nil, good.KeyPEM},
			"no PEM":         {"certificate", []byte("certificate"), good.KeyPEM},
			"a key":          {"certificate", good.KeyPEM, good.KeyPEM},
			"no PEM key":     {"certificateKey", good.Chain, []byte("key")},
			"broken key":     {"certificateKey", good.Chain, []byte("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----")},
			"password":       {"certificateKey", good.Chain, []byte("-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----")},
			"another key":    {"certificateKey", good.Chain, other.KeyPEM},
			"authority":      {"certificate", certificatePEM(pki.Between), good.KeyPEM},
			"two leaves":     {"certificate", append(append([]byte{}, good.Chain...), other.Chain...), good.KeyPEM},
			"of a server":    {"certificate", server.Chain, server.KeyPEM},
			"expired":        {"certificate", old.Chain, old.KeyPEM},
		} {
			in := webhook()
			in.Certificate, in.CertificateKey = string(tt.cert), string(tt.key)
			_, err := w.Endpoints.Create(t.Context(), actor, "", in)
			wantOneField(t, name, tt.field, err)
		}
		in := webhook()
		in.TokenAuthMethod, in.TokenSecret = token.TLSClientAuth, ""
		_, err := w.Endpoints.Create(t.Context(), actor, "", in)
		wantOneField(t, "tls_client_auth without a certificate", "certificate", err)
		w.configure(t, func(c *registry.Config) {
			c.ShowsCertificate, c.ServedKinds = true, []string{store.EndpointWebhook, store.EndpointPull}
		})
		_, err = w.Endpoints.Create(t.Context(), actor, "", in)
		must(t, err)
		in = partners.EndpointInput{Name: "Fetch", Kind: store.EndpointPull, Certificate: string(good.Chain), CertificateKey: string(good.KeyPEM)}
		if e, err := w.Endpoints.Create(t.Context(), actor, "", in); err != nil || e.Certificates != "" {
			t.Errorf("where nothing is sent: %q, %v", e.Certificates, err)
		}
	})
}

// A new certificate is shown after its time, beside the old one until then; its key is sealed, people are mailed the difference, and the last one of
// an endpoint that needs it stays.
func TestCertificateRotation(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		_, actor := w.partner(t, "Noord", goodOIN, "anna@noord.example")
		pki := newPKI(t, w.clock.Now())
		first, second := pki.Issue(goodOIN), pki.Issue(goodOIN)
		in := webhook()
		in.TokenAuthMethod, in.TokenSecret = token.TLSClientAuth, ""
		in.Certificate, in.CertificateKey = string(first.Chain), string(first.KeyPEM)
		e, err := w.Endpoints.Create(ctx, actor, "", in)
		must(t, err)
		if strings.Contains(e.Certificates, "PRIVATE KEY") || e.Certificates == "" {
			t.Fatalf("stored %q", e.Certificates)
		}
		_, err = w.Endpoints.Update(ctx, actor, e.ID, in)
		wantOneField(t, "the same again", "certificate", err)
		in.Certificate, in.CertificateKey, in.CertificateWaitHours = string(second.Chain), string(second.KeyPEM), 48
		e, err = w.Endpoints.Update(ctx, actor, e.ID, in)
		must(t, err)
		list, err := partners.Certificates(e)
		must(t, err)
		if len(list) != 2 || list[0].Subject != second.Cert.Subject.String() || list[0].Issuer != pki.Between.Subject.String() {
			t.Fatalf("%+v", list)
		}
		shown := func(after time.Duration) string {
			t.Helper()
			cert, id, until, err := w.Endpoints.ClientCertificate(e, w.clock.Now().Add(after))
			must(t, err)
			if cert == nil || len(cert.Certificate) != 2 || cert.PrivateKey == nil {
				t.Fatalf("after %s: %+v", after, cert)
			}
			if !until.IsZero() && !until.After(w.clock.Now().Add(after)) {
				t.Errorf("after %s: until %s", after, until)
			}
			return id
		}
		if shown(time.Hour) != list[1].ID || shown(47*time.Hour) != list[1].ID || shown(49*time.Hour) != list[0].ID {
			t.Error("the new one is not shown from its time on")
		}
		if shown(91*24*time.Hour) != list[0].ID {
			t.Error("not the newest when all have ended")
		}
		in.Certificate, in.CertificateKey = "", ""
		if e, err = w.Endpoints.Update(ctx, actor, e.ID, in); err != nil {
			t.Fatal(err)
		}
		if kept, err := partners.Certificates(e); err != nil || len(kept) != 2 {
			t.Errorf("an update without one: %+v, %v", kept, err)
		}
		body := ""
		mails, _, err := w.db.Mails(ctx, store.Page{Size: 100})
		must(t, err)
		for _, m := range mails {
			opened, err := w.Mails.Get(ctx, w.admin, m.ID)
			must(t, err)
			body += opened.Body
		}
		if !strings.Contains(body, "Client certificates") || !strings.Contains(body, second.Cert.NotAfter.UTC().Format(time.DateOnly)) || strings.Contains(body, "PRIVATE KEY") {
			t.Errorf("mails: %s", body)
		}
		_, stranger := w.partner(t, "Zuid", "00000003123456780000", "bob@zuid.example")
		_, err = w.Endpoints.RemoveCertificate(ctx, stranger, e.ID, list[1].ID)
		wantCode(t, "a stranger removes it", registry.CodeNotFound, err)
		_, err = w.Endpoints.RemoveCertificate(ctx, actor, e.ID, list[1].ID)
		must(t, err)
		_, err = w.Endpoints.RemoveCertificate(ctx, actor, e.ID, list[0].ID)
		wantCode(t, "the last one goes", registry.CodeConflict, err)
		must(t, w.Endpoints.End(ctx, actor, e.ID, "over"))
		if e, err = w.db.Endpoint(ctx, e.ID); err != nil || e.Certificates != "" {
			t.Errorf("an endpoint that ended keeps keys: %v", err)
		}
	})
}
