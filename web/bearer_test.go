package web

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"
	"schakel/registry/identity/token"
	"schakel/web/site"
)

// verifierFunc answers for the token server, whose own tests are beside it.
type verifierFunc func(bearer string) (token.Claims, error)

// Verify implements TokenVerifier.
func (f verifierFunc) Verify(_ context.Context, bearer string) (token.Claims, error) {
	return f(bearer)
}

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
