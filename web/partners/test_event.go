package partners

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"
	"schakel/delivery/event"
	"schakel/delivery/outbox"
	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
	view "schakel/templates/partners"
	"schakel/templates/ui"
	"schakel/web/site"
)

// Bounds of the form for a test event.
const (
	maxTestBytes = 64 << 10
	maxTestTypes = 300
)

// testForm is a test event as typed.
type testForm struct {
	eventType, content string
	force, check       bool
	setup              bool // go back to the setup of the endpoint
	findings           []site.ProblemError
	checked            bool
}

func readTest(form site.Form) testForm {
	return testForm{eventType: form.Get("type"), content: form.Get("event"), force: form.Checked("force"), check: form.Get("do") == "check", setup: form.Checked("setup")}
}

// newTest shows the form for a test event, with an example of the type that the query asks for, and the outcome of the last one.
func (d ownerPages) newTest(c echo.Context) error {
	owner, e, err := d.ownEndpoint(c)
	if err != nil {
		return err
	}
	here := d.Href("/endpoints/" + e.ID)
	if why := d.noTest(c.Request().Context(), owner, e); why != "" {
		return d.notNow(c, here, why)
	}
	return d.showTest(c, http.StatusOK, e, testForm{eventType: site.Clean(c.QueryParam("type"))}, nil)
}

// noTest explains why no test event can be sent to an endpoint now; empty when one can.
func (d ownerPages) noTest(ctx context.Context, owner store.Partner, e store.Endpoint) i18n.Message {
	switch {
	case site.Waits(ctx, owner) != "":
		return i18n.Raw(site.Waits(ctx, owner))
	case e.Kind == store.EndpointAMQP && !d.takesTests(ctx, e):
		return "partners.endpoint.test-health"
	case e.Kind == store.EndpointPull:
		return "partners.endpoint.test-pull"
	case e.Kind == store.EndpointFiles:
		return "partners.endpoint.test-files"
	case e.Status != store.EndpointActive:
		return i18n.M("partners.endpoint.test-not-active", endpointStateMessage(e.Status))
	}
	return ""
}

// testEndpoint sends a test event to an endpoint and shows what comes of it. Without an event it is the one that asks for nothing but an
// answer.
func (d ownerPages) testEndpoint(c echo.Context) error {
	owner, e, err := d.ownEndpoint(c)
	if err != nil {
		return err
	}
	here := d.Href("/endpoints/" + e.ID)
	if why := d.noTest(c.Request().Context(), owner, e); why != "" {
		return d.notNow(c, here, why)
	}
	return site.SubmitAbout(c, e, readTest, func(in testForm) error {
		if in.eventType == "" {
			return d.sendPlainTest(c, e, in.setup)
		}
		return d.sendTypedTest(c, e, in)
	}, d.showTest)
}

func (d ownerPages) sendPlainTest(c echo.Context, e store.Endpoint, setup bool) error {
	delivery, err := d.pages.sendTest(c, e.ID)
	href := d.Deliveries + "/" + delivery
	if setup {
		href = d.setupHref(e) + "?" + url.Values{"delivery": {delivery}}.Encode()
	}
	return d.Settled(c, err, href, "partners.endpoint.test-sent")
}

