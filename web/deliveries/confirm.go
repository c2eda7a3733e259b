package deliveries

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"schakel/delivery/outbox"
	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
	"schakel/web/site"
)

// Discards that may wait for a second person.
const (
	discardOne    = "discard.delivery"
	discardTicked = "discard.ticked"
	discardAll    = "discard.filtered"
)

// discarding holds a discard that waits: the deliveries by id, or a filter.
type discarding struct {
	IDs    []string             `json:"ids,omitempty"`
	Filter store.DeliveryFilter `json:"filter,omitzero"`
	Reason string               `json:"reason"`
}

// handleDiscards names what does the discards of this feature once they are confirmed.
func (p *Pages) handleDiscards() {
	site.HandleDiscard(p.Portal, discardOne, func(id string, a discarding) site.Discard { return p.discardOf(id, a.Reason) })
	site.HandleDiscard(p.Portal, discardTicked, func(_ string, a discarding) site.Discard { return p.discardOfSome(a.IDs, a.Reason, new(int), new(int)) })
	site.HandleDiscard(p.Portal, discardAll, func(_ string, a discarding) site.Discard {
		return p.discardOfAll(a.Filter, a.Reason, new(store.ResendJob))
	})
}

// discardOf discards one delivery.
func (p *Pages) discardOf(id, reason string) site.Discard {
	return site.Discard{
		Action: discardOne, Object: registry.ObjectOf("delivery", id, "", ""), Args: discarding{Reason: reason}, Reason: reason,
		Describe: func(ctx context.Context) ([]i18n.Message, string, error) {
			d, err := p.DB.Delivery(ctx, id)
			if err != nil {
				return nil, "", err
			}
			partner, err := p.DeliveryNames().Partner(ctx, d.PartnerID)
			if err != nil {
				return nil, "", err
			}
			state, err := registry.Fingerprint(d.Status, d.Reason, d.Attempts)
			return []i18n.Message{i18n.M("deliveries.confirm.one", d.EventType, partner)}, state, err
		},
		Do: func(ctx context.Context, by outbox.Actor) error { return p.Engine.Discard(ctx, by, id, reason) },
	}
}

// discardOfSome discards the deliveries that were ticked, and counts those it did and those that refused.
func (p *Pages) discardOfSome(ids []string, reason string, done, refused *int) site.Discard {
	return site.Discard{
		Action: discardTicked, Object: registry.ObjectOf("deliveries", nameOf(strings.Join(ids, " ")), "", ""), Args: discarding{IDs: ids, Reason: reason}, Reason: reason,
		Describe: func(ctx context.Context) ([]i18n.Message, string, error) {
			types, states := map[string]int{}, []any{}
			var names []string
			for _, id := range ids {
				d, err := p.DB.Delivery(ctx, id)
				if err != nil {
					return nil, "", err
				}
				states = append(states, id, d.Status, d.Reason, d.Attempts)
				if types[d.EventType]++; types[d.EventType] == 1 {
					names = append(names, d.EventType)
				}
			}
			changes := []i18n.Message{i18n.M("deliveries.confirm.some", len(ids))}
			for _, name := range names {
				changes = append(changes, i18n.M("deliveries.confirm.of-type", types[name], name))
			}
			state, err := registry.Fingerprint(states...)
			return changes, state, err
		},
		Do: func(ctx context.Context, by outbox.Actor) (err error) {
			*done, *refused, err = eachDelivery(ctx, ids, func(ctx context.Context, id string) error { return p.Engine.Discard(ctx, by, id, reason) })
			return err
		},
	}
}

// discardOfAll starts a job that discards what a filter selects, and gives the job.
func (p *Pages) discardOfAll(filter store.DeliveryFilter, reason string, job *store.ResendJob) site.Discard {
	return site.Discard{
		Action: discardAll, Object: registry.ObjectOf("deliveries", nameOf(filterText(filter)), "", ""), Args: discarding{Filter: filter, Reason: reason}, Reason: reason,
		Describe: func(ctx context.Context) ([]i18n.Message, string, error) {
			count, err := p.DB.CountDeliveries(ctx, filter)
			if err != nil {
				return nil, "", err
			}
			changes := []i18n.Message{i18n.M("deliveries.confirm.some", count)}
			partner, err := p.DeliveryNames().Partner(ctx, filter.PartnerID)
			if err != nil {
				return nil, "", err
			}
			endpoint, err := p.DeliveryNames().Endpoint(ctx, filter.EndpointID)
			if err != nil {
				return nil, "", err
			}
			for _, part := range []struct{ label, value i18n.Message }{
				{"deliveries.partner", i18n.Raw(partner)},
				{"deliveries.endpoint", i18n.Raw(endpoint)},
				{"deliveries.subscription", i18n.Raw(filter.SubscriptionID)},
				{"deliveries.event-type", i18n.Raw(filter.EventType)},
				{"deliveries.event-id", i18n.Raw(cmp.Or(filter.EventID, filter.CEID))},
				{"deliveries.confirm.subject", i18n.Raw(filter.Subject)},
				{"deliveries.kind-of-error", kindOf(filter)},
				{"deliveries.cause-of-issue", i18n.Raw(filter.Cause)},
				{"deliveries.by-job", i18n.Raw(filter.ReplayOf)},
			} {
				if part.value != "" && part.value != i18n.Raw("") {
					changes = append(changes, i18n.M("deliveries.confirm.part", part.label, part.value))
				}
			}
			if !filter.From.IsZero() {
				changes = append(changes, i18n.M("deliveries.confirm.from", filter.From.Time))
			}
			state, err := registry.Fingerprint(count)
			return append(changes, i18n.M("deliveries.confirm.until", filter.Until.Time)), state, err
		},
		Do: func(ctx context.Context, by outbox.Actor) (err error) {
			*job, err = p.Engine.StartJob(ctx, by, actionDiscard, filter, reason)
			return err
		},
	}
}

// kindOf names the kind of error that a filter selects; empty for any.
func kindOf(f store.DeliveryFilter) i18n.Message {
	if f.Reason == "" {
		return ""
	}
	return site.ReasonOf(f.Reason).Label
}

// filterText tells filters apart but for the moment until which they select.
func filterText(f store.DeliveryFilter) string {
	f.Until = store.Time{}
	text, _ := registry.Fingerprint(f) // a filter can be written
	return text
}

// nameOf makes the id of a set of deliveries.
func nameOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}
