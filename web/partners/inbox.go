package partners

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"
	"schakel/delivery/event"
	"schakel/delivery/inbox"
	"schakel/delivery/jwe"
	"schakel/registry"
	"schakel/registry/identity/token"
	"schakel/registry/partners"
	"schakel/store"
	"schakel/templates/i18n"
	view "schakel/templates/partners"
	"schakel/templates/ui"
	"schakel/web/site"
)

// createInbox makes a test inbox without asking for anything, and goes to the one that is there when there is one.
func (d ownerPages) createInbox(c echo.Context) error {
	ctx := c.Request().Context()
	owner, err := d.Owner(c)
	if err != nil || site.Waits(ctx, owner) != "" {
		return d.Closed(c, err, "/endpoints")
	}
	all, err := d.Registry.Endpoints.List(ctx, registry.ScopeOf(owner.ID), owner.ID)
	if err != nil {
		return err
	}
	for _, e := range all {
		if e.Kind == store.EndpointInbox {
			return c.Redirect(http.StatusSeeOther, d.Href("/endpoints/"+e.ID))
		}
	}
	made, err := d.Registry.Endpoints.Create(ctx, site.Actor(c), owner.ID, partners.EndpointInput{Name: i18n.T(ctx, "partners.inbox.name"), Kind: store.EndpointInbox})
	if err != nil {
		return d.Settled(c, err, d.Href("/endpoints"), "")
	}
	return d.beginSetup(c, made, false, nil)
}

// answerInbox changes what a test inbox answers.
func (d ownerPages) answerInbox(c echo.Context) error {
	form, err := site.ReadForm(c)
	if err != nil {
		return err
	}
	_, e, err := d.ownEndpoint(c)
	if err != nil {
		return err
	}
	err = d.Registry.Endpoints.AnswerInbox(c.Request().Context(), site.Actor(c), e.ID, form.Get("answer"))
	if _, refused := site.Refused(err); refused {
		return d.notNow(c, d.Href("/endpoints/"+e.ID), "partners.inbox.answer-bad")
	}
	return d.Settled(c, err, d.Href("/endpoints/"+e.ID), "partners.inbox.answer-set")
}

// clearInbox removes what a test inbox received.
func (d ownerPages) clearInbox(c echo.Context) error {
	_, e, err := d.ownEndpoint(c)
	if err != nil {
		return err
	}
	err = d.Registry.Endpoints.ClearInbox(c.Request().Context(), site.Actor(c), e.ID)
	return d.Settled(c, err, d.Href("/endpoints/"+e.ID), "partners.inbox.cleared")
}

// inboxView lists what a test inbox received.
func (d ownerPages) inboxView(ctx context.Context, e store.Endpoint, may bool) (*view.InboxView, error) {
	now := d.Cfg.Now()
	rows, err := d.DB.InboxMessages(ctx, e.ID, store.At(now.Add(-inbox.Keep)))
	if err != nil {
		return nil, err
	}
	here := d.Href("/endpoints/" + e.ID)
	v := &view.InboxView{Self: here, Answer: e.InboxAnswer, AnswerAction: here + "/answer", ClearAction: here + "/clear", May: may, Now: now}
	for _, answer := range store.InboxAnswers() {
		v.Answers = append(v.Answers, ui.Option{Value: answer, Label: i18n.Of(ctx, "partners.inbox.answers", answer)})
	}
	seen := map[string]int{}
	for _, m := range slices.Backward(rows) { // oldest first, to count the attempts
		seen[m.IdempotencyKey]++
		name := m.EventType
		if name == "" {
			name = i18n.T(ctx, "partners.inbox.unreadable")
		}
		v.Messages = append(v.Messages, view.InboxRow{
			Href: here + "/messages/" + m.ID, Type: site.Shown(name), Answer: i18n.Of(ctx, "partners.inbox.answers", m.Answer), At: m.ReceivedAt.Time,
			Repeat: seen[m.IdempotencyKey], Findings: len(m.Findings), Size: m.Size,
		})
	}
	slices.Reverse(v.Messages)
	v.Listen, err = d.listenView(ctx, e)
	return v, err
}

