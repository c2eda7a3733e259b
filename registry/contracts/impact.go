package contracts

import (
	"context"
	"fmt"
	"slices"

	"schakel/registry"
	"schakel/registry/contracts/compare"
	"schakel/registry/sorted"
	"schakel/store"
)

// maxLookedBack bounds the older versions of which is looked whether a partner fetched them.
const maxLookedBack = 20

// InUse finds the version that a partner works with, as far as can be known: the newest one before a version that the partner
// downloaded. It is empty when the partner downloaded none of them.
func (c *Contracts) InUse(ctx context.Context, reader registry.Reader, v store.ContractVersion) (string, error) {
	if reader.PartnerID == "" {
		return "", nil
	}
	versions, err := c.Versions(ctx, reader, v.ContractID)
	if err != nil {
		return "", err
	}
	looked := 0
	for _, other := range versions {
		if other.SortKey >= v.SortKey || looked == maxLookedBack {
			continue
		}
		looked++
		rows, err := c.cfg.DB.ContractDownloads(ctx, other.ID, reader.PartnerID)
		if err != nil {
			return "", fmt.Errorf("list downloads: %w", err)
		}
		if len(rows) > 0 {
			return other.Version, nil
		}
	}
	return "", nil
}

// Impact holds what changes mean for one subscription: those that touch its event types, and the worst of them.
type Impact struct {
	Bound
	// Stays is set when the subscription gets another line of versions, so that the new version does not reach it.
	Stays bool
	// There is set when the subscription gets the line of the new version already, and none of the version compared with: what changed
	// between the two does not reach it.
	There   bool
	Changes []compare.Change
	Level   compare.Level // empty when nothing touches it
}

// ImpactOn judges what the changes of a comparison mean for the approved subscriptions of the reader's partner to its event types, those
// that break first.
func (c *Contracts) ImpactOn(ctx context.Context, reader registry.Reader, made Comparison) ([]Impact, error) {
	types, err := c.typesOf(ctx, reader, made)
	if err != nil {
		return nil, err
	}
	bound, err := c.BoundPartner(ctx, reader, types)
	if err != nil {
		return nil, err
	}
	list := make([]Impact, 0, len(bound))
	for _, b := range bound {
		i := Impact{Bound: b, Stays: true, There: true}
		for _, name := range b.Affects {
			reached := store.FitsLine(made.To.Version, b.Versions[name])
			i.Stays = i.Stays && !reached
			i.There = i.There && !(reached && store.FitsLine(made.From.Version, b.Versions[name]))
		}
		i.There = i.There && !i.Stays
		i.Changes = ChangesTo(made.Changes, b.Affects, compare.SideConsumer)
		i.Level = compare.Worst(i.Changes)
		list = append(list, i)
	}
	sorted.Stable(list, func(a, b Impact) int { return rankOf(a.Level) - rankOf(b.Level) })
	return list, nil
}

// typesOf lists the event types of both versions.
func (c *Contracts) typesOf(ctx context.Context, reader registry.Reader, made Comparison) ([]string, error) {
	var names []string
	for _, v := range []store.ContractVersion{made.From, made.To} {
		types, err := c.EventTypes(ctx, reader, v.ContractID, v.Version)
		if err != nil {
			return nil, err
		}
		for _, t := range types {
			names = append(names, t.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// ChangesTo selects the changes that touch any of some event types and bind a side, SideConsumer or SideProducer.
func ChangesTo(changes []compare.Change, types []string, side string) []compare.Change {
	var found []compare.Change
	for _, c := range changes {
		if (c.Side == side || c.Side == compare.SideBoth) && len(common(c.EventTypes, types)) > 0 {
			found = append(found, c)
		}
	}
	return found
}

func rankOf(l compare.Level) int {
	return slices.Index([]compare.Level{compare.Breaking, compare.Warning, compare.Info, ""}, l)
}
