package contracts

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"schakel/registry"
	"schakel/store"
)

// SightLoss lists the readers that lose sight of a contract.
type SightLoss struct {
	Everybody bool // who has no account
	// Partners that are approved, those with most subscriptions first.
	Partners []LosingPartner
}

// LosingPartner is a partner that will not see a contract any more.
type LosingPartner struct {
	store.Partner
	// Subscriptions counts its approved subscriptions to event types of the
	// contract. They go on: what was approved is ended by a decision about it.
	Subscriptions int
}

// Any reports whether anyone loses sight.
func (l SightLoss) Any() bool { return l.Everybody || len(l.Partners) > 0 }

// SightLossError refuses to take sight from those who have it unless that is
// accepted. It is also an *Error of CodeConflict.
type SightLossError struct{ SightLoss }

// Error counts who loses sight.
func (e *SightLossError) Error() string {
	return fmt.Sprintf("%d partners lose sight, everybody: %t", len(e.Partners), e.Everybody)
}

// Unwrap makes it an *Error for whoever does not show partners.
func (e *SightLossError) Unwrap() error {
	who := fmt.Sprintf("%d partners that see it now", len(e.Partners))
	switch {
	case len(e.Partners) == 1:
		who = e.Partners[0].Name + ", which sees it now,"
	case len(e.Partners) == 0:
		who = "everybody without an account"
	}
	return registry.Conflict("Then %s would not see it any more. Confirm that.", who)
}

// SightLoss lists, for an administrator, the readers that would lose sight of a contract.
func (c *Contracts) SightLoss(ctx context.Context, actor registry.Actor, id string, in VisibilityChange) (SightLoss, error) {
	if err := actor.RequireAdministrator(); err != nil {
		return SightLoss{}, err
	}
	row, err := c.cfg.DB.Contract(ctx, id)
	if err != nil {
		return SightLoss{}, registry.Found("contract", err)
	}
	named, err := c.cfg.DB.ContractPartners(ctx, id)
	if err != nil {
		return SightLoss{}, fmt.Errorf("list named partners: %w", err)
	}
	return c.loss(ctx, &c.cfg.DB.Queries, row, audience{row.Visibility, named}, audience{in.Visibility, in.named()})
}

// audience holds the readers of a contract besides the own organisation and its owner.
type audience struct {
	visibility string
	named      []string // sorted
}

func audienceOf(ctx context.Context, tx *store.Tx, row store.Contract) (audience, error) {
	named, err := tx.ContractPartners(ctx, row.ID)
	if err != nil {
		return audience{}, fmt.Errorf("list named partners: %w", err)
	}
	return audience{row.Visibility, named}, nil
}

func (a audience) everybody() bool { return a.visibility == store.VisibilityPublic }

func (a audience) has(partnerID string) bool {
	return a.everybody() || a.visibility == store.VisibilityPartners || slices.Contains(a.named, partnerID)
}

// loss lists who sees a contract before and not after.
func (c *Contracts) loss(ctx context.Context, q *store.Queries, row store.Contract, before, after audience) (SightLoss, error) {
	loss := SightLoss{Everybody: before.everybody() && !after.everybody()}
	versions, err := q.ContractVersions(ctx, row.ID, store.VersionPublished, store.VersionDeprecated)
	if err != nil {
		return loss, fmt.Errorf("list contract versions: %w", err)
	}
	if len(versions) == 0 {
		return SightLoss{}, nil // there was nothing to see
	}
	counts, err := subscriptionsTo(ctx, q, versions)
	if err != nil {
		return loss, err
	}
	err = allPartners(ctx, q, func(p store.Partner) {
		if p.ID != row.OwnerPartnerID && before.has(p.ID) && !after.has(p.ID) {
			loss.Partners = append(loss.Partners, LosingPartner{p, counts[p.ID]})
		}
	})
	slices.SortFunc(loss.Partners, func(a, b LosingPartner) int {
		if a.Subscriptions != b.Subscriptions {
			return b.Subscriptions - a.Subscriptions
		}
		return strings.Compare(a.Name, b.Name)
	})
	return loss, err
}

// allPartners shows every approved partner to see.
func allPartners(ctx context.Context, q *store.Queries, see func(store.Partner)) error {
	f := store.PartnerFilter{Status: store.PartnerApproved, Page: store.Page{Number: 1, Size: 500}}
	for {
		rows, total, err := q.Partners(ctx, f)
		if err != nil {
			return fmt.Errorf("list partners: %w", err)
		}
		for _, p := range rows {
			see(p)
		}
		if f.Number*f.Size >= total {
			return nil
		}
		f.Number++
	}
}

// subscriptionsTo counts the approved subscriptions to event types of versions, by partner.
func subscriptionsTo(ctx context.Context, q *store.Queries, versions []store.ContractVersion) (map[string]int, error) {
	var names []string
	for _, v := range versions {
		types, err := q.EventTypesOf(ctx, v.ID)
		if err != nil {
			return nil, fmt.Errorf("list event types: %w", err)
		}
		for _, t := range types {
			names = append(names, t.Name)
		}
	}
	list, err := boundTo(ctx, q, names, "")
	counts := make(map[string]int)
	for _, b := range list {
		counts[b.PartnerID]++
	}
	return counts, err
}
