package contracts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"schakel/registry"
	"schakel/registry/sorted"
	"schakel/store"
)

// maxNamedPartners bounds the partners to whom a contract is shown by name; for more there is the visibility partners.
const maxNamedPartners = 500

// VisibilityChange is another choice of who sees a contract: the step from the
// internal register to the external one, or back (EDU-06d).
type VisibilityChange struct {
	Visibility string   // public, partners, named or internal
	PartnerIDs []string // who sees it, with named
	Reason     string   // needed
	AcceptLoss bool     // also when someone who sees it now will not any more
}

// SetVisibility changes who sees a contract, its event types and its feed. Only
// the own organisation does so. When someone loses sight it answers a
// *SightLossError unless that is accepted. Fields: visibility, partners, reason.
func (c *Contracts) SetVisibility(ctx context.Context, actor registry.Actor, id string, in VisibilityChange) (store.Contract, error) {
	in.Reason = strings.TrimSpace(in.Reason)
	wrong := checkVisibility(in.Visibility, in.PartnerIDs)
	wrong.Add("reason", registry.CheckProse(in.Reason, 3, 1000))
	var row store.Contract
	err := c.change(ctx, actor, id, func(tx *store.Tx, found *store.Contract) error {
		if ok, err := actsForOwn(ctx, tx, actor); err != nil || !ok {
			return errors.Join(err, actor.RequireAdministrator())
		}
		if err := wrong.Err(); err != nil {
			return err
		}
		before, err := audienceOf(ctx, tx, *found)
		if err != nil {
			return err
		}
		from, after := found.Visibility, audience{in.Visibility, in.named()}
		if from == in.Visibility && slices.Equal(before.named, after.named) {
			return registry.Conflict("contracts.sight.same")
		}
		if err := show(ctx, tx, *found, after.named); err != nil {
			return err
		}
		loss, err := c.loss(ctx, &tx.Queries, *found, before, after)
		if err != nil {
			return err
		}
		if loss.Any() && !in.AcceptLoss {
			return &SightLossError{loss}
		}
		found.Visibility = in.Visibility
		if err := tx.UpdateContract(ctx, found); err != nil {
			return fmt.Errorf("update contract: %w", err)
		}
		row = *found
		what := registry.Details{"from": from, "to": in.Visibility, "partners": after.named, "reason": in.Reason}
		return registry.Record(ctx, tx, actor, registry.ActionContractShown, contractObject(row), what)
	})
	return row, err
}

// NamedPartners lists the partners to whom a contract is shown by name. Only the own organisation sees who they are.
func (c *Contracts) NamedPartners(ctx context.Context, reader registry.Reader, id string) ([]store.Partner, error) {
	if !reader.Administrator {
		return nil, nil
	}
	ids, err := c.cfg.DB.ContractPartners(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("list named partners: %w", err)
	}
	list := make([]store.Partner, len(ids))
	for i, partnerID := range ids {
		if list[i], err = c.cfg.DB.Partner(ctx, partnerID); err != nil {
			return nil, fmt.Errorf("find partner: %w", err)
		}
	}
	sorted.By(list, func(a, b store.Partner) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// named are the partners of a change, each once; none unless it shows by name.
func (in VisibilityChange) named() []string { return namedPartners(in.Visibility, in.PartnerIDs) }

func namedPartners(visibility string, ids []string) []string {
	if visibility != store.VisibilityNamed {
		return nil
	}
	ids = slices.Sorted(slices.Values(ids))
	return slices.Compact(ids)
}

func checkVisibility(visibility string, partnerIDs []string) registry.Problems {
	wrong := registry.Problems{}
	all := []string{store.VisibilityPublic, store.VisibilityPartners, store.VisibilityNamed, store.VisibilityInternal}
	named := visibility == store.VisibilityNamed
	switch {
	case !slices.Contains(all, visibility):
		wrong.Add("visibility", "contracts.input.visibility")
	case named && len(partnerIDs) == 0:
		wrong.Add("partners", "contracts.input.partners-none")
	case named && len(partnerIDs) > maxNamedPartners:
		wrong.Add("partners", "contracts.input.partners-many")
	}
	return wrong
}

// show names the partners that see a contract; each must be approved.
func show(ctx context.Context, tx *store.Tx, row store.Contract, named []string) error {
	for _, id := range named {
		p, err := tx.Partner(ctx, id)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return fmt.Errorf("find partner: %w", err)
		}
		if err != nil || p.Own || p.Status != store.PartnerApproved {
			return registry.Invalid(registry.Problems{"partners": "contracts.input.partners-approved"})
		}
	}
	return registry.Wrap("name partners", tx.SetContractPartners(ctx, row.ID, named))
}

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

// SightLossError refuses to take sight from those who have it unless that is accepted. It is also an *Error of CodeConflict.
type SightLossError struct{ SightLoss }

// Error counts who loses sight.
func (e *SightLossError) Error() string {
	return fmt.Sprintf("%d partners lose sight, everybody: %t", len(e.Partners), e.Everybody)
}

// Unwrap makes it an *Error for whoever does not show partners.
func (e *SightLossError) Unwrap() error {
	switch len(e.Partners) {
	case 0:
		return registry.Conflict("contracts.sight.lost-everybody")
	case 1:
		return registry.Conflict("contracts.sight.lost-one", e.Partners[0].Name)
	}
	return registry.Conflict("contracts.sight.lost", len(e.Partners))
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
	sorted.By(loss.Partners, func(a, b LosingPartner) int {
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
