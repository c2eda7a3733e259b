package contracts

import (
	"context"
	"crypto/rand"
	"net/http"
	"strconv"
	"strings"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/registry/contracts/contract"
	"schakel/registry/contracts/outline"
	"schakel/static"
	"schakel/store"
	view "schakel/templates/contracts"
	"schakel/templates/i18n"
	"schakel/templates/ui"
	"schakel/web/site"
)

// readingPage shows a version of a contract to read. Large documents take a
// second, so one is read at a time.
func (p *pages) readingPage() echo.HandlerFunc {
	turn := make(chan struct{}, 1)
	return func(c echo.Context) error {
		ctx := c.Request().Context()
		reader, about, err := p.readable(c)
		if err != nil {
			return err
		}
		version, content, err := p.Registry.Contracts.Document(ctx, reader, about.ID, c.Param("version"))
		if err != nil {
			return err
		}
		select {
		case turn <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		v, err := ReadingView(c, about, version, content)
		<-turn
		if err != nil {
			return err
		}
		if v.Uses, err = p.readingUses(c, reader, about, version); err != nil {
			return err
		}
		if v.Downloads, err = p.readingDownloads(ctx, reader, about, version); err != nil {
			return err
		}
		if v.Others, err = p.readingOthers(c, reader, version); err != nil {
			return err
		}
		page := p.Frame(c, i18n.T(ctx, "contracts.reading.heading", about.Title, version.Version), ui.Crumb{Label: i18n.T(ctx, "contracts.word.contracts"), Href: "/contracts"},
			ui.Crumb{Label: about.Title, Href: site.ContractHref(about.ID)}, ui.Crumb{Label: version.Version, Href: v.VersionHref})
		page.Badge = ui.State(version.Status)
		page.Actions = templ.Join(
			ui.LinkButton(ui.Secondary, i18n.T(ctx, "contracts.advice.document-and-versions"), v.VersionHref),
			ui.LinkButton(ui.Subtle, i18n.T(ctx, "contracts.reading.redoc"), v.VersionHref+"/redoc"))
		return p.Render(c, http.StatusOK, view.ReadingPage(page, v))
	}
}

// readingOthers are the other versions of the contract, to read and to compare with.
func (p *pages) readingOthers(c echo.Context, reader registry.Reader, version store.ContractVersion) ([]view.ReadingVersion, error) {
	rows, err := p.Registry.Contracts.Versions(c.Request().Context(), reader, version.ContractID)
	var others []view.ReadingVersion
	for _, row := range rows {
		if row.ID == version.ID {
			continue
		}
		other := view.ReadingVersion{
			Version: row.Version, State: row.Status, Href: site.ContractVersionHref(row.ContractID, row.Version) + "/reading",
			ChangesHref: changesHref(row.ContractID, version.Version, row.Version),
		}
		if row.SortKey > version.SortKey {
			other.ChangesHref = changesHref(row.ContractID, row.Version, version.Version)
		}
		if others = append(others, other); len(others) == maxShownVersions {
			break
		}
	}
	return others, err
}

// maxShownVersions limits the other versions that the reading view links to.
const maxShownVersions = 20

// readingPerPage limits the parts on a page.
const readingPerPage = 20

// reading knows where the parts of a document are shown.
type reading struct {
	here string
	at   map[string]int // entry by pointer
	list []outline.Entry
}

// ReadingView builds the reading view of a document.
func ReadingView(c echo.Context, about store.Contract, version store.ContractVersion, content []byte) (view.ReadingView, error) {
	ctx := c.Request().Context()
	here := site.ContractVersionHref(about.ID, version.Version)
	v := view.ReadingView{
		VersionHref: here, Action: here + "/reading", Kind: site.PageChoice(c, "kind", []string{outline.KindOperation, outline.KindChannel, outline.KindMessage, outline.KindSchema}), Search: site.Clean(c.QueryParam("q")),
	}
	doc, _, err := contract.Parse(content, contract.Limits{})
	if err != nil || doc == nil {
		return v, err
	}
	o := outline.Of(doc)
	paging := site.PagePaging(c)
	paging.Size = readingPerPage
	if paging.Number == 1 && v.Kind+v.Search == "" {
		v.Text, v.Servers, v.Security = doc.Description, readingNamed(ctx, o.Servers), readingNamed(ctx, o.Security)
	}
	r := &reading{here: v.Action, at: map[string]int{}, list: o.Entries}
	var shown []int
	for i, e := range o.Entries {
		r.at[e.Pointer] = i
		named := strings.Contains(strings.ToLower(e.Name+" "+e.Summary), strings.ToLower(v.Search))
		if named && (v.Kind == "" || v.Kind == e.Kind) {
			shown = append(shown, i)
		}
	}
	v.Total, v.Pager = len(shown), site.Pager(c, paging, len(shown))
	for _, i := range site.OnPage(shown, paging) {
		v.Parts = append(v.Parts, r.part(ctx, i, o.Detail(o.Entries[i])))
	}
	return v, nil
}

// href leads to the part at a pointer, on the page of all parts that shows it.
func (r *reading) href(pointer string) string {
	i, ok := r.at[pointer]
	if !ok {
		return ""
	}
	return r.here + "?page=" + strconv.Itoa(i/readingPerPage+1) + "#" + partID(i)
}

func partID(i int) string { return "part-" + strconv.Itoa(i+1) }

func (r *reading) part(ctx context.Context, i int, d outline.Detail) view.ReadingPart {
	e := r.list[i]
	part := view.ReadingPart{ID: partID(i), Kind: e.Kind, Name: e.Name, Summary: e.Summary, Text: d.Text, Deprecated: e.Deprecated}
	for _, f := range d.Facts {
		part.Facts = append(part.Facts, ui.Item{Label: i18n.Message(f.Label).In(ctx), Text: i18n.Message(f.Text).In(ctx)})
	}
	for _, l := range d.Links {
		part.Links = append(part.Links, view.ReadingLink{Label: i18n.Message(l.Label).In(ctx), Name: l.Name, Href: r.href(l.Pointer)})
	}
	for _, t := range d.Tables {
		part.Tables = append(part.Tables, r.table(ctx, t))
	}
	for _, x := range d.Examples {
		part.Examples = append(part.Examples, view.ReadingExample{Name: x.Name.In(ctx), Text: x.Text})
	}
	return part
}

func (r *reading) table(ctx context.Context, t outline.Table) view.ReadingTable {
	table := view.ReadingTable{Title: i18n.Message(t.Title).In(ctx), Text: t.Text, More: t.More}
	for _, f := range t.Fields {
		field := view.ReadingField{Name: f.Name, Type: f.Type.In(ctx), Text: f.Text, Required: f.Required, Deprecated: f.Deprecated, Rules: written(ctx, f.Rules)}
		if i, ok := r.at[f.Ref]; ok && f.Ref != "" {
			field.RefName, field.RefHref = r.list[i].Name, r.href(f.Ref)
		}
		table.Fields = append(table.Fields, field)
	}
	return table
}

func readingNamed(ctx context.Context, list []outline.Named) []view.ReadingNamed {
	var rows []view.ReadingNamed
	for _, n := range list {
		rows = append(rows, view.ReadingNamed{Name: n.Name, Kind: i18n.Message(n.Kind).In(ctx), Detail: n.Detail.In(ctx), Text: n.Text})
	}
	return rows
}

// readingUses lists the subscribers to the event types of a version:
// administrators see everybody, a partner itself, and nobody else anything (G7).
func (p *pages) readingUses(c echo.Context, reader registry.Reader, about store.Contract, version store.ContractVersion) (*view.ReadingUses, error) {
	if about.Kind != string(contract.AsyncAPI) || version.Status == store.VersionDraft || !reader.Administrator && reader.PartnerID == "" {
		return nil, nil
	}
	ctx := c.Request().Context()
	types, err := p.Registry.Contracts.EventTypes(ctx, reader, about.ID, version.Version)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(types))
	for i, t := range types {
		names[i] = t.Name
	}
	if reader.Administrator {
		bound, err := p.Registry.Contracts.BoundBy(ctx, site.Actor(c), names)
		return &view.ReadingUses{Rows: boundRows(ctx, bound)}, err
	}
	bound, err := p.Registry.Contracts.BoundPartner(ctx, reader, names)
	return &view.ReadingUses{Own: true, Rows: ownBoundRows(ctx, bound)}, err
}

