package contracts

import (
	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/registry/contracts"
	"schakel/registry/contracts/compare"
	"schakel/store"
	view "schakel/templates/contracts"
	"schakel/web/site"
)

// fillBreaking adds what a publication breaks, and for whom, to its page.
func (p *pages) fillBreaking(c echo.Context, reader registry.Reader, v *view.PublishView, version store.ContractVersion) error {
	if version.Status != store.VersionDraft {
		return nil
	}
	ctx := c.Request().Context()
	made, err := p.Registry.Contracts.Preview(ctx, reader, version.ContractID, version.Version)
	if err != nil || made.Before.ID == "" {
		return err
	}
	v.Before, v.Suggested, v.Unknown, v.NeedsReason = made.Before.Version, made.Suggested, made.Unknown, made.NeedsReason
	v.ChangesHref = changesHref(version.ContractID, version.Version, made.Before.Version)
	v.BrokenTotal = len(made.Breaking)
	for _, change := range made.Breaking[:min(len(made.Breaking), maxShownChanges)] {
		v.Broken = append(v.Broken, changeRow(change))
	}
	if !reader.Administrator { // who else is subscribed is not for a partner to see
		return nil
	}
	v.ShowBound = true
	bound, err := p.Registry.Contracts.BoundBy(ctx, site.Actor(c), contracts.EventTypesThatBreak(made.Breaking))
	v.Bound = boundRows(bound)
	return err
}

// boundRows are subscriptions for a page of administrators.
func boundRows(bound []contracts.Bound) []view.BoundRow {
	var rows []view.BoundRow
	for _, b := range bound {
		rows = append(rows, view.BoundRow{
			Partner: b.Partner.Name, PartnerHref: "/admin/partners/" + b.Partner.ID,
			Subscription: boundName(b.Subscription), SubscriptionHref: "/admin/subscriptions/" + b.ID, Types: atLines(b.Subscription, b.Affects),
		})
	}
	return rows
}

// ownBoundRows are subscriptions for the page of the partner that has them.
func ownBoundRows(bound []contracts.Bound) []view.BoundRow {
	var rows []view.BoundRow
	for _, b := range bound {
		rows = append(rows, view.BoundRow{
			Subscription: boundName(b.Subscription), SubscriptionHref: "/partner/subscriptions/" + b.ID, Types: atLines(b.Subscription, b.Affects),
		})
	}
	return rows
}

// boundName is the name of a subscription, or its id.
func boundName(s store.Subscription) string {
	if s.Name != "" {
		return s.Name
	}
	return s.ID
}

func changeRow(c compare.Change) view.ContractChangeRow {
	return view.ContractChangeRow{
		Level: string(c.Level), Text: c.Text, Why: c.Why, Side: c.Side, Subject: c.Subject, Pointer: c.Pointer, Removed: c.Removed, Code: c.Code,
		OldPointer: c.OldPointer, Direction: c.Direction,
	}
}
