package contracts

import (
	"net/url"
	"slices"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/web/site"
)

const contractsPath = "/registry/v1/contracts"

func contractPath(id string) string { return contractsPath + "/" + url.PathEscape(id) }

func versionPath(id, version string) string {
	return contractPath(id) + "/versions/" + url.PathEscape(version)
}

// reader returns the reader behind a request: the public without a token, or with one
// that has none of the scopes of the register; else the partner of the client. A
// client of the own organisation that writes sees drafts too.
func (m *handlers) reader(c echo.Context) (registry.Reader, error) {
	claims, ok := site.CallerOf(c)
	writes := slices.Contains(claims.Scopes, site.ScopeRegistryWrite)
	if !ok || !writes && !slices.Contains(claims.Scopes, site.ScopeRegistryRead) {
		return registry.Reader{}, nil
	}
	who, err := m.Caller(c)
	if err != nil {
		return registry.Reader{}, err
	}
	reader, err := m.Registry.Contracts.Reader(c.Request().Context(), who.Actor())
	reader.Administrator = err == nil && reader.Internal && writes
	return reader, err
}
