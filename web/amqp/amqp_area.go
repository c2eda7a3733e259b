package web

import (
	"context"
	"net/url"

	"github.com/labstack/echo/v4"
	"schakel/delivery/amqp"
	"schakel/delivery/outbox"
	"schakel/registry"
	"schakel/store"
	"schakel/templates/ui"
)

// AMQPBridge lists the methods of the bridge to message brokers that pages call; [amqp.Bridge] implements it. A refusal is an
// [amqp.Refused].
type AMQPBridge interface {
	Resend(ctx context.Context, by outbox.Actor, id string) error
	PutBack(ctx context.Context, by outbox.Actor, id string) error
	Drop(ctx context.Context, by outbox.Actor, id, reason string) error
	Reprocess(ctx context.Context, by outbox.Actor, id string) error
	AskAll(ctx context.Context, by outbox.Actor, f store.AMQPFilter, do, reason string) (int, error)
	AnswerAgain(ctx context.Context, by outbox.Actor, id string) error
	Retry(ctx context.Context, by outbox.Actor, id string) error
	Body(ctx context.Context, by outbox.Actor, id string) ([]byte, error)
	Reload()
	Clock() amqp.ClockState
	Unfit() []amqp.Unfit
}

// amqpArea is whose pages about the exchange by AMQP these are: an administrator sees everything, a partner its own, by the
// session alone (guarantee G7).
type amqpArea struct {
	*portal
	deliveryArea
}

func (p *portal) amqpAdmin() amqpArea { return amqpArea{p, administratorArea()} }

func (p *portal) amqpPartner() amqpArea { return amqpArea{p, partnerArea()} }

// routesAMQP registers the pages about the exchange by AMQP.
func (p *portal) routesAMQP() {
	a, admin := p.amqpAdmin(), p.pages("/admin/amqp", p.requireAdministrator)
	admin.GET("", a.overview)
	admin.GET("/brokers/new", a.newBroker)
	admin.POST("/brokers", a.createBroker)
	admin.GET("/brokers/:id", a.editBroker)
	admin.POST("/brokers/:id", a.changeBroker)
	admin.POST("/brokers/:id/removal", a.removeBroker)
	admin.GET("/parties/:id/processes/new", a.newProcess)
	admin.POST("/parties/:id/processes", a.createProcess)
	admin.GET("/parties/:id/processes/:process", a.editProcess)
	admin.POST("/parties/:id/processes/:process", a.changeProcess)
	admin.POST("/parties/:id/processes/:process/removal", a.removeProcess)
	admin.GET("/import", a.importPage)
	p.pagesUpTo(maxAMQPDocument+formOverhead, "/admin/amqp", p.requireAdministrator).POST("/import", a.importDetails)
	admin.POST("/messages/:id/resend", a.actOn(resendAMQP))
	admin.POST("/messages/:id/put-back", a.actOn(putBackAMQP))
	admin.POST("/messages/:id/reprocess", a.actOn(reprocessAMQP))
	admin.POST("/messages/:id/drop", a.dropMessage)
	admin.GET("/messages/:id/body", a.messageBody)
	admin.POST("/messages/:id/retry", a.actOn(retryAMQP))
	admin.POST("/messages/all/:do", a.actOnAll)
	admin.POST("/messages/:id/answer", a.actOn(answerAMQP))
	a.routesBoth(admin)
	p.amqpPartner().routesBoth(p.pages("/partner/amqp", p.requirePartner))
}

// routesBoth registers what partners have too, of their own.
func (a amqpArea) routesBoth(g routeGroup) {
	g.GET("/parties/new", a.newParty)
	g.POST("/parties", a.createParty)
	g.GET("/parties/:id", a.partyPage)
	g.GET("/parties/:id/edit", a.editParty)
	g.POST("/parties/:id/edit", a.changeParty)
	g.POST("/parties/:id/certificates", a.addCertificates)
	g.POST("/parties/:id/certificates/:certificate/removal", a.removeCertificate)
	g.GET("/messages", a.messageList)
	g.GET("/messages/:id", a.messagePage)
}

func (a amqpArea) root() string { return a.base + "/amqp" }

func (a amqpArea) messages() string { return a.root() + "/messages" }

func (a amqpArea) message(id string) string { return a.messages() + "/" + url.PathEscape(id) }

func (a amqpArea) party(id string) string { return a.root() + "/parties/" + url.PathEscape(id) }

func (a amqpArea) broker(id string) string { return a.root() + "/brokers/" + url.PathEscape(id) }

// bounds returns the scope of the reader.
func (a amqpArea) bounds(c echo.Context) registry.Scope {
	if a.admin {
		return registry.Scope{All: true}
	}
	return registry.ScopeOf(partnerID(c))
}

// pageFrame returns the frame of a page of this area, with its breadcrumbs.
func (a amqpArea) pageFrame(c echo.Context, title string, crumbs ...ui.Crumb) ui.Page {
	if a.admin {
		crumbs = append([]ui.Crumb{{Label: "AMQP", Href: a.root()}}, crumbs...)
	} else {
		crumbs = append([]ui.Crumb{{Label: "Endpoints", Href: "/partner/endpoints"}}, crumbs...)
	}
	return a.frame(c, title, crumbs...)
}

// changed has the bridge read brokers and parties again, and goes to a page.
func (a amqpArea) changed(c echo.Context, href, text string) error {
	if a.AMQP != nil {
		a.AMQP.Reload()
	}
	return a.done(c, href, text)
}

// settled is [desk.settled] for a change of a broker or party.
func (a amqpArea) settled(c echo.Context, err error, href, text string) error {
	if err == nil && a.AMQP != nil {
		a.AMQP.Reload()
	}
	return a.ownDesk(a.base).settled(c, err, href, text)
}

// partyName names a party and leads to its page.
func (a amqpArea) partyName(ctx context.Context, c echo.Context, id string) ui.Named {
	if id == "" {
		return ui.Named{}
	}
	p, err := a.Registry.AMQP.Party(ctx, a.bounds(c), id)
	if err != nil {
		return ui.Named{} // another's, such as our own party to a partner
	}
	return ui.Named{Name: p.Name, Href: a.party(p.ID)}
}
