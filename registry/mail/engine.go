package mail

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
)

// EndpointFailing notifies the partner and the administrators that nothing has arrived at an endpoint for a while, and why; cause is
// what came of the last attempt. It is called in the transaction that keeps what was found.
func (m *Mails) EndpointFailing(ctx context.Context, tx *store.Tx, endpoint store.Endpoint, cause string) error {
	waiting, err := tx.BacklogOf(ctx, endpoint.ID)
	if err != nil {
		return fmt.Errorf("count what waits: %w", err)
	}
	since := endpoint.CircuitOpenedAt.Format("2 January 2006 15:04 MST")
	return m.notifyBoth(ctx, tx, endpoint.PartnerID, func(r reader) registry.Message {
		return m.cfg.Letter(i18n.Message("Endpoint "+endpoint.Name+r.of()+" does not answer"), r.endpoint(endpoint.ID),
			i18n.Message("Nothing has arrived at endpoint "+endpoint.Name+r.of()+" since "+since+". "+deliveriesOf(waiting)+" to it wait; one at a time is tried, and all follow by themselves when one arrives."),
			i18n.Message(lastCause(cause)), "When this goes on for days the endpoint is suspended. Nothing is lost by that.")
	})
}

// EndpointSuspended notifies the partner and the administrators that the delivery engine stopped sending to an endpoint by
// itself. It is called in the transaction of that decision.
func (m *Mails) EndpointSuspended(ctx context.Context, tx *store.Tx, endpoint store.Endpoint, reason string) error {
	waiting, err := tx.BacklogOf(ctx, endpoint.ID)
	if err != nil {
		return fmt.Errorf("count what waits: %w", err)
	}
	return m.notifyBoth(ctx, tx, endpoint.PartnerID, func(r reader) registry.Message {
		return m.cfg.Letter(i18n.Message("Endpoint "+endpoint.Name+r.of()+" is suspended"), r.endpoint(endpoint.ID),
			i18n.Message("Schakel suspended endpoint "+endpoint.Name+r.of()+" by itself: nothing is sent to it until a person resumes it. "+deliveriesOf(waiting)+" to it wait."),
			registry.Because(reason))
	})
}

// SubscriptionEnded notifies the partner and the administrators that the delivery engine ended a subscription by itself.
func (m *Mails) SubscriptionEnded(ctx context.Context, tx *store.Tx, subscription store.Subscription, reason string) error {
	endpoint, err := tx.Endpoint(ctx, subscription.EndpointID)
	if err != nil {
		return fmt.Errorf("find endpoint of subscription: %w", err)
	}
	return m.notifyBoth(ctx, tx, subscription.PartnerID, func(r reader) registry.Message {
		return m.cfg.Letter(i18n.Message("Subscription"+r.of()+" is ended"), r.subscription(subscription.ID),
			i18n.Message("Schakel ended the subscription"+r.of()+" at endpoint "+endpoint.Name+" by itself. It was to:"), registry.Bullets(registry.TypesWithVersions(subscription)), registry.Because(reason))
	})
}

// RequestQuarantined notifies the administrators that a client used an Idempotency-Key again with other content, and that they
// have to decide about it. It is called in the transaction that keeps the request.
func (m *Mails) RequestQuarantined(ctx context.Context, tx *store.Tx, request store.Quarantine) error {
	partner, err := tx.Partner(ctx, request.PartnerID)
	if err != nil {
		return fmt.Errorf("find partner: %w", err)
	}
	client, err := tx.Client(ctx, request.ClientID)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("find client: %w", err)
	}
	name := strings.TrimSpace("client " + client.Name)
	return m.cfg.MailAdministrators(ctx, tx, m.cfg.Letter(i18n.Message("A request of "+partner.Name+" is in quarantine"), "/admin/quarantine/"+request.ID,
		i18n.Message(fmt.Sprintf("%s of %s used Idempotency-Key %s again with other content. The %s of the request are kept aside and are not delivered.",
			strings.ToUpper(name[:1])+name[1:], partner.Name, request.IdempotencyKey, countOf(int(request.Events), "event", "events"))),
		"Look at them, and at what was sent first under the key. Then release or discard them. More requests of the same client may follow; no other mail is sent while this one waits."))
}

// reader is a recipient of a mail that a partner and the administrators get, each with the pages that they may open.
type reader struct {
	partner       store.Partner
	administrator bool
}

// of names the partner to those who have many.
func (r reader) of() string {
	if r.administrator {
		return " of " + r.partner.Name
	}
	return ""
}

func (r reader) desk() string {
	if r.administrator {
		return "/admin"
	}
	return registry.PartnerPath(r.partner)
}

func (r reader) endpoint(id string) string { return r.desk() + "/endpoints/" + id }

func (r reader) subscription(id string) string { return r.desk() + "/subscriptions/" + id }

// notifyBoth mails a partner and the administrators. An administrator who is the contact person of the own organisation gets one mail.
func (m *Mails) notifyBoth(ctx context.Context, tx *store.Tx, partnerID string, msg func(reader) registry.Message) error {
	partner, err := tx.Partner(ctx, partnerID)
	if err != nil {
		return fmt.Errorf("find partner: %w", err)
	}
	people, err := registry.Administrators(ctx, tx)
	if err != nil {
		return err
	}
	for _, to := range people {
		if err := m.cfg.Mail(ctx, tx, to, msg(reader{partner, true})); err != nil {
			return err
		}
		if to == partner.ContactEmail {
			partner.ContactEmail = ""
		}
	}
	return m.cfg.Mail(ctx, tx, partner.ContactEmail, msg(reader{partner, false}))
}

