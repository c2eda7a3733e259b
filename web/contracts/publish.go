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
		done := i18n.M("Version %s is published.", version)
		switch v.Status {
		case store.VersionDeprecated:
			done = i18n.M("Version %s is published, and deprecated as it is at its source.", version)
		case store.VersionDraft:
			done = p.Mailed(i18n.M("The publication of version %s is asked for.", version), "You get a mail when an administrator has decided.", "Look here whether it is published.")
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
	v.Asks, v.RequestReason = !itself, version.RequestReason
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
	v.Warnings = findingRows(findings, back)
	if v.Changes, err = p.typeChanges(ctx, reader, about, content); err != nil {
		return err
	}
	v.Blocked = blocked(version, findings, v.Changes)
	title := "Publish "
	if v.Asks {
		title = "Ask for the publication of "
	}
	page := p.Frame(c, title+about.Title+" "+version.Version,
		ui.Crumb{Label: "Contracts", Href: "/contracts"}, ui.Crumb{Label: about.Title, Href: site.ContractHref(about.ID)})
	page.Invalid = wrong != nil
	return p.Render(c, status, view.PublishPage(page, v))
}

// blocked explains why a version cannot be published; empty when it can.
func blocked(v store.ContractVersion, findings []contract.Finding, changes []view.TypeChange) string {
	if v.Status != store.VersionDraft {
		return "This version is " + v.Status + " already; only a draft can be published."
	}
	if len(contract.Missing(findings)) > 0 {
		return "It refers to what was not uploaded. Upload it again as a zip with all its files."
	}
	for _, t := range changes {
		if t.What == typeTaken {
			return "It cannot be published: another contract defines " + t.Name + ". Take it out, or give it another name."
		}
	}
	return ""
}

// What a publication does to an event type.
const (
	typeNew       = "New"
	typeChanged   = "Changed"
	typeUnchanged = "Unchanged"
	typeLeft      = "Left out"
	typeTaken     = "Taken"
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
		change.What, change.Detail = typeNew, "It joins the catalogue; partners can ask for it."
	case err != nil:
		return change, fmt.Errorf("find event type: %w", err)
	case now.ContractID != about.ID:
		change.What, change.Detail = typeTaken, "Another contract defines it already."
		if _, err := p.Registry.Contracts.Get(ctx, reader, now.ContractID); err == nil {
			change.Detail = "Contract " + now.ContractID + " defines it already."
		}
	case now.DataSchema == string(t.Schema) && now.ContentType == t.ContentType:
		change.What, change.Detail = typeUnchanged, "Its data is described as in version "+now.ContractVersion+"."
	default:
		change.What, change.Detail = typeChanged, "Its data is described in another way than in version "+now.ContractVersion+"."
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
				Detail: "This version does not define it. It stays in the catalogue as version " + latest.Version + " describes it.",
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
		Level: string(c.Level), Text: c.Text.String(), Why: c.Why.String(), Side: c.Side, Subject: c.Subject.String(), Pointer: c.Pointer, Removed: c.Removed, Code: c.Code,
		OldPointer: c.OldPointer, Direction: c.Direction,
	}
}