// sendTypedTest sends an event of a type that the reader may see. One that does not fit its contract is sent when that was asked for.
func (d ownerPages) sendTypedTest(c echo.Context, e store.Endpoint, in testForm) error {
	ctx := c.Request().Context()
	types, _, err := d.testTypes(c, e)
	if err != nil {
		return err
	}
	switch {
	case !slices.Contains(site.TypeNames(types), in.eventType):
		return registry.Invalid(registry.Problems{"type": "partners.test.type-bad"})
	case in.content == "":
		return registry.Invalid(registry.Problems{"event": "partners.test.event-missing"})
	case len(in.content) > maxTestBytes:
		return registry.Invalid(registry.Problems{"event": i18n.M("partners.test.event-large", int64(maxTestBytes))})
	}
	ev, wrong := markedTest([]byte(in.content), in.eventType)
	if wrong != "" {
		return registry.Invalid(registry.Problems{"event": wrong})
	}
	versions, err := d.pages.versionsAt(ctx, e, in.eventType)
	if err != nil {
		return err
	}
	if in.findings, err = d.pages.others.CheckEvent(in.eventType, []byte(in.content), versions); err != nil {
		return err
	}
	if in.checked = true; in.check || len(in.findings) > 0 && !in.force {
		return d.showTest(c, http.StatusOK, e, in, nil)
	}
	_, delivery, err := d.Engine.SendTestEvent(ctx, site.EngineActor(c), e.ID, ev)
	if err == nil {
		err = d.pages.awaitAttempt(ctx, delivery)
	}
	back := d.Href("/endpoints/"+e.ID) + "/test?" + url.Values{"type": {in.eventType}, "delivery": {delivery}}.Encode()
	return d.Settled(c, err, back, "partners.test.sent")
}

// markedTest reads an event and marks it as a test.
func markedTest(content []byte, eventType string) (event.Event, i18n.Message) {
	var members map[string]json.RawMessage
	if json.Unmarshal(content, &members) != nil || members == nil {
		return event.Event{}, "partners.test.not-json"
	}
	members[outbox.TestExtension] = json.RawMessage("true")
	marked, err := json.Marshal(members)
	if err != nil {
		return event.Event{}, "partners.test.not-json"
	}
	ev, err := event.ParseJSON(marked, event.Limits{EventBytes: 2 * maxTestBytes})
	if invalid, ok := errors.AsType[*event.Invalid](err); ok && len(invalid.Problems) > 0 {
		return ev, i18n.M("partners.test.not-event", invalid.Problems[0].Detail)
	}
	switch {
	case err != nil:
		return ev, "partners.test.not-json"
	case ev.Type != eventType:
		return ev, i18n.M("partners.test.other-type", site.Shown(ev.Type), eventType)
	}
	return ev, ""
}

// How long the answer to a test event is waited for before the page is shown, and how often it is looked for.
const (
	testPatience = 6 * time.Second
	testPoll     = 100 * time.Millisecond
)

// awaitAttempt waits a little for the first attempt at a delivery, so that its outcome is on the page without JavaScript.
func (p *pages) awaitAttempt(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, testPatience)
	defer cancel()
	tick := time.NewTicker(testPoll)
	defer tick.Stop()
	for {
		row, err := p.DB.Delivery(ctx, id)
		switch {
		case ctx.Err() != nil:
			return nil // the page shows that it waits
		case err != nil:
			return err
		case row.Attempts > 0 && row.LeaseOwner == "":
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		case <-p.Cfg.Draining:
			return nil
		}
	}
}

// testTypes lists the types that a test event can have: first those that are subscribed to at the endpoint, of which there are so many.
func (d ownerPages) testTypes(c echo.Context, e store.Endpoint) (types []store.EventType, subscribed int, err error) {
	reader, err := d.Reader(c)
	if err != nil {
		return nil, 0, err
	}
	all, err := d.Registry.EventTypes.Catalogue(c.Request().Context(), reader)
	if err != nil {
		return nil, 0, err
	}
	subs, _, err := d.Registry.Subscriptions.List(c.Request().Context(), registry.ScopeOf(e.PartnerID), store.SubscriptionFilter{PartnerID: e.PartnerID, EndpointID: e.ID})
	if err != nil {
		return nil, 0, err
	}
	wanted := map[string]bool{}
	for _, s := range subs {
		for _, name := range s.Types {
			wanted[name] = s.Status != store.SubscriptionEnded && s.Status != store.SubscriptionRejected || wanted[name]
		}
	}
	var others []store.EventType
	for _, t := range all {
		if wanted[t.Name] {
			types = append(types, t)
		} else {
			others = append(others, t)
		}
	}
	subscribed = len(types)
	types = append(types, others...)
	return types[:min(len(types), max(maxTestTypes, subscribed))], subscribed, nil
}

