package outbox

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"schakel/store"
)

// countTime bounds the counting of a replay before it starts; what is not counted by then is reported as more.
const countTime = 3 * time.Second

// countReplay counts what the parts of a replay would deliver, for at most countTime, and writes it in the parts.
func (e *Engine) countReplay(ctx context.Context, r Replay, parts []store.ReplayPart) (Preview, error) {
	brief, cancel := context.WithTimeout(ctx, countTime)
	defer cancel()
	var p Preview
	counts := make(map[store.DeliveryGroup]int)
	for i := range parts {
		part := &parts[i]
		p.Limited = p.Limited || part.Since.After(r.From.Time)
		err := e.countPart(brief, r, part, counts)
		if err != nil && (brief.Err() == nil || ctx.Err() != nil) {
			return Preview{}, fmt.Errorf("count replay: %w", err)
		}
		part.TotalMore = err != nil
		p.Total, p.More = p.Total+int(part.Total), p.More || part.TotalMore
	}
	for g, n := range counts {
		g.Count = n
		p.Groups = append(p.Groups, g)
	}
	slices.SortFunc(p.Groups, largest)
	return p, nil
}

func largest(a, b store.DeliveryGroup) int {
	if a.Count != b.Count {
		return b.Count - a.Count
	}
	return strings.Compare(a.EndpointID+a.SubscriptionID+a.EventType, b.EndpointID+b.SubscriptionID+b.EventType)
}

func (e *Engine) countPart(ctx context.Context, r Replay, part *store.ReplayPart, counts map[store.DeliveryGroup]int) error {
	q := &e.cfg.DB.Queries
	s, err := e.newScanner(ctx, q, r, *part)
	if err != nil {
		return err
	}
	for end := false; !end; {
		var offers []offer
		if offers, end, err = s.page(ctx, q, scanPage); err != nil {
			return err
		}
		part.Total += int64(len(offers))
		for _, o := range offers {
			counts[store.DeliveryGroup{PartnerID: part.PartnerID, EndpointID: part.EndpointID, SubscriptionID: part.SubscriptionID, EventType: o.event.CEType}]++
		}
	}
	return nil
}
