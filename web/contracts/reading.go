package contracts

import (
	"net/http"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/registry/contracts/compare"
	"schakel/registry/contracts/contract"
	"schakel/registry/contracts/outline"
	"schakel/store"
	view "schakel/templates/contracts"
	"schakel/templates/i18n"
	"schakel/templates/ui"
	"schakel/web/site"
)

// readingPage shows a version of a contract to read, with what changed since another one.
func (p *pages) readingPage(read *outlines) echo.HandlerFunc {
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
		o, err := read.get(ctx, version.DocumentDigest(), content)
		if err != nil {
			return err
		}
		since, err := p.since(c, reader, version, read)
		if err != nil {
			return err
		}
		v := readingView(c, about, version, o, since)
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
		page.Badge, page.Wide = ui.State(version.Status), true
		page.Actions = templ.Join(
			ui.LinkButton(ui.Secondary, i18n.T(ctx, "contracts.advice.document-and-versions"), v.VersionHref),
			ui.LinkButton(ui.Subtle, i18n.T(ctx, "contracts.reading.redoc"), v.VersionHref+"/redoc"))
		return p.Render(c, http.StatusOK, view.ReadingPage(page, v))
	}
}

// readingSince holds the changes since another version, and the outline of that version.
type readingSince struct {
	version  string
	message  string // why there is nothing to show
	compared bool
	changes  []compare.Change
	old      *outline.Outline
}

// since compares a version with the one that the reader chose, if any.
func (p *pages) since(c echo.Context, reader registry.Reader, to store.ContractVersion, read *outlines) (*readingSince, error) {
	ctx, from := c.Request().Context(), site.Clean(c.QueryParam("since"))
	if from == "" || from == to.Version {
		return &readingSince{}, nil
	}
	made, err := p.compared.get(ctx, reader, to.ContractID, to.Version, from)
	if _, refused := site.FormRefusal(err); refused != nil {
		return &readingSince{version: from, message: refused[""].In(ctx)}, nil
	}
	if err != nil {
		return nil, err
	}
	before, content, err := p.Registry.Contracts.Document(ctx, reader, to.ContractID, made.From.Version)
	if err != nil {
		return nil, err
	}
	old, err := read.get(ctx, before.DocumentDigest(), content)
	return &readingSince{version: before.Version, compared: true, changes: made.Changes, old: old}, err
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
	uses := &view.ReadingUses{Own: true, Rows: ownBoundRows(ctx, bound), Ask: "/partner/subscriptions/new"}
	if len(names) == 1 { // of several the reader chooses
		uses.Ask = askFor(names[0])
	}
	return uses, err
}
