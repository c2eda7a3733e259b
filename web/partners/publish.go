package partners

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"
	"schakel/delivery/outbox"
	"schakel/registry"
	"schakel/registry/identity"
	"schakel/store"
	"schakel/templates/i18n"
	view "schakel/templates/partners"
	"schakel/templates/ui"
	"schakel/web/site"
)

// publishForm shows the form that publishes a test event as a client, and what came of the last one.
func (d ownerPages) publishForm(c echo.Context) error {
	owner, client, err := d.ownClient(c)
	if err != nil || !d.publishes(c.Request().Context(), owner, client) {
		return d.Closed(c, err, "/clients/"+client.ID)
	}
	return d.showPublish(c, http.StatusOK, client, testForm{eventType: site.Clean(c.QueryParam("type"))}, nil)
}

// publishes reports whether a client may publish now, as one whose token is granted.
func (d ownerPages) publishes(ctx context.Context, owner store.Partner, client store.Client) bool {
	return d.pages.others.Publish != nil && site.Waits(ctx, owner) == "" && client.Status == store.ClientActive && slices.Contains(client.Scopes, identity.ScopeEventsPublish)
}

// publishTest publishes an event as a client, marked as a test. Subscribers get it as any other.
func (d ownerPages) publishTest(c echo.Context) error {
	owner, client, err := d.ownClient(c)
	if err != nil || !d.publishes(c.Request().Context(), owner, client) {
		return d.Closed(c, err, "/clients/"+client.ID)
	}
	return site.SubmitAbout(c, client, readTest, func(in testForm) error { return d.publishTyped(c, owner, client, in) }, d.showPublish)
}

func (d ownerPages) publishTyped(c echo.Context, owner store.Partner, client store.Client, in testForm) error {
	ctx := c.Request().Context()
	switch {
	case in.content == "":
		return registry.Invalid(registry.Problems{"event": "partners.test.event-missing"})
	case len(in.content) > maxTestBytes:
		return registry.Invalid(registry.Problems{"event": i18n.M("partners.test.event-large", int64(maxTestBytes))})
	}
	content, wrong := marked(in.content)
	if wrong != "" {
		return registry.Invalid(registry.Problems{"event": wrong})
	}
	in.content = string(content) // findings name places in the bytes that were sent
	receipt, _, err := d.pages.others.Publish(ctx, client, owner, content)
	if problem, ok := errors.AsType[*site.Problem](err); ok && !problem.Logged {
		if in.findings, in.checked = problem.Errors, true; len(problem.Errors) == 0 {
			return registry.Invalid(registry.Problems{"event": problem.Detail})
		}
		return d.showPublish(c, problem.Status, client, in, site.FormErrors{"event": "partners.publish.refused"})
	}
	if err != nil {
		return err
	}
	id := receipt.Events[0].EventID
	if err := d.Registry.Clients.NotePublished(ctx, site.Actor(c), client, id, in.eventType); err != nil {
		return err
	}
	return d.Done(c, d.Href("/clients/"+client.ID)+"/publish?"+url.Values{"type": {in.eventType}, "event": {id}}.Encode(), "partners.publish.accepted")
}

// marked marks an event as a test; one that is marked already stays as it was typed, so that lines stay where they are.
func marked(content string) ([]byte, i18n.Message) {
	var members map[string]json.RawMessage
	if json.Unmarshal([]byte(content), &members) != nil || members == nil {
		return nil, "partners.test.not-json"
	}
	if string(members[outbox.TestExtension]) == "true" {
		return []byte(content), ""
	}
	members[outbox.TestExtension] = json.RawMessage("true")
	return []byte(inOrder(members)), ""
}

// publishable lists the event types in the catalogue that a client may publish.
func (d ownerPages) publishable(c echo.Context, client store.Client) ([]store.EventType, error) {
	reader, err := d.Reader(c)
	if err != nil {
		return nil, err
	}
	all, err := d.Registry.EventTypes.Catalogue(c.Request().Context(), reader)
	types := slices.DeleteFunc(slices.Clone(all), func(t store.EventType) bool { return identity.MayPublishType(client, t.Name) != nil })
	return types[:min(len(types), maxTestTypes)], err
}

