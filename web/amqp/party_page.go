package amqp

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/store"
	view "schakel/templates/amqp"
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
		Own: row.Own, Health: row.Kind == store.AMQPHealth, Queues: queueItems(row), MayProcess: a.Admin && !row.Own,
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
		page.Actions = ui.LinkButton(ui.Secondary, "Change", here+"/edit")
	}
	return a.Render(c, status, view.AMQPPartyPage(page, v))
}

// fillParty adds the lists.
func (a AMQPArea) fillParty(c echo.Context, row store.AMQPParty, v *view.AMQPPartyView) error {
	ctx := c.Request().Context()
	certificates, err := a.Registry.AMQP.Certificates(ctx, a.bounds(c), row.ID)
	if err != nil {
		return err
	}
	for _, one := range certificates {
		v.Certificates = append(v.Certificates, a.certificateRow(row, one, v.Closed == ""))
	}
	v.Warnings = partyWarnings(row, certificates, v.Now)
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
		{store.AMQPQuarantined, " in quarantine that this party sent. Reprocess what came in before it was registered."},
		{store.AMQPHeld, " held that this party sent: nobody is subscribed to what they become."},
	} {
		n, err := a.DB.CountAMQPMessages(ctx, store.AMQPFilter{Statuses: []string{state.status}, HerID: row.HerID})
		if err != nil {
			return nil, err
		}
		if n > 0 {
			list = append(list, ui.Named{
				Name: ui.Plural(n, "message is", "messages are") + state.text, Href: a.messages() + "?state=" + state.status + "&herId=" + her,
			})
		}
	}
	return list, nil
}

func (a AMQPArea) certificateRow(p store.AMQPParty, one store.AMQPCertificate, may bool) view.AMQPCertificateRow {
	row := view.AMQPCertificateRow{
		Subject: one.Subject, Purpose: purposeWord(one.Purpose), Thumbprint: one.Thumbprint, Source: sourceWord(one.Source),
		From: one.NotBefore.Time, Until: one.NotAfter.Time, State: certificateState(one, a.Cfg.Now()),
	}
	if may {
		row.Remove = a.party(p.ID) + "/certificates/" + url.PathEscape(one.ID) + "/removal"
	}
	return row
}

func certificateState(one store.AMQPCertificate, now time.Time) view.Mark {
	switch {
	case now.After(one.NotAfter.Time):
		return view.Mark{Kind: ui.KindError, Text: "Expired"}
	case now.Before(one.NotBefore.Time):
		return view.Mark{Kind: ui.KindInfo, Text: "Not valid yet"}
	case one.NotAfter.Sub(now) < soonExpires:
		return view.Mark{Kind: ui.KindWarning, Text: "Expires soon"}
	}
	return view.Mark{Kind: ui.KindOK, Text: "Valid"}
}

// partyWarnings names the purposes that no valid certificate serves now.
func partyWarnings(p store.AMQPParty, certificates []store.AMQPCertificate, now time.Time) []string {
	if p.Kind != store.AMQPHealth || len(certificates) == 0 {
		return nil
	}
	valid := map[string]bool{}
	for _, one := range certificates {
		if !now.Before(one.NotBefore.Time) && !now.After(one.NotAfter.Time) {
			valid[one.Purpose] = true
		}
	}
	var texts []string
	for _, purpose := range []string{store.AMQPSign, store.AMQPEncrypt} {
		if !valid[purpose] {
			texts = append(texts, "There is no valid certificate for "+purposeWord(purpose)+". Add one, or messages wait or are refused.")
		}
	}
	return texts
}

func purposeWord(purpose string) string {
	if purpose == store.AMQPSign {
		return "signing"
	}
	return "encryption"
}

func sourceWord(source string) string {
	switch source {
	case store.AMQPFromCPA:
		return "from a CPA or CPP"
	case store.AMQPRegistry:
		return "from the address registry"
	}
	return ""
}

func (a AMQPArea) processRow(ctx context.Context, p store.AMQPParty, one store.AMQPProcess) view.AMQPProcessRow {
	row := view.AMQPProcessRow{Name: one.Name, Subject: one.Subject, Mode: modeWord(one.Mode), Sends: one.Sends, Receives: one.Receives}
	if own, err := a.Registry.AMQP.Party(ctx, registry.Scope{All: true}, one.OwnPartyID); err == nil {
		row.Own = own.Name
	}
	if a.Admin {
		row.Href = a.party(p.ID) + "/processes/" + url.PathEscape(one.ID)
		row.Remove = row.Href + "/removal"
	}
	return row
}

func modeWord(mode string) string {
	if mode == store.AMQPSync {
		return "synchronous"
	}
	return "asynchronous"
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
	kind := "By the health profile"
	if p.Kind == store.AMQPCloudEvents {
		kind = "CloudEvents"
	}
	items := []ui.Item{{Label: "Kind", Text: kind}}
	if p.HerID > 0 {
		items = append(items, ui.Item{Label: "HER-id", Content: ui.Identifier(strconv.FormatInt(p.HerID, 10))})
	}
	if p.ParentHerID > 0 {
		items = append(items, ui.Item{Label: "HER-id of its organisation", Content: ui.Identifier(strconv.FormatInt(p.ParentHerID, 10))})
	}
	items = append(items, ui.Item{Label: "Broker", Text: broker})
	if p.EndpointID != "" {
		items = append(items, ui.Item{Label: "Endpoint", Content: ui.Link("See the endpoint", a.Base+"/endpoints/"+p.EndpointID)})
	}
	if a.Admin && !p.Own {
		partner, err := a.AdminNames().PartnerLink(ctx, p.PartnerID)
		if err != nil {
			return nil, err
		}
		items = append(items, ui.Item{Label: "Partner", Content: ui.Link(partner.Name, partner.Href)})
	}
	return append(items, a.answerFacts(p)...), nil
}

func (a AMQPArea) answerFacts(p store.AMQPParty) []ui.Item {
	if p.Kind != store.AMQPHealth {
		return []ui.Item{{Label: "Events are sent", Text: p.ContentMode}}
	}
	if p.Own {
		return nil
	}
	wait := "4 hours"
	if p.AnswerWaitMS > 0 {
		wait = ui.Duration(time.Duration(p.AnswerWaitMS) * time.Millisecond)
	}
	return []ui.Item{{Label: "AppRec version", Text: cmp.Or(p.ApprecVersion, usualAppRec)}, {Label: "Time for an AppRec", Text: wait}}
}

// usualAppRec is the version of AppRecs to a party for which none is chosen.
const usualAppRec = "1.1"

func queueItems(p store.AMQPParty) []ui.Item {
	var items []ui.Item
	async := "Asynchronous"
	if p.Kind == store.AMQPCloudEvents {
		async = "We write to"
	}
	for _, q := range []struct{ label, name string }{
		{async, p.AsyncQueue},
		{"Synchronous", p.SyncQueue},
		{"Replies", p.ReplyQueue},
		{"Errors", p.ErrorQueue},
		{"Dead letters", p.DeadQueue},
		{"We read", p.InboundQueue},
	} {
		if q.name != "" {
			items = append(items, ui.Item{Label: q.label, Content: ui.Identifier(q.name)})
		}
	}
	return items
}