func (d ownerPages) showTest(c echo.Context, status int, e store.Endpoint, in testForm, wrong site.FormErrors) error {
	ctx := c.Request().Context()
	types, subscribed, err := d.testTypes(c, e)
	if err != nil {
		return err
	}
	here := d.Href("/endpoints/" + e.ID)
	v := view.TestView{Action: here + "/test", Back: here, Endpoint: e.Name, Wrong: wrong, Type: in.eventType, Event: in.content, Checked: in.checked, Inbox: e.Kind == store.EndpointInbox}
	for i, t := range types {
		label := t.Name
		if i < subscribed {
			label = i18n.T(ctx, "partners.test.subscribed", t.Name)
		}
		v.Types = append(v.Types, ui.Option{Value: t.Name, Label: label})
	}
	chosen := slices.IndexFunc(types, func(t store.EventType) bool { return t.Name == in.eventType })
	if chosen < 0 && len(types) > 0 && len(wrong) == 0 {
		chosen = 0
	}
	if chosen >= 0 {
		t := types[chosen]
		versions, err := d.pages.versionsAt(ctx, e, t.Name)
		if err != nil {
			return err
		}
		if len(versions) > 0 {
			t = versions[0]
		}
		v.Type, v.Contract = t.Name, ui.Named{Name: t.ContractID + " " + t.ContractVersion, Href: site.ContractVersionHref(t.ContractID, t.ContractVersion)}
		if in.content == "" && len(wrong) == 0 {
			own, err := d.Registry.Partners.Own(ctx)
			if err != nil {
				return err
			}
			v.Event = exampleEvent(t, testSource(own), nil, d.Cfg.Now())
		}
	}
	encryption, err := d.TestEncryption(ctx, e.ID, cmp.Or(v.Type, outbox.TestEventType))
	if err != nil {
		return err
	}
	v.Encrypted = d.EncryptedNotice(ctx, encryption, d.Base)
	for _, f := range in.findings {
		row := view.TestFinding{Pointer: f.Pointer, Text: f.Detail.In(ctx)}
		if f.Line > 0 {
			row.Place = strconv.Itoa(f.Line) + ":" + strconv.Itoa(f.Column)
		}
		v.Findings = append(v.Findings, row)
	}
	if id := site.Clean(c.QueryParam("delivery")); id != "" && len(wrong) == 0 {
		if v.Outcome, err = d.testOutcome(c, e, id, v.Action); err != nil {
			return err
		}
	}
	page := d.PageFrame(c, i18n.T(ctx, "partners.test.title"), d.crumbsToEndpoints(ctx, e)...)
	page.Lead, page.Invalid = i18n.T(ctx, "partners.test.lead", e.Name), len(wrong) > 0
	return d.Render(c, status, view.TestPage(page, v))
}

// testOutcome shows what came of a test event to an endpoint; nothing when it was to another.
func (d ownerPages) testOutcome(c echo.Context, e store.Endpoint, id, action string) (*view.TestOutcome, error) {
	row, err := d.DB.Delivery(c.Request().Context(), id)
	if errors.Is(err, store.ErrNotFound) || err == nil && row.EndpointID != e.ID {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	area := site.PartnerArea()
	if d.Deliveries == site.AdministratorArea().Base+"/deliveries" {
		area = site.AdministratorArea()
	}
	self := action + "?" + url.Values{"type": {row.EventType}, "delivery": {id}}.Encode()
	shown, err := d.pages.others.Outcome(c, area, row, self)
	return &view.TestOutcome{Content: shown, Href: area.Delivery(id), Waits: row.Attempts == 0, Self: self}, err
}
