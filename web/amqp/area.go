package amqp

import (
	"context"
	"net/url"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/templates/i18n"
	"schakel/templates/ui"
	"schakel/web/site"
)

// AMQPArea is whose pages about the exchange by AMQP these are: an administrator sees everything, a partner its own, by the
// session alone (guarantee G7).
type AMQPArea struct {
	*Pages
	site.DeliveryArea
}

// AMQPAdmin gives the pages of administrators, who see everything.
func (p *Pages) AMQPAdmin() AMQPArea { return AMQPArea{p, site.AdministratorArea()} }

// AMQPPartner gives the pages of partners, who see their own.
func (p *Pages) AMQPPartner() AMQPArea { return AMQPArea{p, site.PartnerArea()} }

// mountAMQP registers the pages about the exchange by AMQP.
func (p *Pages) mountAMQP() {
	a, admin := p.AMQPAdmin(), p.Pages("/admin/amqp", registry.ReadOrganisation)
	admin.GET("", a.overview)
	change, resend := admin.Needs(registry.ChangeBrokers), admin.Needs(registry.ResendDeliveries)
	change.GET("/brokers/new", a.newBroker)
	change.POST("/brokers", a.createBroker, a.RequireProof)
	change.GET("/brokers/:id", a.editBroker)
	change.POST("/brokers/:id", a.changeBroker, a.RequireProof)
	change.POST("/brokers/:id/removal", a.removeBroker)
	change.GET("/parties/:id/processes/new", a.newProcess)
	change.POST("/parties/:id/processes", a.createProcess, a.RequireProof)
	change.GET("/parties/:id/processes/:process", a.editProcess)
	change.POST("/parties/:id/processes/:process", a.changeProcess, a.RequireProof)
	change.POST("/parties/:id/processes/:process/removal", a.removeProcess)
	change.GET("/import", a.importPage)
	p.PagesUpTo(maxAMQPDocument+site.FormOverhead, "/admin/amqp", registry.ReadOrganisation).Needs(registry.ChangeBrokers).POST("/import", a.previewDetails)
	p.PagesUpTo(maxTakenForm, "/admin/amqp", registry.ReadOrganisation).Needs(registry.ChangeBrokers).POST("/import/take", a.takeDetails, a.RequireProof)
	resend.POST("/messages/:id/resend", a.actOn(resendAMQP))
	resend.POST("/messages/:id/put-back", a.actOn(putBackAMQP))
	resend.POST("/messages/:id/reprocess", a.actOn(reprocessAMQP))
	admin.Needs(registry.DiscardDeliveries).POST("/messages/:id/drop", a.dropMessage)
	admin.GET("/messages/:id/body", a.messageBody)
	resend.POST("/messages/:id/retry", a.actOn(retryAMQP))
	admin.Needs(registry.ResendDeliveries, registry.DiscardDeliveries).POST("/messages/all/:do", a.actOnAll)
	resend.POST("/messages/:id/answer", a.actOn(answerAMQP))
	a.routesBoth(admin)
	p.AMQPPartner().routesBoth(p.Pages("/partner/amqp", registry.ReadPartner))
}

// routesBoth registers what partners have too, of their own.
func (a AMQPArea) routesBoth(g site.RouteGroup) {
	change := g.Needs(registry.ChangeEndpoints)
	change.GET("/parties/new", a.newParty)
	change.POST("/parties", a.createParty, a.RequireProof)
	g.GET("/parties/:id", a.partyPage)
	change.GET("/parties/:id/edit", a.editParty)
	change.POST("/parties/:id/edit", a.changeParty, a.RequireProof)
	change.POST("/parties/:id/certificates", a.addCertificates, a.RequireProof)
	change.POST("/parties/:id/certificates/:certificate/removal", a.removeCertificate, a.RequireProof)
	g.GET("/messages", a.messageList)
	g.GET("/messages/export", a.exportMessages)
	g.GET("/messages/:id", a.messagePage)
}

func (a AMQPArea) root() string { return a.Base + "/amqp" }

func (a AMQPArea) messages() string { return a.root() + "/messages" }

func (a AMQPArea) message(id string) string { return a.messages() + "/" + url.PathEscape(id) }

func (a AMQPArea) party(id string) string { return a.root() + "/parties/" + url.PathEscape(id) }

func (a AMQPArea) broker(id string) string { return a.root() + "/brokers/" + url.PathEscape(id) }

// bounds returns the scope of the reader.
func (a AMQPArea) bounds(c echo.Context) registry.Scope {
	if a.Admin {
		return registry.Scope{All: true}
	}
	return registry.ScopeOf(site.PartnerID(c))
}

// pageFrame returns the frame of a page of this area, with its breadcrumbs.
func (a AMQPArea) pageFrame(c echo.Context, title string, crumbs ...ui.Crumb) ui.Page {
	if a.Admin {
		crumbs = append([]ui.Crumb{{Label: "AMQP", Href: a.root()}}, crumbs...)
	} else {
		crumbs = append([]ui.Crumb{{Label: i18n.T(c.Request().Context(), "amqp.endpoints"), Href: "/partner/endpoints"}}, crumbs...)
	}
	return a.Frame(c, title, crumbs...)
}

// changed has the bridge read brokers and parties again, and goes to a page.
func (a AMQPArea) changed(c echo.Context, href string, text i18n.Message) error {
	if a.AMQP != nil {
		a.AMQP.Reload()
	}
	return a.Done(c, href, text)
}

// settled is [site.OwnerPages.Settled] for a change of a broker or party.
func (a AMQPArea) settled(c echo.Context, err error, href string, text i18n.Message) error {
	if err == nil && a.AMQP != nil {
		a.AMQP.Reload()
	}
	return a.OwnPages(a.Base).Settled(c, err, href, text)
}

// saved is settled for a form, which shows a refusal itself.
func (a AMQPArea) saved(c echo.Context, err error, href string, text i18n.Message) error {
	if _, wrong := site.FormRefusal(err); wrong != nil {
		return err
	}
	return a.settled(c, err, href, text)
}

// partyName names a party and leads to its page.
func (a AMQPArea) partyName(ctx context.Context, c echo.Context, id string) ui.Named {
	if id == "" {
		return ui.Named{}
	}
	p, err := a.Registry.AMQP.Party(ctx, a.bounds(c), id)
	if err != nil {
		return ui.Named{} // another's, such as our own party to a partner
	}
	return ui.Named{Name: p.Name, Href: a.party(p.ID)}
}
