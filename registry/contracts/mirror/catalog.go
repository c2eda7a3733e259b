package mirror

import (
	"context"
	"net/url"
	"strings"
)

// catalog reads an API catalogue (RFC 9727): a linkset that names descriptions of APIs. It has the version of each API that
// is offered now; which one that is, its document tells.
type catalog struct{ *client }

const (
	catalogPath  = "/.well-known/api-catalog"
	linksetType  = "application/linkset+json"
	maxCatalogs  = 20 // that one leads to
	describeType = "application/vnd.oai.openapi+json, application/vnd.oai.openapi, application/json, application/yaml, */*;q=0.5"
)

type target struct{ Href, Type, Title string }

// linkset is a set of links as RFC 9264 writes them in JSON.
type linkset struct {
	Linkset []struct {
		Anchor      string
		Item        []target
		ServiceDesc []target `json:"service-desc"`
		Catalogs    []target `json:"api-catalog"`
	}
}

// address gives the address of the catalogue: the well-known path of the host, unless a path was given.
func (c *catalog) address() string {
	if strings.Trim(c.base.Path, "/") == "" {
		return c.at(catalogPath, nil)
	}
	return c.base.String()
}

// Contracts implements Driver. A catalogue can lead to others on its host.
func (c *catalog) Contracts(ctx context.Context) ([]Contract, error) {
	var found []Contract
	seen, wait := map[string]bool{}, []string{c.address()}
	for len(wait) > 0 {
		next := wait[0]
		if wait = wait[1:]; seen[next] {
			continue
		}
		if seen[next] = true; len(seen) > maxCatalogs {
			return nil, tooManyCatalogues()
		}
		rows, others, err := c.read(ctx, next)
		if err != nil {
			return nil, err
		}
		found, wait = append(found, rows...), append(wait, others...)
		if len(found) > maxContracts {
			return nil, tooMany(maxContracts)
		}
	}
	return unique(found), nil
}

// read lists what one catalogue describes, and the catalogues that it leads to.
func (c *catalog) read(ctx context.Context, address string) (rows []Contract, others []string, err error) {
	var set linkset
	if _, err := c.list(ctx, address, linksetType+", application/json;q=0.5", &set); err != nil {
		return nil, nil, err
	}
	base, err := ParseURL(address)
	if err != nil {
		return nil, nil, err
	}
	titles := map[string]string{}
	for _, about := range set.Linkset {
		for _, item := range about.Item {
			titles[resolve(base, item.Href)] = item.Title
		}
	}
	for _, about := range set.Linkset {
		for _, other := range about.Catalogs {
			if u, err := ParseURL(resolve(base, other.Href)); err == nil && c.home(u) {
				others = append(others, u.String())
			}
		}
		if len(about.ServiceDesc) == 0 {
			continue
		}
		api, desc := resolve(base, about.Anchor), preferred(about.ServiceDesc)
		row := Contract{ID: apiID(api), Title: field(titles[api]), URL: resolve(base, desc.Href)}
		if row.Title == "" {
			row.Title = field(desc.Title)
		}
		rows = append(rows, row)
	}
	return rows, others, nil
}

// preferred is the description that says it is OpenAPI, or the first.
func preferred(all []target) target {
	for _, t := range all {
		if strings.Contains(t.Type, "openapi") || strings.Contains(t.Type, "asyncapi") {
			return t
		}
	}
	return all[0]
}

func resolve(base *url.URL, href string) string {
	u, err := base.Parse(href)
	if err != nil {
		return ""
	}
	u.Fragment = ""
	return u.String()
}

// apiID makes an id of the address of an API: its path, or its host when it has none.
func apiID(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	if id := strings.Trim(u.Path, "/"); id != "" {
		return id
	}
	return u.Hostname()
}

// unique leaves out what is described twice, and gives what differs an id of its own.
func unique(all []Contract) []Contract {
	var kept []Contract
	at := map[string]string{} // URL by id
	for _, c := range all {
		if at[c.ID] == c.URL {
			continue
		}
		if _, taken := at[c.ID]; taken {
			c.ID = hostOf(c.URL) + "/" + c.ID
		}
		if _, taken := at[c.ID]; taken {
			continue
		}
		at[c.ID] = c.URL
		kept = append(kept, c)
	}
	return kept
}

// Versions implements Driver: the one that is offered now.
func (c *catalog) Versions(_ context.Context, of Contract) ([]Version, bool, error) {
	return []Version{{URL: of.URL, Status: Published, Content: describeType}}, false, nil
}

// Document implements Driver.
func (c *catalog) Document(ctx context.Context, v Version, tag string) (Document, error) {
	return c.document(ctx, v, tag)
}
