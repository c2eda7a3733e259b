package contracts

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/registry/contracts"
	"schakel/registry/contracts/compare"
	"schakel/registry/contracts/contract"
	"schakel/store"
	view "schakel/templates/contracts"
	"schakel/templates/i18n"
	"schakel/templates/ui"
	"schakel/web/site"
)

// publishForm lists the effects of publishing a version, and asks for confirmation.
func (p *pages) publishForm(c echo.Context) error {
	return p.showPublish(c, http.StatusOK, contracts.PublishInput{}, nil)
}

// publishVersion publishes the draft whose digest the page showed: when it was replaced since, nothing is published (412).
func (p *pages) publishVersion(c echo.Context) error {
	_, about, err := p.maintained(c)
	if err != nil {
		return err
	}
	read := func(form site.Form) contracts.PublishInput {
		return contracts.PublishInput{Digest: form.Get("digest"), Reason: form.Get("reason")}
	}
	return site.Submit(c, read, func(in contracts.PublishInput) error {
		id, version := about.ID, c.Param("version")
		v, err := p.Registry.Contracts.Publish(c.Request().Context(), site.Actor(c), id, version, in)
		done := i18n.M("contracts.publish.done", version)
		switch v.Status {
		case store.VersionDeprecated:
			done = i18n.M("contracts.publish.done-deprecated", version)
		case store.VersionDraft:
			done = p.Mailed(i18n.M("contracts.publish.asked", version), "contracts.publish.asked-mailed", "contracts.publish.asked-unmailed")
		}
		return p.Saved(c, err, site.ContractVersionHref(id, version), done)
	}, p.showPublish)
}

// showPublish shows what a publication does, with the reason that was typed and
// why it was refused.
func (p *pages) showPublish(c echo.Context, status int, in contracts.PublishInput, wrong site.FormErrors) error {
	ctx := c.Request().Context()
	reader, about, err := p.maintained(c)
	if err != nil {
		return err
	}
	version, content, err := p.Registry.Contracts.Document(ctx, reader, about.ID, c.Param("version"))
	if err != nil {
		return err
	}
	back := site.ContractVersionHref(about.ID, version.Version)
	v := view.PublishView{
		Action: maintainVersionHref(reader, about.ID, version.Version) + "/publication", Back: back, Digest: version.Digest, Document: version.BundleDigest,
		Visibility: about.Visibility, Kind: about.Kind,
		Reason: in.Reason, Wrong: wrong,
	}
	itself, err := p.Registry.Contracts.PublishesItself(ctx, site.Actor(c))
	if err != nil {
		return err
	}
	v.Asks, v.RequestReason = !itself, i18n.Message(version.RequestReason).In(ctx)
	if origins, err := p.Registry.Contracts.Origins(ctx, about.ID); err != nil {
		return err
	} else if len(origins) == 0 { // nothing is uploaded to a copy
		v.UploadHref = maintainHref(reader, about.ID) + "/upload"
	}
	if v.AtSource, err = p.stateAtSource(ctx, version); err != nil {
		return err
	}
	if err := p.fillBreaking(c, reader, &v, version); err != nil {
		return err
	}
	findings, err := contracts.Findings(version)
	if err != nil {
		return err
	}
	v.Warnings = findingRows(ctx, findings, back)
	if v.Changes, err = p.typeChanges(ctx, reader, about, content); err != nil {
		return err
	}
	v.Blocked = blocked(ctx, version, findings, v.Changes)
	title := i18n.T(ctx, "contracts.publish.heading", about.Title, version.Version)
	if v.Asks {
		title = i18n.T(ctx, "contracts.publish.ask-heading", about.Title, version.Version)
	}
	page := p.Frame(c, title,
		ui.Crumb{Label: i18n.T(ctx, "contracts.word.contracts"), Href: "/contracts"}, ui.Crumb{Label: about.Title, Href: site.ContractHref(about.ID)})
	page.Invalid = wrong != nil
	return p.Render(c, status, view.PublishPage(page, v))
}

// blocked explains why a version cannot be published; empty when it can.
func blocked(ctx context.Context, v store.ContractVersion, findings []contract.Finding, changes []view.TypeChange) string {
	switch v.Status {
	case store.VersionPublished:
		return i18n.T(ctx, "contracts.publish.blocked-published")
	case store.VersionDeprecated:
		return i18n.T(ctx, "contracts.publish.blocked-deprecated")
	case store.VersionWithdrawn:
		return i18n.T(ctx, "contracts.publish.blocked-withdrawn")
	}
	if len(contract.Missing(findings)) > 0 {
		return i18n.T(ctx, "contracts.publish.blocked-missing")
	}
	for _, t := range changes {
		if t.What == typeTaken {
			return i18n.T(ctx, "contracts.publish.blocked-taken", t.Name)
		}
	}
	return ""
}

// What a publication does to an event type.
const (
	typeNew       = "new"
	typeChanged   = "changed"
	typeUnchanged = "unchanged"
	typeLeft      = "left"
	typeTaken     = "taken"
)

