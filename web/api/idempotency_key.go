package api

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/registry/profile"
	"schakel/web/site"
)

// The ways in which an Idempotency-Key is wrong; the texts are shown.
var (
	errKeyTwice  = registry.Explained{Message: "api.key-twice"}
	errKeyString = registry.Explained{Message: "api.key-string"}
	errKeyUUID   = registry.Explained{Message: "api.key-uuid"}
)

// IdempotencyKey reads the key as the profile asks (IDEM-02, IDEM-I01). A key that
// is there must be right, unless keys are not looked at.
func (m *API) IdempotencyKey(c echo.Context, set *profile.ProfileState) (string, error) {
	if set.RequireKey == registry.PolicyOff {
		return "", nil
	}
	key, err := m.SentKey(c, set)
	if err != nil {
		return "", err
	}
	if key == "" && set.RequireKey == registry.PolicyRequire {
		return "", m.KeyMissing()
	}
	if key == "" {
		c.Response().Header().Set("Warning", `299 - "Idempotency-Key is missing; a repeated request cannot be recognised"`)
	}
	return key, nil
}

// SentKey is the key of a request, or "" when there is none.
func (m *API) SentKey(c echo.Context, set *profile.ProfileState) (string, error) {
	key, err := readIdempotencyKey(c.Request().Header.Values("Idempotency-Key"), set.KeySyntax == registry.KeyLenient)
	if err != nil {
		return "", site.NewProblem(http.StatusBadRequest, "key-invalid", registry.Explain(err))
	}
	return key, nil
}

// KeyMissing answers a request that must have an Idempotency-Key and has none.
func (m *API) KeyMissing() error {
	return site.NewProblem(http.StatusBadRequest, "key-missing",
		"api.key-missing")
}

// readIdempotencyKey reads the values of the header: one Item of RFC 8941 that is
// a String and holds a UUID of version 4 (IDEM-06, IDEM-I01). It answers the UUID
// in lower case, or "" when there is no header. With lenient the quotes may be
// absent.
func readIdempotencyKey(values []string, lenient bool) (string, error) {
	if len(values) == 0 {
		return "", nil
	}
	if len(values) > 1 {
		return "", errKeyTwice
	}
	value := strings.Trim(values[0], " ")
	bare, quoted := cutQuotes(value)
	if !quoted {
		if !lenient || strings.ContainsAny(value, `"`) {
			return "", errKeyString
		}
		bare = value
	}
	if !isUUID4(bare) {
		return "", errKeyUUID
	}
	return strings.ToLower(bare), nil
}

func cutQuotes(s string) (bare string, ok bool) {
	if len(s) < 2 || s[0] != '"' || s[len(s)-1] != '"' {
		return "", false
	}
	bare = s[1 : len(s)-1]
	return bare, !strings.Contains(bare, `"`)
}

// isUUID4 checks the version and the variant too (RFC 9562).
func isUUID4(s string) bool {
	if len(s) != 36 || s[14] != '4' || strings.IndexByte("89abAB", s[19]) < 0 {
		return false
	}
	for i := range len(s) {
		switch i {
		case 8, 13, 18, 23:
			if s[i] != '-' {
				return false
			}
		default:
			if strings.IndexByte("0123456789abcdefABCDEF", s[i]) < 0 {
				return false
			}
		}
	}
	return true
}
