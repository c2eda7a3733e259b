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
)

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
	var paragraphs []string
	for _, s := range all {
		paragraphs = append(paragraphs, s.paragraph(r)+"\n"+c.BaseURL+s.page(r))
	}
	paragraphs = append(paragraphs, "A held delivery follows by itself only when it waits for a paused or suspended endpoint or subscription. "+
		"All others wait for a person, who mends the cause and resends or discards them. At most one mail an hour follows about the same endpoint.")
	return c.Letter(subject, "", paragraphs...)
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
