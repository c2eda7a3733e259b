package amqp

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/store"
	view "schakel/templates/amqp"
	"schakel/templates/i18n"
	"schakel/templates/ui"
	"schakel/web/site"
)

// maxPartyMessages bounds the messages on the page of a party; the list has all.
const maxPartyMessages = 10

// soonExpires sets how long before its end the page asks for the successor of a certificate.
const soonExpires = 30 * 24 * time.Hour

// partyPage shows a party with its certificates, processes and last messages.
func (a AMQPArea) partyPage(c echo.Context) error { return a.showParty(c, http.StatusOK, "", nil) }

func (a AMQPArea) showParty(c echo.Context, status int, typed string, wrong site.FormErrors) error {
	ctx := c.Request().Context()
	row, err := a.Registry.AMQP.Party(ctx, a.bounds(c), c.Param("id"))
	if err != nil {
		return err
	}
	here := a.party(row.ID)
	v := view.AMQPPartyView{
		Own: row.Own, Health: row.Kind == store.AMQPHealth, Queues: queueItems(ctx, row), MayProcess: a.Admin && !row.Own,
		NewProcess: here + "/processes/new", CertificateAction: here + "/certificates", Typed: typed, Wrong: wrong,
		MessagesHref: a.messages() + "?party=" + url.QueryEscape(row.ID), Now: a.Cfg.Now(),
	}
	if v.Facts, err = a.partyFacts(ctx, row); err != nil {
		return err
	}
	if !a.Admin {
		owner, err := a.PartnerPages().Owner(c)
		if err != nil {
			return err
		}
		v.Closed = site.Waits(ctx, owner)
		if err := a.askProcess(ctx, row, &v); err != nil {
			return err
		}
	}
	held, err := a.Registry.AMQP.HoldsDestination(ctx, site.Actor(c))
	if err != nil {
		return err
	}
	v.Held = held
	if v.HeldFirst, err = a.Registry.AMQP.HoldsFirst(ctx, site.Actor(c), row.EndpointID); err != nil {
		return err
	}
	if err := a.fillParty(c, row, &v); err != nil {
		return err
	}
	page := a.pageFrame(c, row.Name)
	page.Badge, page.Invalid = ui.State("active"), len(wrong) > 0
	if !row.Enabled {
		page.Badge = ui.State("paused")
	}
	if v.Closed == "" {
		page.Actions = ui.LinkButton(ui.Secondary, i18n.T(ctx, "amqp.party.change"), here+"/edit")
	}
	return a.Render(c, status, view.AMQPPartyPage(page, v))
}

// askProcess leads a partner to how it asks for a process of its party: by a subscription at its endpoint, for who decides about that adds the process.
func (a AMQPArea) askProcess(ctx context.Context, row store.AMQPParty, v *view.AMQPPartyView) error {
	if row.EndpointID == "" || v.Closed != "" {
		return nil
	}
	_, open, err := a.DB.Subscriptions(ctx, store.SubscriptionFilter{EndpointID: row.EndpointID, Open: true, Page: store.Page{Number: 1, Size: 1}})
	if err != nil {
		return fmt.Errorf("find the subscriptions of a party: %w", err)
	}
	query := "?endpoint=" + url.QueryEscape(row.EndpointID)
	if open > 0 {
		v.Asked = "/partner/subscriptions" + query
	} else {
		v.Ask = "/partner/subscriptions/new" + query
	}
	return nil
}