func (d ownerPages) showPublish(c echo.Context, status int, client store.Client, in testForm, wrong site.FormErrors) error {
	ctx, here := c.Request().Context(), d.Href("/clients/"+client.ID)
	types, err := d.publishable(c, client)
	if err != nil {
		return err
	}
	v := view.PublishView{TestView: view.TestView{Action: here + "/publish", Back: here, Wrong: wrong, Type: in.eventType, Event: in.content, Checked: in.checked}}
	for _, t := range types {
		v.Types = append(v.Types, ui.Option{Value: t.Name, Label: t.Name})
	}
	chosen := slices.IndexFunc(types, func(t store.EventType) bool { return t.Name == in.eventType })
	if chosen < 0 && len(types) > 0 {
		chosen = 0
	}
	if chosen >= 0 {
		t := types[chosen]
		v.Type, v.Contract = t.Name, ui.Named{Name: t.ContractID + " " + t.ContractVersion, Href: site.ContractVersionHref(t.ContractID, t.ContractVersion)}
		if in.content == "" && len(wrong) == 0 {
			source := "urn:example:source"
			if len(client.PublishSources) > 0 {
				source = filled(client.PublishSources[0])
			}
			v.Event = exampleEvent(t, source, func(own string) bool { return identity.MayPublishFrom(client, own) == nil }, d.Cfg.Now())
		}
	}
	for _, f := range in.findings {
		row := view.TestFinding{Pointer: f.Pointer, Text: f.Detail.In(ctx)}
		if f.Line > 0 {
			row.Place = strconv.Itoa(f.Line) + ":" + strconv.Itoa(f.Column)
		}
		v.Findings = append(v.Findings, row)
	}
	if id := site.Clean(c.QueryParam("event")); id != "" && status == http.StatusOK {
		if v.Published, err = d.published(ctx, client, id); err != nil {
			return err
		}
		v.Self, v.Now = here+"/publish?"+url.Values{"type": {v.Type}, "event": {id}}.Encode(), d.Cfg.Now()
	}
	page := d.PageFrame(c, i18n.T(ctx, "partners.publish.title"), d.crumbsToClients(ctx, client)...)
	page.Lead, page.Invalid = i18n.T(ctx, "partners.publish.lead", client.Name), status != http.StatusOK
	return d.Render(c, status, view.PublishPage(page, v))
}

// published shows the deliveries of an event that a client published; nothing of another's. It waits a little for the first attempts.
func (d ownerPages) published(ctx context.Context, client store.Client, eventID string) (*view.Published, error) {
	e, err := d.DB.Event(ctx, eventID)
	if errors.Is(err, store.ErrNotFound) || err == nil && (e.ClientID != client.ID || e.PartnerID != client.PartnerID) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	own := d.Base != site.PartnerArea().Base
	names := d.DeliveryNamesOf(client.PartnerID)
	if own {
		names = d.DeliveryNames()
	}
	p := &view.Published{EventID: e.ID, At: e.AcceptedAt.Time}
	rows, err := d.attempted(ctx, e.ID)
	if err != nil {
		return nil, err
	}
	portal, err := d.DB.OwnPartner(ctx)
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		r := view.PublishedRow{State: row.Status, Attempts: int(row.Attempts), Receiver: i18n.T(ctx, "partners.publish.another")}
		if own || row.PartnerID == client.PartnerID { // of others it is not told who they are, or why it fails
			if r.Receiver, err = names.Partner(ctx, row.PartnerID); err != nil {
				return nil, err
			}
			if r.Href = d.Deliveries + "/" + row.ID; row.Reason != "" {
				r.Reason = site.ReasonOf(row.Reason).Label.In(ctx)
			}
		} else if row.PartnerID == portal.ID { // it needs no route, and every partner knows it
			r.Receiver = i18n.T(ctx, "partners.publish.portal", portal.Name)
		}
		p.Rows = append(p.Rows, r)
	}
	return p, nil
}

// attempted lists the deliveries of an event once each was tried, or after a little while.
func (d ownerPages) attempted(ctx context.Context, eventID string) ([]store.Delivery, error) {
	patience := time.NewTimer(testPatience / 3)
	defer patience.Stop()
	tick := time.NewTicker(testPoll)
	defer tick.Stop()
	for {
		rows, err := d.DB.DeliveriesOf(ctx, eventID)
		if err != nil || !slices.ContainsFunc(rows, func(row store.Delivery) bool { return row.Status == store.DeliveryPending && row.Attempts == 0 }) {
			return rows, err
		}
		select {
		case <-tick.C:
		case <-patience.C:
			return rows, nil
		case <-d.Cfg.Draining:
			return rows, nil
		}
	}
}
