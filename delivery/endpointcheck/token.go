package endpointcheck

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"time"

	"schakel/delivery/outbound"
	"schakel/delivery/webhook"
	"schakel/templates/i18n"
)

// longestLifetime is the longest that a token should live (SEC-09).
const longestLifetime = 6 * time.Hour

// asksToken reports whether the endpoint has a token endpoint.
func (r *run) asksToken() bool { return r.Token != nil && r.Token.AuthMethod != webhook.AuthNone }

// checkTokens gets a token, and sees that a wrong secret gets none.
func (r *run) checkTokens(ctx context.Context) {
	if !r.asksToken() {
		r.skip("check.text.no-token-endpoint", "token", "token-secret", "token-lifetime")
		return
	}
	sent := fmt.Sprintf("POST %s\ngrant_type=client_credentials, client_id=%s, %s", shownURL(r.Token.TokenURL), r.Token.ClientID, r.Token.AuthMethod)
	got, err := r.sender.Ask(ctx, *r.Token)
	if failure, ok := errors.AsType[*webhook.TokenError](err); ok {
		f := Finding{Code: "token", Result: Fault, Text: i18n.M("check.text.token-none", failure.Code), Remedy: "check.remedy.token", Sent: sent, Received: failure.Detail}
		if failure.Status >= 300 && failure.Status < 400 {
			f.Remedy = "check.remedy.token-moved"
		}
		r.add(f)
		return
	}
	if err != nil {
		return // the context ended
	}
	r.token = string(got.Token)
	r.add(Finding{Code: "token", Result: Pass, Text: "check.text.token", Sent: sent})
	life := Finding{Code: "token-lifetime", Result: Pass, Text: i18n.M("check.text.lifetime", int64(got.Stated/time.Minute))}
	switch {
	case got.Stated == 0:
		life.Result, life.Text, life.Remedy = Advice, "check.text.lifetime-none", "check.remedy.lifetime-none"
	case got.Stated > longestLifetime:
		life.Result, life.Remedy = Advice, "check.remedy.lifetime"
	}
	r.add(life)
	r.checkSecret(ctx)
}

// checkSecret asks a token with a secret, or a signature, that cannot be right.
func (r *run) checkSecret(ctx context.Context) {
	wrong, sender := *r.Token, r.sender
	switch wrong.AuthMethod {
	case webhook.AuthPrivateKey:
		sender = r.wrong
	case webhook.AuthTLS:
		stranger, err := strangerCertificate(r.now())
		if err != nil {
			return
		}
		wrong.Certificate = stranger
	default:
		wrong.Secret = webhook.Secret("not-" + rand.Text())
	}
	_, err := sender.Ask(ctx, wrong)
	f := Finding{Code: "token-secret", Result: Pass, Sent: "POST " + shownURL(wrong.TokenURL) + ", " + wrong.AuthMethod}
	failure, refused := errors.AsType[*webhook.TokenError](err)
	switch {
	case err == nil:
		f.Result, f.Text, f.Remedy = Fault, "check.text.secret-any", "check.remedy.secret"
	case !refused:
		return
	case failure.Status == 0 && wrong.AuthMethod == webhook.AuthTLS:
		f.Text, f.Received = "check.text.certificate-refused", failure.Detail
	case failure.Status == http.StatusUnauthorized || failure.Status == http.StatusBadRequest || failure.Status == http.StatusForbidden:
		f.Text, f.Received = answered(failure.Status), failure.Detail
	default:
		f.Result, f.Text, f.Remedy, f.Received = Advice, i18n.M("check.text.token-none", failure.Code), "check.remedy.secret-answer", failure.Detail
	}
	r.add(f)
}

func answered(status int) i18n.Message { return i18n.M("check.text.answered", status) }

// strangerCertificate makes a client certificate that nobody knows.
func strangerCertificate(now time.Time) (*outbound.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	return &outbound.Certificate{ID: "stranger " + rand.Text(), TLS: &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}}, err
}

// strangerTo signs as a signer does, but with a key that is made for the occasion.
type strangerTo struct{ signer webhook.Signer }

// SigningKey implements webhook.Signer.
func (s strangerTo) SigningKey(ctx context.Context) (webhook.SigningKey, error) {
	if s.signer == nil {
		return webhook.SigningKey{}, errors.New("there is no key")
	}
	key, err := s.signer.SigningKey(ctx)
	if err != nil {
		return key, err
	}
	var private crypto.Signer
	if key.Alg == "ES256" {
		private, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	} else {
		private, err = rsa.GenerateKey(rand.Reader, 2048)
	}
	key.Private = private
	return key, err
}
