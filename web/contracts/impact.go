package contracts

import (
	"context"
	"net/url"
	"slices"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/registry/contracts"
	"schakel/registry/contracts/compare"
	"schakel/registry/contracts/contract"
	"schakel/registry/identity"
	"schakel/store"
	view "schakel/templates/contracts"
	"schakel/templates/i18n"
	"schakel/templates/ui"
	"schakel/web/site"
)

const (
	maxJudgedBytes = 1 << 20 // of both documents together: comparing larger ones would keep the page waiting
	maxJudgedShown = 20      // changes of one subscription, client or operation
	maxOperations  = 100
)

// judged reports whether the page of a version judges for its reader what it changes: for partners, and not of a draft.
func judged(reader registry.Reader, version store.ContractVersion) bool {
	return reader.PartnerID != "" && !reader.Administrator && version.Status != store.VersionDraft
}

// impact judges for a partner what a version changes for what it has; nil for a reader who is no partner, and where there is no other version.
func (p *pages) impact(c echo.Context, reader registry.Reader, version store.ContractVersion) (*view.ImpactView, error) {
	ctx := c.Request().Context()
	if !judged(reader, version) {
		return nil, nil
	}
	here := site.ContractVersionHref(version.ContractID, version.Version)
	v := &view.ImpactView{To: version.Version, Action: here}
	from := site.Clean(c.QueryParam("from"))
	used, err := p.Registry.Contracts.InUse(ctx, reader, version)
	if err != nil {
		return nil, err
	}
	if from == "" {
		from = used
	}
	before, _, err := p.Registry.Contracts.Pair(ctx, reader, version.ContractID, version.Version, from)
	if isNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	v.From, v.Downloaded = before.Version, used != "" && before.Version == used
	versions, err := p.Registry.Contracts.Versions(ctx, reader, version.ContractID)
	if err != nil {
		return nil, err
	}
	for _, other := range versions {
		if other.Version != version.Version {
			v.Others = append(v.Others, ui.Option{Value: other.Version, Label: i18n.T(ctx, "contracts.changes.option", other.Version, i18n.Of(ctx, "contracts.state", other.Status))})
		}
	}
	v.ReadHref = here + "/reading?since=" + url.QueryEscape(before.Version)
	if before.Size+version.Size > maxJudgedBytes {
		v.Message = i18n.T(ctx, "contracts.impact.too-large")
		return v, nil
	}
	made, err := p.compared.get(ctx, reader, version.ContractID, version.Version, before.Version)
	if _, refused := site.FormRefusal(err); refused != nil {
		v.Message = refused[""].In(ctx)
		return v, nil
	}
	if err != nil {
		return nil, err
	}
	return v, p.judge(c, reader, v, made)
}

// judge fills in what the changes mean for the subscriptions and clients of a partner, or by operation for an API.
func (p *pages) judge(c echo.Context, reader registry.Reader, v *view.ImpactView, made contracts.Comparison) error {
	ctx := c.Request().Context()
	about, err := p.Registry.Contracts.Get(ctx, reader, made.To.ContractID)
	if err != nil {
		return err
	}
	if about.Kind == string(contract.OpenAPI) {
		v.API = true
		v.Rows = operationRows(ctx, made.Changes)
	} else if err := p.judgeEvents(ctx, reader, v, made); err != nil {
		return err
	}
	for _, row := range v.Rows {
		switch {
		case row.Stays:
			v.Staying++
		case row.There:
			v.There++
		default:
			v.Breaking += row.Breaks()
			v.Warning += row.Warns()
		}
	}
	return nil
}

func (p *pages) judgeEvents(ctx context.Context, reader registry.Reader, v *view.ImpactView, made contracts.Comparison) error {
	list, err := p.Registry.Contracts.ImpactOn(ctx, reader, made)
	if err != nil {
		return err
	}
	scope := registry.ScopeOf(reader.PartnerID)
	for _, i := range list {
		row := impactRow(ctx, i.Changes, i.Level)
		row.Kind, row.Name, row.Href = "subscription", site.SubscriptionLabel(ctx, i.Subscription), "/partner/subscriptions/"+i.ID
		row.Types, row.Stays, row.There = atLines(ctx, i.Subscription, i.Affects), i.Stays, i.There
		endpoint, err := p.Registry.Endpoints.Get(ctx, scope, i.EndpointID)
		if err != nil {
			return err
		}
		row.Endpoint = endpoint.Name
		v.Rows = append(v.Rows, row)
	}
	clients, err := p.Registry.Clients.List(ctx, scope, reader.PartnerID)
	if err != nil {
		return err
	}
	var types []string
	for _, change := range made.Changes {
		types = append(types, change.EventTypes...)
	}
	slices.Sort(types)
	for _, client := range clients {
		var own []string
		for _, name := range slices.Compact(types) {
			if client.Status == store.ClientActive && identity.MayPublishType(client, name) == nil {
				own = append(own, name)
			}
		}
		if found := contracts.ChangesTo(made.Changes, own, compare.SideProducer); len(found) > 0 {
			row := impactRow(ctx, found, compare.Worst(found))
			row.Kind, row.Name, row.Href, row.Types = "client", client.Name, "/partner/clients/"+client.ID, own
			v.Rows = append(v.Rows, row)
		}
	}
	return nil
}

// operationRows puts the changes of an API by operation, those that break first. Which of them a partner calls is not known.
func operationRows(ctx context.Context, changes []compare.Change) []view.ImpactRow {
	by := map[i18n.Message][]compare.Change{}
	var order []i18n.Message
	for _, c := range changes {
		for _, subject := range c.Subjects {
			if by[subject] == nil {
				order = append(order, subject)
			}
			by[subject] = append(by[subject], c)
		}
	}
	var rows []view.ImpactRow
	for _, subject := range order[:min(len(order), maxOperations)] {
		row := impactRow(ctx, by[subject], compare.Worst(by[subject]))
		row.Kind, row.Name = "operation", subject.In(ctx)
		rows = append(rows, row)
	}
	return rows
}

func impactRow(ctx context.Context, changes []compare.Change, level compare.Level) view.ImpactRow {
	row := view.ImpactRow{Level: string(level), More: max(len(changes)-maxJudgedShown, 0)}
	for _, c := range changes[:min(len(changes), maxJudgedShown)] {
		row.Changes = append(row.Changes, changeRow(ctx, c))
	}
	return row
}
