package contracts

import (
	"net/url"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/store"
)

// maintained is the contract of the address for who maintains it: an
// administrator, or the partner that owns it. For others it is not there.
func (p *pages) maintained(c echo.Context) (registry.Reader, store.Contract, error) {
	reader, err := p.Reader(c)
	if err != nil {
		return reader, store.Contract{}, err
	}
	row, err := p.Registry.Contracts.Get(c.Request().Context(), reader, c.Param("id"))
	if err == nil && !reader.Maintains(row) {
		err = store.ErrNotFound
	}
	return reader, row, err
}

// maintainBase returns the address of the pages on which a reader maintains contracts:
// administrators and partners each have addresses of their own.
func maintainBase(reader registry.Reader) string {
	if reader.Administrator {
		return "/admin/contracts"
	}
	return "/partner/contracts"
}

// maintainHref returns the address of the page on which a reader maintains a contract.
func maintainHref(reader registry.Reader, id string) string {
	return maintainBase(reader) + "/" + url.PathEscape(id)
}

// maintainVersionHref returns the address of the page on which a reader maintains a version of a contract.
func maintainVersionHref(reader registry.Reader, id, version string) string {
	return maintainHref(reader, id) + "/versions/" + url.PathEscape(version)
}
