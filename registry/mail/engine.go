package mail

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
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
	return m.notifyBoth(ctx, tx, endpoint.PartnerID, func(r reader) registry.Message {
		subject := r.about(i18n.M("mail.endpoint.failing", endpoint.Name), i18n.M("mail.endpoint.failing-of", endpoint.Name, r.partner.Name))
		since := endpoint.CircuitOpenedAt.Time
		what := r.about(i18n.M("mail.endpoint.nothing-since", endpoint.Name, since), i18n.M("mail.endpoint.nothing-since-of", endpoint.Name, r.partner.Name, since))
		return m.cfg.Letter(subject, r.endpoint(endpoint.ID), what, i18n.M("mail.endpoint.pending", deliveriesOf(waiting)), lastCause(cause), "mail.endpoint.failing-next")
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
		subject := r.about(i18n.M("mail.endpoint.suspended", endpoint.Name), i18n.M("mail.endpoint.suspended-of", endpoint.Name, r.partner.Name))
		what := r.about(i18n.M("mail.endpoint.suspended-what", endpoint.Name), i18n.M("mail.endpoint.suspended-what-of", endpoint.Name, r.partner.Name))
		return m.cfg.Letter(subject, r.endpoint(endpoint.ID), what, i18n.M("mail.endpoint.suspended-pending", deliveriesOf(waiting)), registry.Because(reason))
	})
}

