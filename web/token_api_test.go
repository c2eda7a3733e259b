package web

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/registry/identity"
	"schakel/registry/identity/token"
	"schakel/web/api"
	"schakel/web/site"
)

// Rules: SEC-01.
func TestTokenEndpoint(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil)
	c := h.consumer(t, h.newPartner(t, "School").ID)
	const form, grant = "application/x-www-form-urlencoded", "grant_type=client_credentials"
	good := basicAuth(c.id, c.secret)
	for name, tc := range map[string]struct {
		target, media, body string
		authorization       []string
		status              int
		code                string
	}{
		"right":             {"", form, grant, []string{good}, 200, ""},
		"right, one scope":  {"", form, grant + "&scope=events.consume", []string{good}, 200, ""},
		"charset":           {"", form + "; charset=UTF-8", grant, []string{good}, 200, ""},
		"scope not granted": {"", form, grant + "&scope=registry.write", []string{good}, 400, "invalid_scope"},
		"wrong secret":      {"", form, grant, []string{basicAuth(c.id, "guess")}, 401, "invalid_client"},
		"unknown client":    {"", form, grant, []string{basicAuth("cli_x", "guess")}, 401, "invalid_client"},
		"no credentials":    {"", form, grant, nil, 401, "invalid_client"},
		"not offered":       {"", form, grant + "&client_id=" + c.id + "&client_secret=" + c.secret, nil, 401, "invalid_client"},
		"Bearer":            {"", form, grant, []string{"Bearer " + c.token}, 400, "invalid_request"},
		"two headers":       {"", form, grant, []string{good, good}, 400, "invalid_request"},
		"broken Basic":      {"", form, grant, []string{"Basic !!"}, 400, "invalid_request"},
		"no grant":          {"", form, "", []string{good}, 400, "invalid_request"},
		"other grant":       {"", form, "grant_type=password", []string{good}, 400, "unsupported_grant_type"},
		"twice":             {"", form, grant + "&" + grant, []string{good}, 400, "invalid_request"},
		"JSON":              {"", "application/json", `{"grant_type":"client_credentials"}`, []string{good}, 400, "invalid_request"},
		"in the address":    {"?" + grant, form, "", []string{good}, 400, "invalid_request"},
		"with a chain":      {"", form, grant + "&x=" + strings.Repeat("x", 20<<10), []string{good}, 200, ""},
		"too large":         {"", form, grant + "&x=" + strings.Repeat("x", api.MaxTokenForm), []string{good}, 413, "invalid_request"},
		"broken form":       {"", form, "%zz", []string{good}, 400, "invalid_request"},
	} {
		headers := []string{"Content-Type", tc.media}
		for _, value := range tc.authorization {
			headers = append(headers, "Authorization", value)
		}
		answer := h.anyone().do(t, http.MethodPost, "/oauth/token"+tc.target, tc.body, headers...)
		if answer.status != tc.status || answer.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %v %s", name, answer.status, answer.header, answer.body)
			continue
		}
		if tc.code != "" && answer.member(t, "error") != tc.code {
			t.Errorf("%s: %s", name, answer.body)
		}
		if strings.Contains(string(answer.body), "refresh_token") {
			t.Errorf("SEC-01: %s", answer.body)
		}
		if tried := len(tc.authorization) == 1 && strings.HasPrefix(tc.authorization[0], "Basic"); tried && tc.status == 401 &&
			!strings.HasPrefix(answer.header.Get("WWW-Authenticate"), "Basic") {
			t.Errorf("%s: no challenge", name)
		}
	}
	h.anyone().do(t, http.MethodGet, "/oauth/token", "").want(t, http.StatusMethodNotAllowed)
}

// Rules: SEC-05, SEC-12.
func TestTokenMetadata(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil)
	h.consumer(t, "") // its token makes the first key
	meta := h.anyone().get(t, "/.well-known/oauth-authorization-server").want(t, 200)
	if meta.member(t, "token_endpoint") != apiTestBase+"/oauth/token" || meta.member(t, "issuer") != apiTestBase {
		t.Errorf("metadata %s", meta.body)
	}
	keys := meta.member(t, "jwks_uri").(string)
	u := must(url.Parse(keys))(t)
	var set struct{ Keys []map[string]any }
	noError(t, json.Unmarshal(h.anyone().get(t, u.Path).want(t, 200).body, &set))
	if len(set.Keys) != 1 || set.Keys[0]["d"] != nil || set.Keys[0]["kty"] != "EC" {
		t.Errorf("keys %v", set.Keys)
	}
}

// TestTokenStops: what was taken back stops within seconds, also with a token
// that is still valid by its time (G2, EDU-07).
//
// Rules: EDU-07, SEC-11.
func TestTokenStops(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil).withCatalogue(t)
	partner := h.newPartner(t, "School")
	revoked, suspended := h.publisher(t, ""), h.publisher(t, partner.ID)
	revoked.publish(t, sampleEvent("1")).want(t, 202)
	suspended.publish(t, sampleEvent("1")).want(t, 202)
	noError(t, h.reg.Clients.Revoke(t.Context(), registry.SystemActor(), revoked.id, "It leaked."))
	noError(t, h.reg.Partners.Suspend(t.Context(), registry.SystemActor(), partner.ID, "It does not pay."))
	h.clock.Advance(6e9)
	revoked.publish(t, sampleEvent("2")).problem(t, 401, "token-invalid")
	suspended.publish(t, sampleEvent("2")).problem(t, 401, "token-invalid")
}

