package partners

import (
	"context"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/registry/identity"
	"schakel/store"
	"schakel/templates/i18n"
	view "schakel/templates/partners"
	"schakel/templates/ui"
	"schakel/web/site"
)

// adminClient shows a client, and what it would get in addition.
func (p *pages) adminClient(c echo.Context) error { return p.showClient(c, site.Refusal{}) }

// showClient shows a client, with why a decision about it was refused.
func (p *pages) showClient(c echo.Context, r site.Refusal) error {
	return p.showClientWith(c, r, func(*view.AdminClientView) {})
}

// nameAtIssuer stores the name of a client at another token issuer.
func (p *pages) nameAtIssuer(c echo.Context) error {
	read := func(f site.Form) identity.ExternalName {
		return identity.ExternalName{Issuer: f.Get("issuer"), ID: f.Get("externalId")}
	}
	return site.Submit(c, read, func(in identity.ExternalName) error {
		_, err := p.Registry.Clients.SetExternalName(c.Request().Context(), site.Actor(c), c.Param("id"), in)
		return p.Saved(c, err, "/admin/clients/"+c.Param("id"), "partners.client.external-saved")
	}, func(c echo.Context, status int, in identity.ExternalName, wrong site.FormErrors) error {
		return p.showClientWith(c, site.Refusal{Status: status}, func(v *view.AdminClientView) {
			v.External.Issuer, v.External.ID, v.External.Wrong = in.Issuer, in.ID, wrong
		})
	})
}

// showClientWith shows a client, with what change puts on its page.
func (p *pages) showClientWith(c echo.Context, r site.Refusal, change func(*view.AdminClientView)) error {
	ctx := c.Request().Context()
	grant, err := p.Registry.Clients.Grant(ctx, site.Actor(c), c.Param("id"))
	if err != nil {
		return err
	}
	client := grant.Client
	v := clientView(ctx, grant)
	v.Now, v.Message = p.Cfg.Now(), r.Message
	steps, err := p.TwoPeople(ctx, p.stepsFor(grant))
	if err != nil {
		return err
	}
	v.Acts = site.Acts(ctx, steps, "/admin/clients/"+client.ID, clientState(client), r, ui.Hidden{Name: "seen", Value: grant.Seen})
	if v.History, err = p.History(ctx, store.AuditFilter{ObjectKind: "client", ObjectID: client.ID}, ""); err != nil {
		return err
	}
	v.DPoPBound, v.CertificateBound = client.DPoPBound, client.CertificateBound
	v.External = view.ClientExternal{Issuers: p.Registry.Clients.TokenIssuers(), Issuer: client.ExternalIssuer, ID: client.ExternalID, Open: client.Status == store.ClientActive}
	if err := p.addMandates(ctx, &v, grant.Partner); err != nil {
		return err
	}
	change(&v)
	page := p.Frame(c, client.Name, ui.Crumb{Label: i18n.T(ctx, "partners.label.clients"), Href: "/admin/clients"})
	page.Badge, page.Invalid = ui.State(client.Status), r.Status != 0
	if err := p.NoteWaiting(ctx, &page, "client", client.ID); err != nil {
		return err
	}
	if grant.Partner.Own {
		page.Actions = ui.LinkButton(ui.Secondary, i18n.T(ctx, "partners.client.change-it"), "/admin/own/clients/"+client.ID)
	}
	return p.Render(c, r.Code(), view.AdminClient(page, v))
}

// addMandates adds what the register of mandates last said about the partner of a client.
func (p *pages) addMandates(ctx context.Context, v *view.AdminClientView, partner store.Partner) error {
	if p.Registry.Mandates == nil || partner.Own {
		return nil
	}
	v.AsksMandates = true
	list, err := p.Registry.Mandates.Last(ctx, partner.OIN)
	for _, m := range list {
		v.Mandates = append(v.Mandates, view.MandateRow{OIN: m.Organisation, Service: m.Service, Mandated: m.Mandated, Asked: m.Asked})
	}
	return err
}

// clientState is the state of a client for its steps: one that asks for
// something can be decided on.
func clientState(client store.Client) string {
	if client.Waiting() {
		return clientWaiting
	}
	return client.Status
}

// clientWaiting is the state of a client that is active and asks for more.
const clientWaiting = "waiting"

func clientView(ctx context.Context, g identity.ClientGrant) view.AdminClientView {
	client := g.Client
	v := view.AdminClientView{
		ID: client.ID, Status: client.Status, Reason: i18n.Message(client.StatusReason).In(ctx), Method: client.AuthMethod,
		Partner:       ui.Named{Name: g.Partner.Name, Href: "/admin/partners/" + g.Partner.ID},
		PartnerStatus: g.Partner.Status, Scopes: client.Scopes, Types: client.PublishTypes, Sources: client.PublishSources,
		Asks:    view.ClientAsks{Scopes: g.Scopes, Types: g.Types, Sources: g.Sources, Keys: g.Keys.In(ctx)},
		Created: client.CreatedAt.Time, Decided: client.DecidedAt.Time, DecidedBy: client.DecidedBy,
	}
	for _, f := range g.Foreign {
		doubt := ui.Named{Name: f.Text().In(ctx)}
		if f.PartnerID != "" {
			doubt.Href = site.PartnerHref(f.PartnerID)
		}
		v.Foreign = append(v.Foreign, doubt)
	}
	v.Keys, v.CertificateSubject, v.CertificateKeys = identity.KeysText(client).In(ctx), client.CertificateSubject, client.CertificateKeys
	return v
}

// clientSteps are the decisions about a client.
func (p *pages) clientSteps() []site.Step {
	return []site.Step{
		{
			Verb: "approve", Proof: true, Needs: registry.DecideApprovals, Do: p.decideClient(true), From: []string{clientWaiting}, Kind: ui.Primary, Two: registry.TwoApprovals,
			Label: "partners.client.approve", Done: "partners.client.approved", Mails: true,
		},
		{
			Verb: "reject", Needs: registry.DecideApprovals, Do: p.decideClient(false), From: []string{clientWaiting}, Reason: true,
			Label: "partners.client.reject", Explain: "partners.client.reject-text",
			Done: "partners.client.rejected", Mails: true,
		},
		{
			Verb: "revoke", Needs: registry.ChangeClients, Do: site.ByID(p.Registry.Clients.Revoke), From: []string{store.ClientActive, clientWaiting}, Reason: true,
			Label:   "partners.client.revoke-good",
			Explain: "partners.client.revoke-good-text",
			Done:    "partners.client.revoked-admin",
		},
	}
}

// stepsFor are the decisions about a client as its page shows them: an approval of a source of another organisation asks for a reason.
func (p *pages) stepsFor(g identity.ClientGrant) []site.Step {
	steps := p.clientSteps()
	for i := range steps {
		if s := &steps[i]; s.Verb == "approve" && g.AsksForeign() {
			s.Kind, s.Reason, s.Explain = "", true, "partners.client.approve-foreign"
		}
	}
	return steps
}

// decideClient decides about what a client asks for. It approves what the page showed: when the request changed meanwhile,
// it approves nothing.
func (p *pages) decideClient(approve bool) func(echo.Context, registry.Actor, string) error {
	return func(c echo.Context, a registry.Actor, why string) error {
		d := identity.Decision{Approve: approve, Reason: why, Seen: c.Request().PostForm.Get("seen")}
		_, err := p.Registry.Clients.Decide(c.Request().Context(), a, c.Param("id"), d)
		return err
	}
}
