package amqp

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	registryamqp "schakel/registry/amqp"
	"schakel/store"
	view "schakel/templates/amqp"
	"schakel/templates/i18n"
	"schakel/templates/ui"
	"schakel/web/site"
)

// newParty asks who a party is: an own one, or that of an endpoint.
func (a AMQPArea) newParty(c echo.Context) error {
	in := registryamqp.PartyInput{Kind: store.AMQPHealth, Enabled: true, ContentMode: registry.ModeStructured}
	endpoint := c.QueryParam("endpoint")
	if endpoint != "" {
		e, err := a.Registry.Endpoints.Get(c.Request().Context(), a.bounds(c), endpoint)
		if err != nil {
			return err
		}
		in.Name = e.Name
		if in.HerID, err = a.registeredHer(c.Request().Context(), e); err != nil {
			return err
		}
		if c.QueryParam("kind") == store.AMQPCloudEvents {
			in.Kind = store.AMQPCloudEvents
		}
	} else if !a.Admin {
		return store.ErrNotFound
	}
	return a.showPartyForm(c, http.StatusOK, store.AMQPParty{EndpointID: endpoint, Own: endpoint == ""}, partyForm{in, nil}, nil)
}

// registeredHer is the HER-id with which the partner of an endpoint registered; 0 when there is none, or another party has it.
func (a AMQPArea) registeredHer(ctx context.Context, e store.Endpoint) (int64, error) {
	partner, err := a.DB.Partner(ctx, e.PartnerID)
	if err != nil || partner.HerID == "" {
		return 0, err
	}
	her, err := strconv.ParseInt(partner.HerID, 10, 64)
	if err != nil {
		return 0, nil // the form explains HER-ids
	}
	if _, err = a.DB.AMQPPartyByHerID(ctx, her); errors.Is(err, store.ErrNotFound) {
		return her, nil
	}
	return 0, err
}

// createParty adds a party.
func (a AMQPArea) createParty(c echo.Context) error {
	row := store.AMQPParty{Own: true}
	read := func(form site.Form) partyForm {
		row.EndpointID = form.Get("endpoint")
		row.Own = row.EndpointID == ""
		return readParty(form, registryamqp.PartyInput{Kind: form.Get("kind")})
	}
	return site.Submit(c, read, func(in partyForm) (err error) {
		if len(in.wrong) > 0 {
			return registry.Invalid(in.wrong)
		}
		var made store.AMQPParty
		if row.Own {
			made, err = a.Registry.AMQP.CreateOwnParty(c.Request().Context(), site.Actor(c), in.PartyInput)
		} else {
			made, err = a.Registry.AMQP.CreateCounterpart(c.Request().Context(), site.Actor(c), row.EndpointID, in.PartyInput)
		}
		if err != nil {
			return err
		}
		text := i18n.M("amqp.party.added", made.Name)
		if made.Kind == store.AMQPHealth {
			text = i18n.M("amqp.party.added-health", made.Name)
		}
		return a.changed(c, a.party(made.ID), text)
	}, func(c echo.Context, status int, in partyForm, wrong site.FormErrors) error {
		return a.showPartyForm(c, status, row, in, wrong)
	})
}

// editParty asks what changes of a party.
func (a AMQPArea) editParty(c echo.Context) error {
	row, err := a.Registry.AMQP.Party(c.Request().Context(), a.bounds(c), c.Param("id"))
	if err != nil {
		return err
	}
	return a.showPartyForm(c, http.StatusOK, row, partyForm{registryamqp.InputOfParty(row), nil}, nil)
}