// TestGrantsChange: a grant that changed counts within seconds.
func TestGrantsChange(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil).withCatalogue(t)
	c := h.publisher(t, "")
	c.publish(t, sampleEvent("1")).want(t, 202)
	row := must(h.reg.Clients.Get(t.Context(), registry.SystemActor().Scope(), c.id))(t)
	must(h.reg.Clients.Update(t.Context(), registry.SystemActor(), c.id, identity.NewClient{
		Name: row.Name, AuthMethod: row.AuthMethod, Scopes: row.Scopes, PublishTypes: []string{"nl.example.student.left"}, PublishSources: row.PublishSources, SourceReason: "It relays for others.",
	}))(t)
	h.clock.Advance(6e9)
	c.token = c.newToken(t, "")
	c.publish(t, sampleEvent("2")).problem(t, 403, "not-granted")
}

// verifierFunc answers for the token server, whose own tests are beside it.
type verifierFunc func(bearer string) (token.Claims, error)

// Verify implements TokenVerifier.
func (f verifierFunc) Verify(_ context.Context, bearer string) (token.Claims, error) {
	return f(bearer)
}

// Prove implements TokenVerifier.
func (f verifierFunc) Prove(context.Context, token.Proof) (string, error) { return "", nil }

// Rules: EDU-04, CE-68, SEC-08, OPEN-03, OPEN-05.
func TestRequireScope(t *testing.T) {
	t.Parallel()
	h := newHarness(t, func(c *Config) {
		c.Tokens = verifierFunc(func(bearer string) (token.Claims, error) {
			switch bearer {
			case "good":
				return token.Claims{ClientID: "cli_1", Scopes: []string{site.ScopeEventsPublish}}, nil
			case "down":
				return token.Claims{}, errors.New("database away")
			}
			return token.Claims{}, &token.InvalidTokenError{Reason: "it has expired"}
		})
	})
	g := h.app.API(10, "/events/v1")
	answer := func(c echo.Context) error {
		claims, _ := site.CallerOf(c)
		return c.String(http.StatusOK, "client "+claims.ClientID)
	}
	g.GET("/publish", answer, h.app.RequireScope(site.ScopeEventsPublish))
	g.GET("/consume", answer, h.app.RequireScope(site.ScopeEventsConsume))
	g.GET("/open", answer, h.app.OptionalToken)
	tests := []struct {
		name, path    string
		authorization []string
		status        int
		challenge     string
		body          string
	}{
		{"right", "/publish", []string{"Bearer good"}, 200, "", "client cli_1"},
		{"any case of the scheme", "/publish", []string{"bearer good"}, 200, "", "client cli_1"},
		{"none", "/publish", nil, 401, "Bearer", "token-missing"},
		{"refused", "/publish", []string{"Bearer old"}, 401, `error="invalid_token"`, "it has expired"},
		{"other scheme", "/publish", []string{"Basic good"}, 401, `error="invalid_token"`, "token-invalid"},
		{"two", "/publish", []string{"Bearer good", "Bearer good"}, 401, `error="invalid_token"`, "token-invalid"},
		{"empty", "/publish", []string{"Bearer "}, 401, `error="invalid_token"`, "token-invalid"},
		{"other scope", "/consume", []string{"Bearer good"}, 403, `error="insufficient_scope", scope="events.consume"`, "events.consume"},
		{"CE-68 in the address", "/publish?access_token=good", nil, 400, "", "token-in-query"},
		{"CE-68 in the address, encoded", "/publish?acc%65ss_token=good", nil, 400, "", "token-in-query"},
		{"CE-68 in both", "/publish?access_token=good", []string{"Bearer good"}, 400, "", "token-in-query"},
		{"cannot tell", "/publish", []string{"Bearer down"}, 500, "", "internal"},
		{"open, none", "/open", nil, 200, "", "client "},
		{"open, right", "/open", []string{"Bearer good"}, 200, "", "client cli_1"},
		{"open, refused", "/open", []string{"Bearer old"}, 401, `error="invalid_token"`, "token-invalid"},
		{"open, in the address", "/open?access_token=good", nil, 400, "", "token-in-query"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := h.browser()
			b.header = http.Header{"Authorization": tt.authorization}
			got := b.get("/events/v1" + tt.path)
			wantStatus(t, got, tt.status)
			if challenge := got.Header.Get("WWW-Authenticate"); !strings.Contains(challenge, tt.challenge) || (tt.challenge == "") != (challenge == "") {
				t.Errorf("WWW-Authenticate %q, want %q", challenge, tt.challenge)
			}
			if body := text(got); !strings.Contains(body, tt.body) {
				t.Errorf("body %s, want %q", body, tt.body)
			}
		})
	}
}