// fillParty adds the lists.
func (a AMQPArea) fillParty(c echo.Context, row store.AMQPParty, v *view.AMQPPartyView) error {
	ctx := c.Request().Context()
	certificates, err := a.Registry.AMQP.Certificates(ctx, a.bounds(c), row.ID)
	if err != nil {
		return err
	}
	for _, one := range certificates {
		v.Certificates = append(v.Certificates, a.certificateRow(ctx, row, one, v.Closed == "" && !v.Held))
	}
	v.Warnings = a.partyWarnings(ctx, row, certificates)
	if a.Admin {
		if v.Orphans, err = a.orphanWarnings(ctx, a.bounds(c), row.ID); err != nil {
			return err
		}
		if v.Waiting, err = a.waitingOf(ctx, row); err != nil {
			return err
		}
	}
	processes, err := a.Registry.AMQP.Processes(ctx, a.bounds(c), row.ID)
	if err != nil {
		return err
	}
	for _, one := range processes {
		v.Processes = append(v.Processes, a.processRow(ctx, row, one))
	}
	if !row.Own {
		f := store.AMQPFilter{PartnerID: a.Scope(c), PartyID: row.ID, Page: store.Page{Number: 1, Size: maxPartyMessages}}
		messages, total, err := a.DB.AMQPMessages(ctx, f)
		if err != nil {
			return err
		}
		v.MessageTotal = total
		for _, m := range messages {
			v.Messages = append(v.Messages, a.messageRow(c, m))
		}
	}
	if a.Admin {
		v.History, err = a.History(ctx, store.AuditFilter{ObjectKind: "amqp-party", ObjectID: row.ID}, "")
	}
	return err
}

// waitingOf leads to the messages that a party sent and that wait: in quarantine under its HER-id, or held.
func (a AMQPArea) waitingOf(ctx context.Context, row store.AMQPParty) ([]ui.Named, error) {
	if row.Own || row.HerID == 0 {
		return nil, nil
	}
	her := strconv.FormatInt(row.HerID, 10)
	var list []ui.Named
	for _, state := range []struct{ status, text string }{
		{store.AMQPQuarantined, "amqp.party.quarantined"}, {store.AMQPHeld, "amqp.party.held"},
	} {
		n, err := a.DB.CountAMQPMessages(ctx, store.AMQPFilter{Statuses: []string{state.status}, HerID: row.HerID})
		if err != nil {
			return nil, err
		}
		if n > 0 {
			list = append(list, ui.Named{
				Name: i18n.T(ctx, state.text, n), Href: a.messages() + "?state=" + state.status + "&herId=" + her,
			})
		}
	}
	return list, nil
}

func (a AMQPArea) certificateRow(ctx context.Context, p store.AMQPParty, one store.AMQPCertificate, may bool) view.AMQPCertificateRow {
	row := view.AMQPCertificateRow{
		Subject: one.Subject, Purpose: one.Purpose, Thumbprint: one.Thumbprint, Source: one.Source,
		From: one.NotBefore.Time, Until: one.NotAfter.Time, State: a.certificateState(ctx, p, one),
	}
	if may {
		row.Remove = a.party(p.ID) + "/certificates/" + url.PathEscape(one.ID) + "/removal"
	}
	return row
}

func (a AMQPArea) certificateState(ctx context.Context, p store.AMQPParty, one store.AMQPCertificate) view.Mark {
	now := a.Cfg.Now()
	switch {
	case now.After(one.NotAfter.Time):
		return view.Mark{Kind: ui.KindError, Text: i18n.T(ctx, "amqp.certificate.expired")}
	case now.Before(one.NotBefore.Time):
		return view.Mark{Kind: ui.KindInfo, Text: i18n.T(ctx, "amqp.certificate.not-yet")}
	case a.UntrustedIssuer(p, one) != "":
		return view.Mark{Kind: ui.KindError, Text: i18n.T(ctx, "amqp.certificate.untrusted")}
	case one.NotAfter.Sub(now) < soonExpires:
		return view.Mark{Kind: ui.KindWarning, Text: i18n.T(ctx, "amqp.certificate.expires-soon")}
	}
	return view.Mark{Kind: ui.KindOK, Text: i18n.T(ctx, "amqp.certificate.is-valid")}
}

// partyWarnings names the purposes that no valid certificate below a trusted root serves now.
func (a AMQPArea) partyWarnings(ctx context.Context, p store.AMQPParty, certificates []store.AMQPCertificate) []string {
	if p.Kind != store.AMQPHealth || len(certificates) == 0 {
		return nil
	}
	var warnings []string
	for _, purpose := range []string{store.AMQPSign, store.AMQPEncrypt} {
		if why := a.CertificateTrouble(ctx, p, certificates, purpose); why != "" {
			warnings = append(warnings, why)
		}
	}
	return warnings
}

