package e2e

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/google/uuid"
	"schakel/registry/identity/token"
	"schakel/server/trial"
)

// tokenForm is a request for a token with an assertion of a key and its certificate, made by another program than ours.
func tokenForm(t *testing.T, key token.CertifiedKey, clientID, base string) url.Values {
	t.Helper()
	var chain []string
	for _, c := range key.Chain {
		chain = append(chain, base64.StdEncoding.EncodeToString(c.Raw))
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: key.Private}, (&jose.SignerOptions{}).WithType("JWT").WithHeader("x5c", chain))
	trial.Must(t, err)
	now := time.Now()
	assertion, err := jwt.Signed(signer).Claims(map[string]any{
		"iss": clientID, "sub": clientID, "aud": base + "/oauth/token", "iat": now.Unix(), "exp": now.Add(time.Minute).Unix(), "jti": uuid.NewString(),
	}).Serialize()
	trial.Must(t, err)
	return url.Values{
		"grant_type": {"client_credentials"}, "scope": {"events.publish"}, "client_id": {clientID}, "client_assertion": {assertion},
		"client_assertion_type": {"urn:ietf:params:oauth:client-assertion-type:jwt-bearer"},
	}
}

// showing is a client that shows a certificate, or none, over connections of its own.
func showing(s *certifiedSide, pair *tls.Certificate) *http.Client {
	cfg := &tls.Config{RootCAs: x509.NewCertPool()}
	cfg.RootCAs.AddCert(s.pki.Root)
	if pair != nil {
		cfg.Certificates = []tls.Certificate{*pair}
	}
	return &http.Client{Transport: &http.Transport{TLSClientConfig: cfg, DisableKeepAlives: true}, Timeout: 30 * time.Second}
}

func askToken(t *testing.T, at *certifiedSide, form url.Values, pair *tls.Certificate) (status int, access string) {
	t.Helper()
	resp, err := showing(at, pair).PostForm(at.Base+"/oauth/token", form)
	trial.Must(t, err)
	defer resp.Body.Close()
	var answer struct {
		AccessToken string `json:"access_token"`
	}
	trial.Must(t, json.NewDecoder(resp.Body).Decode(&answer))
	return resp.StatusCode, answer.AccessToken
}

func publishWith(t *testing.T, at *certifiedSide, access, body string, pair *tls.Certificate) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, at.Base+"/events/v1/events", strings.NewReader(body))
	trial.Must(t, err)
	for name, value := range trial.EventHeader("application/cloudevents+json") {
		req.Header.Set(name, value)
	}
	req.Header.Set("Authorization", "Bearer "+access)
	resp, err := showing(at, pair).Do(req)
	trial.Must(t, err)
	defer resp.Body.Close()
	return resp.StatusCode
}
