package contracts

import (
	"context"
	"errors"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/registry/contracts"
	"schakel/store"
	"schakel/templates/ui"
)

// addOrigin marks a contract on its page as a copy, and names its origin (EDU-N05).
func (p *pages) addOrigin(c echo.Context, reader registry.Reader, about store.Contract, page *ui.Page) (copied bool, err error) {
	origins, err := p.Registry.Contracts.Origins(c.Request().Context(), about.ID)
	if err != nil {
		return false, err
	}
	from, ok := origins[about.ID]
	if !ok {
		return false, nil
	}
	page.Badge = ui.Badge(ui.KindInfo, "Copy")
	if reader.Maintains(about) { // nothing is uploaded to a copy
		page.Actions = ui.LinkButton(ui.Secondary, "Edit", maintainHref(reader, about.ID)+"/edit")
	}
	page.Lead = "A copy of " + from.OriginURL + ". The register there is the source of truth; its versions come from there alone."
	if !from.GoneAt.IsZero() {
		page.Lead += " Since " + ui.Day(from.GoneAt.Time) + " it is not offered there any more, or not to us."
	}
	if _, err := p.DB.MirrorSource(c.Request().Context(), from.SourceID); errors.Is(err, store.ErrNotFound) {
		page.Lead += " It is not mirrored any more, so nothing new comes."
	} else if err != nil {
		return true, err
	}
	return true, p.addSourceAlarm(c, reader, store.MirrorAsideFilter{ContractID: about.ID}, page)
}

// addVersionOrigin shows on the page of a version the origin of its bytes, and what
// the source says of it now.
func (p *pages) addVersionOrigin(c echo.Context, reader registry.Reader, v store.ContractVersion, page *ui.Page) error {
	from, ok, err := p.Registry.Contracts.CopyOf(c.Request().Context(), v)
	if err != nil || !ok {
		return err
	}
	page.Badge = templ.Join(page.Badge, ui.Badge(ui.KindInfo, "Copy"))
	page.Lead = "Copied from " + from.OriginURL + " on " + ui.Day(from.FetchedAt.Time) + "; its bytes there were last compared on " + ui.Day(from.CheckedAt.Time) + "."
	switch from.SourceStatus {
	case store.VersionWithdrawn, store.VersionDeprecated:
		page.Lead += " Since " + ui.Day(from.SourceSince.Time) + " it is " + from.SourceStatus + " at the source."
	case store.MirrorGone:
		page.Lead += " Since " + ui.Day(from.SourceSince.Time) + " the source does not offer this version any more."
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
	return "Since " + ui.Day(from.SourceSince.Time) + " this version is " + from.SourceStatus + " at its source. When you publish the copy, it is deprecated at once.", nil
}

// addSourceAlarm warns administrators, in red, that the source gives other bytes than it
// did, and leads to them.
func (p *pages) addSourceAlarm(c echo.Context, reader registry.Reader, f store.MirrorAsideFilter, page *ui.Page) error {
	if !reader.Administrator {
		return nil
	}
	f.Open, f.Page = true, store.Page{Number: 1, Size: 1}
	open, total, err := p.DB.MirrorAsides(c.Request().Context(), f)
	if err != nil || total == 0 {
		return err
	}
	page.Badge = templ.Join(page.Badge, ui.Badge(ui.KindError, "Other bytes at the source"))
	actions := ui.LinkButton(ui.Dangerous, "See the other bytes", alarmHref(open[0]))
	if page.Actions != nil {
		actions = templ.Join(page.Actions, actions)
	}
	page.Actions = actions
	return nil
}
