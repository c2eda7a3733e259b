package contracts

import (
	"context"
	"errors"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/registry/contracts"
	"schakel/store"
	"schakel/templates/i18n"
	"schakel/templates/ui"
)

// addOrigin marks a contract on its page as a copy, and names its origin (EDU-N05).
func (p *pages) addOrigin(c echo.Context, reader registry.Reader, about store.Contract, page *ui.Page) (copied bool, err error) {
	ctx := c.Request().Context()
	origins, err := p.Registry.Contracts.Origins(ctx, about.ID)
	if err != nil {
		return false, err
	}
	from, ok := origins[about.ID]
	if !ok {
		return false, nil
	}
	page.Badge = ui.Badge(ui.KindInfo, i18n.T(ctx, "contracts.copy.badge"))
	if reader.Maintains(about) { // nothing is uploaded to a copy
		page.Actions = ui.LinkButton(ui.Secondary, i18n.T(ctx, "contracts.contract.edit"), maintainHref(reader, about.ID)+"/edit")
	}
	page.Lead = i18n.T(ctx, "contracts.copy.lead", from.OriginURL)
	if !from.GoneAt.IsZero() {
		page.Lead += " " + i18n.T(ctx, "contracts.copy.gone", i18n.Day(ctx, from.GoneAt.Time))
	}
	if _, err := p.DB.MirrorSource(ctx, from.SourceID); errors.Is(err, store.ErrNotFound) {
		page.Lead += " " + i18n.T(ctx, "contracts.copy.not-mirrored")
	} else if err != nil {
		return true, err
	}
	return true, p.addSourceAlarm(c, reader, store.MirrorAsideFilter{ContractID: about.ID}, page)
}

// addVersionOrigin shows on the page of a version the origin of its bytes, and what
// the source says of it now.
func (p *pages) addVersionOrigin(c echo.Context, reader registry.Reader, v store.ContractVersion, page *ui.Page) error {
	ctx := c.Request().Context()
	from, ok, err := p.Registry.Contracts.CopyOf(ctx, v)
	if err != nil || !ok {
		return err
	}
	page.Badge = templ.Join(page.Badge, ui.Badge(ui.KindInfo, i18n.T(ctx, "contracts.copy.badge")))
	page.Lead = i18n.T(ctx, "contracts.copy.version-lead", from.OriginURL, i18n.Day(ctx, from.FetchedAt.Time), i18n.Day(ctx, from.CheckedAt.Time))
	switch from.SourceStatus {
	case store.VersionDeprecated:
		page.Lead += " " + i18n.T(ctx, "contracts.copy.deprecated-there", i18n.Day(ctx, from.SourceSince.Time))
	case store.VersionWithdrawn:
		page.Lead += " " + i18n.T(ctx, "contracts.copy.withdrawn-there", i18n.Day(ctx, from.SourceSince.Time))
	case store.MirrorGone:
		page.Lead += " " + i18n.T(ctx, "contracts.copy.version-gone", i18n.Day(ctx, from.SourceSince.Time))
	}
	return p.addSourceAlarm(c, reader, store.MirrorAsideFilter{ContractID: v.ContractID, Version: v.Version}, page)
}

// stateAtSource warns of the effect of publishing a copy when its source advises
// against it meanwhile; empty when it does not.
func (p *pages) stateAtSource(ctx context.Context, v store.ContractVersion) (string, error) {
	from, ok, err := p.Registry.Contracts.CopyOf(ctx, v)
	if err != nil || !ok || !contracts.AdvisedAgainst(from) {
		return "", err
	}
	if from.SourceStatus == store.VersionWithdrawn {
		return i18n.T(ctx, "contracts.copy.publish-withdrawn", i18n.Day(ctx, from.SourceSince.Time)), nil
	}
	return i18n.T(ctx, "contracts.copy.publish-deprecated", i18n.Day(ctx, from.SourceSince.Time)), nil
}

// addSourceAlarm warns administrators, in red, that the source gives other bytes than it
// did, and leads to them.
func (p *pages) addSourceAlarm(c echo.Context, reader registry.Reader, f store.MirrorAsideFilter, page *ui.Page) error {
	if !reader.Administrator {
		return nil
	}
	f.Open, f.Page = true, store.Page{Number: 1, Size: 1}
	ctx := c.Request().Context()
	open, total, err := p.DB.MirrorAsides(ctx, f)
	if err != nil || total == 0 {
		return err
	}
	page.Badge = templ.Join(page.Badge, ui.Badge(ui.KindError, i18n.T(ctx, "contracts.copy.other-bytes")))
	actions := ui.LinkButton(ui.Dangerous, i18n.T(ctx, "contracts.copy.see-other-bytes"), alarmHref(open[0]))
	if page.Actions != nil {
		actions = templ.Join(page.Actions, actions)
	}
	page.Actions = actions
	return nil
}