func lastCause(cause string) string {
	if cause = strings.TrimSpace(cause); cause == "" {
		return ""
	}
	return "The last attempt: " + cause
}

func deliveriesOf(n int) string { return countOf(n, "delivery", "deliveries") }

// countOf writes the number of something that is counted up to store.ListBound.
func countOf(n int, one, many string) string {
	switch {
	case n == 1:
		return "1 " + one
	case n > store.ListBound:
		return fmt.Sprintf("more than %d %s", store.ListBound, many)
	}
	return fmt.Sprintf("%d %s", n, many)
}

// stuck counts one endpoint's held deliveries or dead letters.
type stuck struct {
	endpoint store.Endpoint
	partner  store.Partner
	status   string
	causes   []store.Stuck
	total    int
}

// DeliveriesStuck notifies partners and administrators of held deliveries and dead letters (guarantee G10): each partner gets one mail,
// and each administrator one about all of them. It returns of which notices there was still something to tell. It is called in the
// transaction that notes it.
func (m *Mails) DeliveriesStuck(ctx context.Context, tx *store.Tx, notices []store.DeliveryNotice) ([]bool, error) {
	told := make([]bool, len(notices))
	var all []stuck
	for i, n := range notices {
		s, err := readStuck(ctx, tx, n)
		if err != nil {
			return nil, err
		}
		if told[i] = s.total > 0; told[i] {
			all = append(all, s)
		}
	}
	if len(all) == 0 {
		return told, nil
	}
	people, err := registry.Administrators(ctx, tx)
	if err != nil {
		return nil, err
	}
	heard := make(map[string]bool, len(people))
	for _, to := range people {
		heard[to] = true
		if err := m.cfg.Mail(ctx, tx, to, mailStuck(m.cfg, reader{all[0].partner, true}, all)); err != nil {
			return nil, err
		}
	}
	for _, mine := range byPartner(all) {
		if p := mine[0].partner; !heard[p.ContactEmail] {
			if err := m.cfg.Mail(ctx, tx, p.ContactEmail, mailStuck(m.cfg, reader{p, false}, mine)); err != nil {
				return nil, err
			}
		}
	}
	return told, nil
}

func readStuck(ctx context.Context, tx *store.Tx, n store.DeliveryNotice) (s stuck, err error) {
	s.status = n.Status
	if s.endpoint, err = tx.Endpoint(ctx, n.EndpointID); errors.Is(err, store.ErrNotFound) {
		return stuck{}, nil
	}
	if err == nil {
		s.partner, err = tx.Partner(ctx, s.endpoint.PartnerID)
	}
	if err == nil {
		s.causes, s.total, err = tx.StuckDeliveries(ctx, s.endpoint, n.Status)
	}
	if err != nil {
		return stuck{}, fmt.Errorf("read what is stuck at endpoint %s: %w", n.EndpointID, err)
	}
	return s, nil
}

// byPartner puts together what is of one partner, in the order in which the partners come first.
func byPartner(all []stuck) (groups [][]stuck) {
	place := make(map[string]int)
	for _, s := range all {
		i, ok := place[s.partner.ID]
		if !ok {
			i = len(groups)
			place[s.partner.ID] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], s)
	}
	return groups
}

// mailStuck has a paragraph with a link for each endpoint and state.
func mailStuck(c registry.Config, r reader, all []stuck) registry.Message {
	subject := "Held deliveries and dead letters at " + countOf(len(all), "endpoint", "endpoints")
	if len(all) == 1 {
		subject = all[0].what() + " at endpoint " + all[0].endpoint.Name + all[0].of(r)
	}
	msg := c.Letter(i18n.Message(subject), "")
	for _, s := range all {
		msg = msg.Lines(i18n.Message(s.paragraph(r)), i18n.Raw(c.BaseURL+s.page(r)))
	}
	return msg.Lines("A held delivery follows by itself only when it waits for a paused or suspended endpoint or subscription. " +
		"All others wait for a person, who mends the cause and resends or discards them. At most one mail an hour follows about the same endpoint.")
}

// what counts the deliveries as the page of the link does.
func (s stuck) what() string {
	if s.status == store.DeliveryDead {
		return countOf(s.total, "dead letter", "dead letters")
	}
	return countOf(s.total, "held delivery", "held deliveries")
}

// of names the partner to administrators.
func (s stuck) of(r reader) string { return reader{s.partner, r.administrator}.of() }

func (s stuck) paragraph(r reader) string {
	lines := []string{"Endpoint " + s.endpoint.Name + s.of(r) + " has " + s.what() + ":"}
	for _, cause := range s.causes {
		line := "- " + strings.ReplaceAll(cause.Reason, "-", " ") + ": " + countOf(cause.Count, "delivery", "deliveries")
		if d := cause.Newest; d.LastStatus != 0 {
			line += ", the last answer was " + strconv.FormatInt(d.LastStatus, 10)
		}
		if d := cause.Newest; d.Detail != "" {
			line += ". " + registry.OneLine(d.Detail)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// page lists exactly what is counted.
func (s stuck) page(r reader) string {
	v := url.Values{"endpoint": {s.endpoint.ID}}
	switch {
	case !r.administrator && !s.partner.Own:
		v.Set("status", s.status)
		return "/partner/deliveries?" + v.Encode()
	case s.status == store.DeliveryDead:
		return "/admin/dead-letters?" + v.Encode()
	}
	v.Set("show", "held")
	return "/admin/errors?" + v.Encode()
}