func (a AMQPArea) processRow(ctx context.Context, p store.AMQPParty, one store.AMQPProcess) view.AMQPProcessRow {
	row := view.AMQPProcessRow{Name: one.Name, Subject: one.Subject, Mode: one.Mode, Sends: one.Sends, Receives: one.Receives}
	if own, err := a.Registry.AMQP.Party(ctx, registry.Scope{All: true}, one.OwnPartyID); err == nil {
		row.Own = own.Name
	}
	if a.Admin {
		row.Href = a.party(p.ID) + "/processes/" + url.PathEscape(one.ID)
		row.Remove = row.Href + "/removal"
	}
	return row
}

func (a AMQPArea) partyFacts(ctx context.Context, p store.AMQPParty) ([]ui.Item, error) {
	broker := p.BrokerID
	names, err := a.Registry.AMQP.BrokerNames(ctx)
	if err != nil {
		return nil, err
	}
	for _, b := range names {
		if b.ID == p.BrokerID {
			broker = b.Name
		}
	}
	kind := i18n.T(ctx, "amqp.party.kind-health")
	if p.Kind == store.AMQPCloudEvents {
		kind = i18n.T(ctx, "amqp.party.kind-cloudevents")
	}
	items := []ui.Item{{Label: i18n.T(ctx, "amqp.label.kind"), Text: kind}}
	if p.HerID > 0 {
		items = append(items, ui.Item{Label: i18n.T(ctx, "amqp.label.her-id"), Content: ui.Identifier(strconv.FormatInt(p.HerID, 10))})
	}
	if p.ParentHerID > 0 {
		items = append(items, ui.Item{Label: i18n.T(ctx, "amqp.label.her-id-parent"), Content: ui.Identifier(strconv.FormatInt(p.ParentHerID, 10))})
	}
	items = append(items, ui.Item{Label: i18n.T(ctx, "amqp.label.broker"), Text: broker})
	if p.EndpointID != "" {
		items = append(items, ui.Item{Label: i18n.T(ctx, "amqp.party.endpoint"), Content: ui.Link(i18n.T(ctx, "amqp.party.see-endpoint"), a.Base+"/endpoints/"+p.EndpointID)})
	}
	if a.Admin && !p.Own {
		partner, err := a.AdminNames().PartnerLink(ctx, p.PartnerID)
		if err != nil {
			return nil, err
		}
		items = append(items, ui.Item{Label: i18n.T(ctx, "amqp.party.partner"), Content: ui.Link(partner.Name, partner.Href)})
	}
	return append(items, a.answerFacts(ctx, p)...), nil
}

func (a AMQPArea) answerFacts(ctx context.Context, p store.AMQPParty) []ui.Item {
	if p.Kind != store.AMQPHealth {
		return []ui.Item{{Label: i18n.T(ctx, "amqp.party.events-sent"), Text: i18n.Of(ctx, "amqp.content-mode", p.ContentMode)}}
	}
	if p.Own {
		return nil
	}
	wait := time.Duration(cmp.Or(p.AnswerWaitMS, usualAnswerWait.Milliseconds())) * time.Millisecond
	return []ui.Item{
		{Label: i18n.T(ctx, "amqp.label.apprec-version"), Text: cmp.Or(p.ApprecVersion, usualAppRec)},
		{Label: i18n.T(ctx, "amqp.label.apprec-wait"), Text: i18n.Duration(ctx, wait)},
	}
}

// usualAppRec is the version of AppRecs to a party for which none is chosen.
const usualAppRec = "1.1"

// usualAnswerWait is the time for an AppRec of a party for which none is chosen.
const usualAnswerWait = 4 * time.Hour

func queueItems(ctx context.Context, p store.AMQPParty) []ui.Item {
	var items []ui.Item
	async := "amqp.party.queue-async"
	if p.Kind == store.AMQPCloudEvents {
		async = "amqp.party.queue-write"
	}
	for _, q := range []struct{ label, name string }{
		{async, p.AsyncQueue},
		{"amqp.party.queue-sync", p.SyncQueue},
		{"amqp.party.queue-reply", p.ReplyQueue},
		{"amqp.party.queue-error", p.ErrorQueue},
		{"amqp.party.queue-dead", p.DeadQueue},
		{"amqp.party.queue-read", p.InboundQueue},
	} {
		if q.name != "" {
			items = append(items, ui.Item{Label: i18n.T(ctx, q.label), Content: ui.Identifier(q.name)})
		}
	}
	return items
}
