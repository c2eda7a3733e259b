package contracts

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/registry/contracts"
	"schakel/registry/contracts/contract"
	"schakel/store"
	view "schakel/templates/contracts"
	"schakel/templates/ui"
	"schakel/web/site"
)

// publishForm lists the effects of publishing a version, and asks for confirmation.
func (p *pages) publishForm(c echo.Context) error { return p.showPublish(c, http.StatusOK, "", nil) }

// publishVersion publishes the draft whose digest the page showed: when it was replaced since, nothing is published (412).
func (p *pages) publishVersion(c echo.Context) error {
	form, err := site.ReadForm(c)
	if err != nil {
		return err
	}
	_, about, err := p.maintained(c)
	if err != nil {
		return err
	}
	id, version := about.ID, c.Param("version")
	v, err := p.Registry.Contracts.Publish(c.Request().Context(), site.Actor(c), id, version,
		contracts.PublishInput{Digest: form.Get("digest"), Reason: form.Get("reason")})
	if status, wrong := site.FormRefusal(err); wrong != nil {
		return p.showPublish(c, status, form.Get("reason"), wrong)
	}
	if err != nil {
		return err
	}
	done := "Version " + version + " is published."
	if v.Status == store.VersionDeprecated {
		done = "Version " + version + " is published, and deprecated as it is at its source."
	}
	if v.Status == store.VersionDraft {
		done = p.Mailed("The publication of version "+version+" is asked for.", "You get a mail when an administrator has decided.", "Look here whether it is published.")
	}
	return p.Done(c, site.ContractVersionHref(id, version), done)
}

// showPublish shows what a publication does, with the reason that was typed and
// why it was refused.
func (p *pages) showPublish(c echo.Context, status int, reason string, wrong site.FormErrors) error {
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
		Reason: reason, Wrong: wrong,
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
