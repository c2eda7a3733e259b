package token

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/go-jose/go-jose/v4"
)

// endpoint serves Exchange as the web layer does.
func endpoint(t *testing.T, i *Issuer) *httptest.Server {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil {
			http.Error(w, "bad form", http.StatusBadRequest)
			return
		}
		req := Request{Form: r.PostForm, Query: r.URL.Query()}
		req.BasicUser, req.BasicPassword, req.HasBasic = r.BasicAuth()
		res, fail := i.Exchange(r.Context(), req)
		w.Header().Set("Content-Type", "application/json")
		if fail != nil {
			w.WriteHeader(fail.Status)
			_ = json.NewEncoder(w).Encode(fail)
			return
		}
		_ = json.NewEncoder(w).Encode(res)
	}))
	t.Cleanup(srv.Close)
	return srv
}

// golang.org/x/oauth2 is a client that others wrote.
func TestForeignClient(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	srv := endpoint(t, b.Issuer)
	for name, cfg := range map[string]clientcredentials.Config{
		"basic":      {ClientID: "basic", ClientSecret: b.secret, AuthStyle: oauth2.AuthStyleInHeader},
		"autodetect": {ClientID: "basic", ClientSecret: b.secret},
		"post":       {ClientID: "post", ClientSecret: b.secret, AuthStyle: oauth2.AuthStyleInParams},
		"post found": {ClientID: "post", ClientSecret: b.secret},
		"assertion": {AuthStyle: oauth2.AuthStyleInParams, EndpointParams: url.Values{
			"client_assertion_type": {assertionType},
			"client_assertion":      {joseAssertion(t, b, jose.SigningKey{Algorithm: jose.ES256, Key: b.key})},
		}},
	} {
		cfg.TokenURL, cfg.Scopes = srv.URL, []string{"events.publish"}
		tok, err := cfg.Token(t.Context())
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if tok.TokenType != "Bearer" || tok.RefreshToken != "" || time.Until(tok.Expiry) > time.Hour {
			t.Errorf("%s: %+v", name, tok)
		}
		claims, err := b.Verify(t.Context(), tok.AccessToken)
		if err != nil || claims.Require("events.publish") != nil || len(claims.Scopes) != 1 {
			t.Errorf("%s: %+v, %v", name, claims, err)
		}
	}
}

func TestForeignClientReadsError(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	srv := endpoint(t, b.Issuer)
	cfg := clientcredentials.Config{ClientID: "basic", ClientSecret: "wrong", TokenURL: srv.URL, AuthStyle: oauth2.AuthStyleInHeader}
	_, err := cfg.Token(t.Context())
	fail, ok := err.(*oauth2.RetrieveError)
	if !ok || fail.ErrorCode != "invalid_client" || fail.Response.StatusCode != 401 || fail.ErrorDescription == "" {
		t.Errorf("got %v", err)
	}
}