// SubscriptionEnded notifies the partner and the administrators that the delivery engine ended a subscription by itself.
func (m *Mails) SubscriptionEnded(ctx context.Context, tx *store.Tx, subscription store.Subscription, reason string) error {
	endpoint, err := tx.Endpoint(ctx, subscription.EndpointID)
	if err != nil {
		return fmt.Errorf("find endpoint of subscription: %w", err)
	}
	return m.notifyBoth(ctx, tx, subscription.PartnerID, func(r reader) registry.Message {
		subject := r.about("mail.subscription.ended", i18n.M("mail.subscription.ended-of", r.partner.Name))
		what := r.about(i18n.M("mail.subscription.ended-what", endpoint.Name), i18n.M("mail.subscription.ended-what-of", endpoint.Name, r.partner.Name))
		return m.cfg.Letter(subject, r.subscription(subscription.ID), what, registry.Bullets(registry.TypesWithVersions(subscription)), registry.Because(reason))
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
	what := i18n.M("mail.quarantine.what", client.Name, partner.Name, request.IdempotencyKey)
	if client.Name == "" {
		what = i18n.M("mail.quarantine.what-unknown", partner.Name, request.IdempotencyKey)
	}
	return m.cfg.MailAllowed(ctx, tx, registry.ResendDeliveries, m.cfg.Letter(i18n.M("mail.quarantine.subject", partner.Name), "/admin/quarantine/"+request.ID,
		what, i18n.M("mail.quarantine.events", request.Events), "mail.quarantine.remedy").Of(partner.ID))
}

// reader is a recipient of a mail that a partner and the administrators get, each with the pages that they may open.
type reader struct {
	partner       store.Partner
	administrator bool
}

// about chooses the text that names the partner for those who have many.
func (r reader) about(plain, named i18n.Message) i18n.Message {
	if r.administrator {
		return named
	}
	return plain
}

func (r reader) desk() string {
	if r.administrator {
		return "/admin"
	}
	return registry.PartnerPath(r.partner)
}

func (r reader) endpoint(id string) string { return r.desk() + "/endpoints/" + id }

func (r reader) subscription(id string) string { return r.desk() + "/subscriptions/" + id }

// notifyBoth mails a partner and who handles issues of the organisation. An administrator who is the contact person of the own organisation gets one mail.
func (m *Mails) notifyBoth(ctx context.Context, tx *store.Tx, partnerID string, msg func(reader) registry.Message) error {
	partner, err := tx.Partner(ctx, partnerID)
	if err != nil {
		return fmt.Errorf("find partner: %w", err)
	}
	people, err := registry.PeopleAllowed(ctx, tx, registry.HandleIssues)
	if err != nil {
		return err
	}
	for _, to := range people {
		if err := m.cfg.Mail(ctx, tx, to, msg(reader{partner, true}).Of(partner.ID)); err != nil {
			return err
		}
		if to == partner.ContactEmail {
			partner.ContactEmail = ""
		}
	}
	return m.cfg.Mail(ctx, tx, partner.ContactEmail, msg(reader{partner, false}).Of(partner.ID))
}

// lastCause is the paragraph with the cause of the last attempt, which may be a stored message.
func lastCause(cause string) i18n.Message {
	if cause = strings.TrimSpace(cause); cause == "" {
		return ""
	}
	return i18n.M("mail.last-attempt", i18n.Message(cause))
}

// deliveriesOf writes a number of deliveries that is counted up to store.ListBound.
func deliveriesOf(n int) i18n.Message {
	if n > store.ListBound {
		return i18n.M("mail.deliveries-more", store.ListBound)
	}
	return i18n.M("mail.deliveries", n)
}

// stuck counts one endpoint's dead letters, its deliveries in the error queue, or those that are paused or suspended.
type stuck struct {
	endpoint store.Endpoint
	partner  store.Partner
	status   string
	paused   bool // held, but only until the endpoint or subscription is resumed
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
		told[i] = s.total > 0
		all = append(all, s.apart()...)
	}
	if len(all) == 0 {
		return told, nil
	}
	people, err := tellsAtOnce(ctx, tx, "")
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
		p := mine[0].partner
		people, err := concerned(ctx, tx, p, heard)
		if err != nil {
			return nil, err
		}
		for _, to := range people {
			if err := m.cfg.Mail(ctx, tx, to, mailStuck(m.cfg, reader{p, false}, mine)); err != nil {
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

// apart splits what is held: what was refused waits for a person, what is paused for its endpoint or subscription.
func (s stuck) apart() (parts []stuck) {
	if s.total == 0 || s.status != store.DeliveryHeld {
		return slices.Repeat([]stuck{s}, min(1, s.total))
	}
	for _, paused := range []bool{false, true} {
		part := s
		part.causes, part.total, part.paused = nil, 0, paused
		for _, cause := range s.causes {
			if slices.Contains(store.StoppedReasons(), cause.Reason) == paused {
				part.causes, part.total = append(part.causes, cause), part.total+cause.Count
			}
		}
		if part.total > 0 {
			parts = append(parts, part)
		}
	}
	return parts
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
	endpoints := map[string]bool{}
	for _, s := range all {
		endpoints[s.endpoint.ID] = true
	}
	subject := i18n.M("mail.stuck.subject", len(endpoints))
	if len(all) == 1 {
		first := all[0]
		subject = r.about(i18n.M("mail.stuck.subject-at", first.what(), first.endpoint.Name), i18n.M("mail.stuck.subject-at-of", first.what(), first.endpoint.Name, first.partner.Name))
	}
	msg := c.Letter(subject, "")
	for _, s := range all {
		lines := []i18n.Message{r.about(i18n.M("mail.stuck.at", s.endpoint.Name, s.what()), i18n.M("mail.stuck.at-of", s.endpoint.Name, s.partner.Name, s.what()))}
		for _, cause := range s.causes {
			lines = append(lines, registry.Bullet(causeOf(cause)))
		}
		msg = msg.Lines(append(lines, i18n.Raw(c.BaseURL+s.page(r)))...)
	}
	return msg.Lines("mail.stuck.remedy").Lines("mail.digest.settings")
}

// what counts the deliveries as the page of the link does.
func (s stuck) what() i18n.Message {
	more := s.total > store.ListBound
	switch {
	case s.status == store.DeliveryDead && more:
		return i18n.M("mail.stuck.dead-more", store.ListBound)
	case s.status == store.DeliveryDead:
		return i18n.M("mail.stuck.dead", s.total)
	case s.paused && more:
		return i18n.M("mail.stuck.paused-more", store.ListBound)
	case s.paused:
		return i18n.M("mail.stuck.paused", s.total)
	case more:
		return i18n.M("mail.stuck.held-more", store.ListBound)
	}
	return i18n.M("mail.stuck.held", s.total)
}

func causeOf(cause store.Stuck) i18n.Message {
	newest, count := cause.Newest, deliveriesOf(cause.Count)
	text := i18n.M("mail.stuck.cause", reasonOf(cause.Reason), count)
	if newest.LastStatus != 0 {
		text = i18n.M("mail.stuck.cause-answer", reasonOf(cause.Reason), count, newest.LastStatus)
	}
	if newest.Detail != "" {
		text = i18n.M("mail.stuck.cause-detail", text, i18n.Message(registry.OneLine(newest.Detail)))
	}
	return text
}

// page lists exactly what is counted.
func (s stuck) page(r reader) string {
	v := url.Values{"endpoint": {s.endpoint.ID}}
	switch {
	case (r.administrator || s.partner.Own) && s.status == store.DeliveryDead:
		return "/admin/dead-letters?" + v.Encode()
	case (r.administrator || s.partner.Own) && !s.paused:
		return "/admin/errors?" + v.Encode()
	}
	v.Set("status", s.status)
	switch {
	case s.paused:
		v.Set("show", "stopped")
	case s.status == store.DeliveryHeld:
		v.Set("show", "rejected")
	}
	if r.administrator || s.partner.Own {
		return "/admin/deliveries?" + v.Encode()
	}
	return "/partner/deliveries?" + v.Encode()
}