// changeParty changes a party.
func (a AMQPArea) changeParty(c echo.Context) error {
	row, err := a.Registry.AMQP.Party(c.Request().Context(), a.bounds(c), c.Param("id"))
	if err != nil {
		return err
	}
	held, err := a.Registry.AMQP.HoldsDestination(c.Request().Context(), site.Actor(c))
	if err != nil {
		return err
	}
	read := func(form site.Form) partyForm {
		was, in := registryamqp.InputOfParty(row), readParty(form, registryamqp.PartyInput{Kind: row.Kind})
		if !a.Admin {
			in.InboundQueue, in.ClientID = was.InboundQueue, was.ClientID
		}
		if held { // the form has no such fields; what comes in them all the same is refused
			in.BrokerID, in.HerID, in.AsyncQueue = cmp.Or(in.BrokerID, was.BrokerID), cmp.Or(in.HerID, was.HerID), cmp.Or(in.AsyncQueue, was.AsyncQueue)
			in.SyncQueue, in.ErrorQueue = cmp.Or(in.SyncQueue, was.SyncQueue), cmp.Or(in.ErrorQueue, was.ErrorQueue)
		}
		return in
	}
	return site.SubmitAbout(c, row, read, func(in partyForm) error {
		if len(in.wrong) > 0 {
			return registry.Invalid(in.wrong)
		}
		_, err := a.Registry.AMQP.UpdateParty(c.Request().Context(), site.Actor(c), row.ID, in.PartyInput)
		return a.saved(c, err, a.party(row.ID), "amqp.saved")
	}, a.showPartyForm)
}

// partyForm is a party as typed, with what could not be read of it.
type partyForm struct {
	registryamqp.PartyInput
	wrong site.FormErrors
}

func readParty(form site.Form, party registryamqp.PartyInput) partyForm {
	in := partyForm{party, site.FormErrors{}}
	in.Name, in.BrokerID = form.Get("name"), form.Get("brokerId")
	in.HerID, in.ParentHerID = site.FormNumber(form, "herId", in.wrong), site.FormNumber(form, "parentHerId", in.wrong)
	in.AsyncQueue, in.SyncQueue, in.ReplyQueue = form.Get("asyncQueue"), form.Get("syncQueue"), form.Get("replyQueue")
	in.ErrorQueue, in.DeadQueue, in.InboundQueue = form.Get("errorQueue"), form.Get("deadQueue"), form.Get("inboundQueue")
	in.ClientID, in.ContentMode, in.ApprecVersion, in.Enabled = form.Get("clientId"), form.Get("contentMode"), form.Get("apprecVersion"), form.Checked("enabled")
	if text := form.Get("answerWait"); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil {
			in.wrong["answerWait"] = "amqp.party.wait-bad"
		}
		in.AnswerWait = d
	}
	return in
}

func (a AMQPArea) showPartyForm(c echo.Context, status int, row store.AMQPParty, in partyForm, wrong site.FormErrors) error {
	v := view.AMQPPartyFormView{
		Action: a.root() + "/parties", Cancel: a.cancelParty(row), Endpoint: row.EndpointID, New: row.ID == "", Own: row.Own, Admin: a.Admin, Enabled: in.Enabled,
		Kind: in.Kind, Name: in.Name, Her: site.NumberText(in.HerID), Parent: site.NumberText(in.ParentHerID), Broker: in.BrokerID, Async: in.AsyncQueue, Sync: in.SyncQueue,
		Reply: in.ReplyQueue, Error: in.ErrorQueue, Dead: in.DeadQueue, Inbound: in.InboundQueue, Client: in.ClientID, Mode: in.ContentMode, Apprec: cmp.Or(in.ApprecVersion, usualAppRec),
		Wrong: wrong,
	}
	if in.AnswerWait > 0 {
		v.Wait = ShortTime(in.AnswerWait)
	}
	held, err := a.Registry.AMQP.HoldsDestination(c.Request().Context(), site.Actor(c))
	if err != nil {
		return err
	}
	if v.Held = held && row.ID != ""; v.Held {
		v.Her, v.Broker, v.Async, v.Sync, v.Error, v.Inbound = site.NumberText(row.HerID), row.BrokerID, row.AsyncQueue, row.SyncQueue, row.ErrorQueue, row.InboundQueue
	}
	if v.Brokers, err = a.brokerOptions(c, v.Broker); err != nil {
		return err
	}
	if v.Broker == "" && len(v.Brokers) == 2 { // to choose nothing, and the only one
		v.Broker = v.Brokers[1].Value
	}
	if v.Clients, err = a.clientOptions(c, row, in.Kind); err != nil {
		return err
	}
	ctx := c.Request().Context()
	title := i18n.T(ctx, "amqp.party.title-change")
	switch {
	case row.ID != "":
		v.Action = a.party(row.ID) + "/edit"
	case row.Own:
		title = i18n.T(ctx, "amqp.overview.add-own-party")
	default:
		title = i18n.T(ctx, "amqp.party.title-add")
		v.Kinds = otherPartyKind(ctx, a.root()+"/parties/new?endpoint="+row.EndpointID, in.Kind)
	}
	page := a.pageFrame(c, title)
	page.Invalid = len(wrong) > 0
	return a.Render(c, status, view.AMQPPartyFormPage(page, v))
}