// listenView writes the command that forwards the events of a pull subscription to the reader's machine, or what it still needs. On
// the page of a pull endpoint it is a subscription of that one.
func (d ownerPages) listenView(ctx context.Context, of store.Endpoint) (v view.ListenView, err error) {
	partnerID := of.PartnerID
	scope := registry.ScopeOf(partnerID)
	endpoints, err := d.Registry.Endpoints.List(ctx, scope, partnerID)
	if err != nil {
		return v, err
	}
	pulls := map[string]bool{}
	for _, e := range endpoints {
		pulls[e.ID] = e.Kind == store.EndpointPull && (of.Kind != store.EndpointPull || e.ID == of.ID)
	}
	subs, _, err := d.Registry.Subscriptions.List(ctx, scope, store.SubscriptionFilter{PartnerID: partnerID, Status: store.SubscriptionApproved})
	if err != nil {
		return v, err
	}
	sub := slices.IndexFunc(subs, func(s store.Subscription) bool { return pulls[s.EndpointID] })
	clients, err := d.Registry.Clients.List(ctx, scope, partnerID)
	if err != nil {
		return v, err
	}
	client := slices.IndexFunc(clients, func(c store.Client) bool {
		// The command proves its secret in the header alone.
		return c.Status == store.ClientActive && c.AuthMethod != token.ClientSecretPost && c.AuthMethod != token.TLSClientAuth && slices.Contains(c.Scopes, site.ScopeEventsConsume)
	})
	switch {
	case !slices.Contains(slices.Collect(maps.Values(pulls)), true):
		v.Text, v.Label, v.Href = i18n.T(ctx, "partners.inbox.listen-no-pull"), i18n.T(ctx, "partners.inbox.listen-add-pull"), d.Href("/endpoints/new?kind=pull")
	case sub < 0:
		v.Text, v.Label, v.Href = i18n.T(ctx, "partners.inbox.listen-no-subscription"), i18n.T(ctx, "partners.action.ask-subscription"), d.Href("/subscriptions/new")
	case client < 0:
		v.Text, v.Label, v.Href = i18n.T(ctx, "partners.inbox.listen-no-client"), i18n.T(ctx, "partners.action.all-clients"), d.Href("/clients")
	default:
		command, proof := "SCHAKEL_CLIENT_SECRET=$("+site.AskSecret+") \\\n  schakel listen", ""
		if clients[client].AuthMethod == token.PrivateKeyJWT {
			key := site.Quoted(site.KeyFile(clients[client]))
			command, proof = "chmod 600 "+key+"\nschakel listen", " --client-key-file "+key
		}
		v.Command = command + " \\\n  --url " + site.Quoted(strings.TrimSuffix(d.Absolute("/"), "/")) + " \\\n  --subscription " + subs[sub].ID +
			" \\\n  --client-id " + clients[client].ID + proof + " \\\n  --forward http://localhost:3000/events"
	}
	return v, nil
}

// inboxMessage shows one message of a test inbox, held against the contract of its type.
func (d ownerPages) inboxMessage(c echo.Context) error {
	ctx := c.Request().Context()
	_, e, err := d.ownEndpoint(c)
	if err != nil {
		return err
	}
	m, err := d.DB.InboxMessage(ctx, e.ID, c.Param("message"))
	if err != nil {
		return err
	}
	var header http.Header
	if err := json.Unmarshal([]byte(m.Headers), &header); err != nil {
		return err
	}
	err = d.Registry.Audit.NoteRead(ctx, site.Actor(c), registry.ActionInboxRead, registry.ObjectOf("inbox", m.ID, m.EventType, e.PartnerID), registry.Details{"endpoint": e.Name})
	if err != nil {
		return err
	}
	v := view.InboxMessageView{Cut: int64(len(m.Body)) < m.Size}
	for _, finding := range m.Findings {
		v.Findings = append(v.Findings, i18n.Message(finding).In(ctx))
	}
	if v.Contract, v.Checks, err = d.againstContract(ctx, m, header, v.Cut); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(header)) {
		v.Headers += name + ": " + site.Shown(strings.Join(header[name], ", ")) + "\n"
	}
	if m.Unread != nil {
		v.Body, v.Cut = site.UnreadText(ctx, m.Unread), false
	} else if v.Body = site.IndentedJSON(m.Body); v.Body == "" {
		v.Body, _ = site.Readable(m.Body, inbox.MaxBody)
	}
	v.Facts = []ui.Item{
		{Label: i18n.T(ctx, "partners.inbox.at"), Content: ui.Clock(m.ReceivedAt.Time, d.Cfg.Now())},
		{Label: i18n.T(ctx, "partners.label.event-type"), Content: ui.Identifier(m.EventType)},
		{Label: i18n.T(ctx, "partners.inbox.answered"), Text: i18n.Of(ctx, "partners.inbox.answers", m.Answer)},
		{Label: "Idempotency-Key", Content: ui.Identifier(m.IdempotencyKey)},
		{Label: i18n.T(ctx, "partners.inbox.size"), Text: i18n.Bytes(ctx, m.Size)},
	}
	return d.Render(c, http.StatusOK, view.InboxMessagePage(d.PageFrame(c, i18n.T(ctx, "partners.inbox.message"), d.crumbsToEndpoints(ctx, e)...), v))
}

// againstContract lists what does not fit the contract in the events of a message. One that is not stored whole is not checked.
func (d ownerPages) againstContract(ctx context.Context, m store.InboxMessage, header http.Header, cut bool) (misfits []string, checked bool, err error) {
	if cut || m.EventType == "" {
		return nil, false, nil
	}
	_, events, err := event.Read(header, m.Body, event.Limits{EventBytes: inbox.MaxBody, BatchBytes: inbox.MaxBody, BatchEvents: 1000})
	if err != nil {
		return nil, false, nil //nolint:nilerr // its findings were listed when it came
	}
	for i := range events {
		if events[i].DataType() == jwe.MediaType { // its contract is about what is in there
			continue
		}
		versions, err := d.DB.EventTypeVersions(ctx, events[i].Type)
		if err != nil {
			return nil, false, err
		}
		checked = checked || len(versions) > 0
		j, err := d.Registry.Payloads.Judge(site.OfferOf(&events[i]), versions)
		if err != nil {
			return nil, false, err
		}
		for _, misfit := range j.Misfits {
			misfits = append(misfits, strings.TrimSpace("/"+misfit.Attribute+misfit.Pointer+" "+misfit.Detail.In(ctx)))
		}
	}
	return misfits, checked, nil
}
