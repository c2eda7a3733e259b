package contracts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"schakel/registry"
	"schakel/store"
)

// maxNamedPartners bounds the partners to whom a contract is shown by name; for
// more there is the visibility partners.
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
			return registry.Conflict("It is shown like this already.")
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

// NamedPartners lists the partners to whom a contract is shown by name. Only the
// own organisation sees who they are.
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
	slices.SortFunc(list, func(a, b store.Partner) int { return strings.Compare(a.Name, b.Name) })
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
		wrong.Add("visibility", "Choose public, partners, named or internal.")
	case named && len(partnerIDs) == 0:
		wrong.Add("partners", "Choose at least one partner.")
	case named && len(partnerIDs) > maxNamedPartners:
		wrong.Add("partners", "Choose at most 500 partners, or show it to all.")
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
			return registry.Invalid(registry.Problems{"partners": "Choose partners that are approved."})
		}
	}
	return registry.Wrap("name partners", tx.SetContractPartners(ctx, row.ID, named))
}