// maxRedocBytes is the largest document that Redoc is given: it reads all of it at
// once in the browser of the reader.
const maxRedocBytes = 3 << 20

// redocPage shows a version of a contract in Redoc. The page has a policy of its
// own: Redoc writes style elements, which a nonce of this answer alone allows, and
// it can reach nothing but this Schakel.
func (p *pages) redocPage(c echo.Context) error {
	ctx := c.Request().Context()
	reader, about, err := p.readable(c)
	if err != nil {
		return err
	}
	version, err := p.Registry.Contracts.Version(ctx, reader, about.ID, c.Param("version"))
	if err != nil {
		return err
	}
	here, nonce := site.ContractVersionHref(about.ID, version.Version), rand.Text()
	header := c.Response().Header()
	header.Set("Content-Security-Policy", redocPolicy(nonce))
	header.Set("Cache-Control", "no-store") // the nonce is of this answer alone
	return p.Render(c, http.StatusOK, view.RedocPage(view.RedocView{
		Title: about.Title + " " + version.Version, Back: here + "/reading", Document: here + "/" + contract.FormatJSON,
		Nonce: nonce, TooLarge: version.Size > maxRedocBytes, Asset: static.Path,
	}))
}

// redocPolicy is static.ContentSecurityPolicy with what Redoc needs: scripts and
// styles with the nonce, and fonts that it brings along. The sandbox lets it open
// no window: its menu has an item that would hand the document to another site.
func redocPolicy(nonce string) string {
	return "default-src 'none'; script-src 'nonce-" + nonce + "'; style-src 'self' 'nonce-" + nonce + "'; img-src 'self' data:; font-src data:; " +
		"connect-src 'self'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'; sandbox allow-scripts allow-same-origin allow-downloads"
}