// otherPartyKind leads to the form for the other kind of party.
func otherPartyKind(ctx context.Context, href, kind string) []ui.Option {
	if kind == store.AMQPCloudEvents {
		return []ui.Option{{Value: href, Label: i18n.T(ctx, "amqp.party.as-health")}}
	}
	return []ui.Option{{Value: href + "&kind=" + store.AMQPCloudEvents, Label: i18n.T(ctx, "amqp.party.as-cloudevents")}}
}

func (a AMQPArea) cancelParty(row store.AMQPParty) string {
	switch {
	case row.ID != "":
		return a.party(row.ID)
	case row.EndpointID != "":
		return a.Base + "/endpoints/" + row.EndpointID
	}
	return a.root()
}

// ShortTime writes a time without the zeroes at its end: 4h, not 4h0m0s.
func ShortTime(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	return strings.Replace(text, "h0m", "h", 1)
}

func (a AMQPArea) brokerOptions(c echo.Context, chosen string) ([]ui.Option, error) {
	names, err := a.Registry.AMQP.BrokerNames(c.Request().Context())
	if err != nil {
		return nil, err
	}
	options := []ui.Option{{Label: i18n.T(c.Request().Context(), "amqp.party.choose-broker")}}
	for _, b := range names {
		if b.Enabled || b.ID == chosen {
			options = append(options, ui.Option{Value: b.ID, Label: b.Name})
		}
	}
	return options, nil
}

// clientOptions are the clients whose rights can hold for what a party in CloudEvents sends.
func (a AMQPArea) clientOptions(c echo.Context, row store.AMQPParty, kind string) ([]ui.Option, error) {
	if kind != store.AMQPCloudEvents || !a.Admin {
		return nil, nil
	}
	ctx, owner := c.Request().Context(), row.PartnerID
	if owner == "" {
		e, err := a.Registry.Endpoints.Get(ctx, a.bounds(c), row.EndpointID)
		if err != nil {
			return nil, err
		}
		owner = e.PartnerID
	}
	clients, err := a.Registry.Clients.List(ctx, a.bounds(c), owner)
	if err != nil {
		return nil, err
	}
	options := []ui.Option{{Label: i18n.T(ctx, "amqp.party.client-none")}}
	for _, one := range clients {
		options = append(options, ui.Option{Value: one.ID, Label: one.Name})
	}
	return options, nil
}

// addCertificates adds certificates to a party.
func (a AMQPArea) addCertificates(c echo.Context) error {
	type typed struct{ certificates, keys string }
	read := func(form site.Form) typed { return typed{form.Get("certificates"), form.Get("privateKeys")} }
	return site.Submit(c, read, func(in typed) error {
		n, err := a.Registry.AMQP.AddCertificates(c.Request().Context(), site.Actor(c), c.Param("id"), in.certificates, in.keys)
		text := i18n.M("amqp.certificate.added", n)
		if n == 0 {
			text = "amqp.certificate.there"
		}
		return a.saved(c, err, a.party(c.Param("id")), text)
	}, func(c echo.Context, status int, in typed, wrong site.FormErrors) error {
		return a.showParty(c, status, in.certificates, wrong)
	})
}

// removeCertificate removes a certificate of a party.
func (a AMQPArea) removeCertificate(c echo.Context) error {
	id := c.Param("id")
	err := a.Registry.AMQP.RemoveCertificate(c.Request().Context(), site.Actor(c), id, c.Param("certificate"))
	return a.settled(c, err, a.party(id), "amqp.certificate.removed")
}