// typeChanges compares the event types of a document with the catalogue.
func (p *pages) typeChanges(ctx context.Context, reader registry.Reader, about store.Contract, content []byte) ([]view.TypeChange, error) {
	doc, _, err := p.Registry.Contracts.Validate(ctx, content)
	if err != nil || doc == nil {
		return nil, err
	}
	var changes []view.TypeChange
	defined := map[string]bool{}
	for _, t := range doc.EventTypes() {
		defined[t.Type] = true
		change, err := p.typeChange(ctx, reader, about, t)
		if err != nil {
			return nil, err
		}
		changes = append(changes, change)
	}
	left, err := p.typesLeft(ctx, reader, about, defined)
	return append(changes, left...), err
}

func (p *pages) typeChange(ctx context.Context, reader registry.Reader, about store.Contract, t contract.EventType) (view.TypeChange, error) {
	change := view.TypeChange{Name: t.Type, Title: t.Title}
	now, err := p.DB.EventType(ctx, t.Type)
	switch {
	case errors.Is(err, store.ErrNotFound):
		change.What, change.Detail = typeNew, i18n.T(ctx, "contracts.type-change.new-means")
	case err != nil:
		return change, fmt.Errorf("find event type: %w", err)
	case now.ContractID != about.ID:
		change.What, change.Detail = typeTaken, i18n.T(ctx, "contracts.type-change.taken-means")
		if _, err := p.Registry.Contracts.Get(ctx, reader, now.ContractID); err == nil {
			change.Detail = i18n.T(ctx, "contracts.type-change.taken-by", now.ContractID)
		}
	case now.DataSchema == string(t.Schema) && now.ContentType == t.ContentType:
		change.What, change.Detail = typeUnchanged, i18n.T(ctx, "contracts.type-change.unchanged-means", now.ContractVersion)
	default:
		change.What, change.Detail = typeChanged, i18n.T(ctx, "contracts.type-change.changed-means", now.ContractVersion)
	}
	return change, nil
}

// typesLeft are event types of the latest version that this one does not define.
func (p *pages) typesLeft(ctx context.Context, reader registry.Reader, about store.Contract, defined map[string]bool) ([]view.TypeChange, error) {
	latest, err := p.Registry.Contracts.Version(ctx, reader, about.ID, registry.Latest)
	if isNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	types, err := p.Registry.Contracts.EventTypes(ctx, reader, about.ID, latest.Version)
	if err != nil {
		return nil, err
	}
	var left []view.TypeChange
	for _, t := range types {
		if !defined[t.Name] {
			left = append(left, view.TypeChange{
				Name: t.Name, Title: t.Title, What: typeLeft,
				Detail: i18n.T(ctx, "contracts.type-change.left-means", latest.Version),
			})
		}
	}
	return left, nil
}

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
	v.Before, v.Suggested, v.Unknown, v.NeedsReason = made.Before.Version, made.Suggested, made.Unknown.In(ctx), made.NeedsReason
	v.ChangesHref = changesHref(version.ContractID, version.Version, made.Before.Version)
	v.BrokenTotal = len(made.Breaking)
	for _, change := range made.Breaking[:min(len(made.Breaking), maxShownChanges)] {
		v.Broken = append(v.Broken, changeRow(ctx, change))
	}
	if !reader.Administrator { // who else is subscribed is not for a partner to see
		return nil
	}
	v.ShowBound = true
	bound, err := p.Registry.Contracts.BoundBy(ctx, site.Actor(c), contracts.EventTypesThatBreak(made.Breaking))
	v.Bound = boundRows(ctx, bound)
	return err
}

// boundRows are subscriptions for a page of administrators.
func boundRows(ctx context.Context, bound []contracts.Bound) []view.BoundRow {
	var rows []view.BoundRow
	for _, b := range bound {
		rows = append(rows, view.BoundRow{
			Partner: b.Partner.Name, PartnerHref: "/admin/partners/" + b.Partner.ID,
			Subscription: site.SubscriptionLabel(ctx, b.Subscription), SubscriptionHref: "/admin/subscriptions/" + b.ID, Types: atLines(ctx, b.Subscription, b.Affects),
		})
	}
	return rows
}

// ownBoundRows are subscriptions for the page of the partner that has them.
func ownBoundRows(ctx context.Context, bound []contracts.Bound) []view.BoundRow {
	var rows []view.BoundRow
	for _, b := range bound {
		rows = append(rows, view.BoundRow{
			Subscription: site.SubscriptionLabel(ctx, b.Subscription), SubscriptionHref: "/partner/subscriptions/" + b.ID, Types: atLines(ctx, b.Subscription, b.Affects),
		})
	}
	return rows
}

func changeRow(ctx context.Context, c compare.Change) view.ContractChangeRow {
	return view.ContractChangeRow{
		Level: string(c.Level), Text: c.Text.In(ctx), Why: i18n.Message(c.Why).In(ctx), Side: c.Side, Subject: i18n.Message(c.Subject).In(ctx), Pointer: c.Pointer, Removed: c.Removed, Code: c.Code,
		OldPointer: c.OldPointer, Direction: c.Direction,
	}
}
