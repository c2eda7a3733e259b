package contracts

import (
	"encoding/json"
	"net/http"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/registry/contracts"
	"schakel/registry/contracts/contract"
	"schakel/store"
	"schakel/web/site"
)

// CatalogType is the media type of an API catalog (RFC 9727).
const CatalogType = `application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"`

// link is one target of a linkset (RFC 9264).
type link struct {
	Href  string `json:"href"`
	Type  string `json:"type,omitempty"`
	Title string `json:"title,omitempty"`
}

// LinkContext lists the links from one address.
type LinkContext struct {
	Anchor      string `json:"anchor"`
	Item        []link `json:"item,omitempty"`
	ServiceDesc []link `json:"service-desc,omitempty"`
	ServiceDoc  []link `json:"service-doc,omitempty"`
}

// showCatalog lists our own APIs and the public OpenAPI contracts (RFC 9727).
func (m *handlers) showCatalog(c echo.Context) error {
	self := LinkContext{Anchor: m.App.Absolute("/.well-known/api-catalog")}
	var rest []LinkContext
	for _, a := range site.APIs() {
		if m.Described[a.Name] {
			base := m.App.Absolute(a.Base)
			self.Item = append(self.Item, link{Href: base})
			rest = append(rest, LinkContext{Anchor: base, ServiceDesc: []link{{Href: base + "/openapi.json", Type: "application/vnd.oai.openapi+json"}}})
		}
	}
	contracts, err := m.publicContracts(c)
	if err != nil {
		return err
	}
	for _, row := range contracts {
		base := m.App.Absolute(contractPath(row.ID))
		self.Item = append(self.Item, link{Href: base, Title: row.Title})
		rest = append(rest, LinkContext{
			Anchor:      base,
			ServiceDesc: []link{{Href: base + "/versions/latest/content.json", Type: "application/json"}},
			ServiceDoc:  []link{{Href: m.App.Absolute(site.ContractHref(row.ID)), Type: "text/html"}},
		})
	}
	body, err := json.Marshal(map[string]any{"linkset": append([]LinkContext{self}, rest...)})
	if err != nil {
		return err
	}
	c.Response().Header().Set("Cache-Control", "public, max-age=300")
	c.Response().Header().Set("Link", "<"+self.Anchor+`>; rel="api-catalog"`)
	return c.Blob(http.StatusOK, CatalogType, body)
}

func (m *handlers) publicContracts(c echo.Context) ([]contracts.ContractSummary, error) {
	rows, _, err := m.Registry.Contracts.List(c.Request().Context(), registry.Reader{}, store.ContractFilter{Kind: string(contract.OpenAPI)})
	return rows, err
}
