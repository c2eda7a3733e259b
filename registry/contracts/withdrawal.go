package contracts

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"schakel/registry"
	"schakel/registry/sorted"
	"schakel/store"
	"schakel/templates/i18n"
)

// WithdrawalEffect tells whom the withdrawal of a version would hit.
type WithdrawalEffect struct {
	// Subscriptions are the open ones that get event types of the version, Affects
	// those types. The partner is filled in for administrators alone.
	Subscriptions []LosingSubscription
	// Endpoints lists the endpoints whose API the version describes.
	Endpoints []store.Endpoint
	// Hidden counts those of both that belong to others, for a reader that may not see their names.
	Hidden int
	// Last are the event types that nobody can use in any version after it.
	Last []string
	// Downloads lists who downloaded the version, subscribed or not.
	Downloads DownloadUse
}

// LosingSubscription is a subscription with what it gets in a version.
type LosingSubscription struct {
	Bound
	// Loses lists the types of Affects that it gets in no version afterwards.
	Loses []string
}

// WithdrawalEffect looks whom the withdrawal of a version would hit, before it is done. An administrator sees all; another
// maintainer sees its own, and how many others there are.
func (c *Contracts) WithdrawalEffect(ctx context.Context, actor registry.Actor, id, version string) (WithdrawalEffect, error) {
	var effect WithdrawalEffect
	reader, err := c.maintainer(ctx, actor)
	if err != nil {
		return effect, err
	}
	about, err := c.Get(ctx, reader, id)
	if err != nil {
		return effect, err
	}
	others := about.OwnerPartnerID != "" && !actor.Administrator && !reader.Owns(about)
	if others || !reader.Maintains(about) {
		return effect, &registry.Error{Code: registry.CodeForbidden, Message: i18n.M("contracts.version-refused.not-maintainer", id)}
	}
	v, err := c.Version(ctx, reader, id, version)
	if err != nil {
		return effect, err
	}
	if v.Status != store.VersionPublished && v.Status != store.VersionDeprecated {
		return effect, registry.Conflict("contracts.version-refused.not-withdrawable", v.Version, stateWord(v.Status))
	}
	if err := c.losing(ctx, &effect, v); err != nil {
		return effect, err
	}
	if err := c.described(ctx, &effect, v); err != nil {
		return effect, err
	}
	if effect.Downloads, err = c.DownloadsOf(ctx, reader, about, v); err != nil {
		return effect, err
	}
	return effect, c.seenBy(ctx, reader, &effect)
}

// losing adds the open subscriptions that get event types of a version.
func (c *Contracts) losing(ctx context.Context, effect *WithdrawalEffect, v store.ContractVersion) error {
	types, err := c.cfg.DB.EventTypesOf(ctx, v.ID)
	if err != nil {
		return fmt.Errorf("list event types: %w", err)
	}
	subs := map[string]*LosingSubscription{}
	line := store.VersionLine(v.Version)
	for _, t := range types {
		rest, err := c.otherLines(ctx, t)
		if err != nil {
			return err
		}
		if len(rest) == 0 {
			effect.Last = append(effect.Last, t.Name)
		}
		of, err := registry.OpenSubscriptions(ctx, &c.cfg.DB.Queries, store.SubscriptionFilter{EventType: t.Name})
		if err != nil {
			return err
		}
		for _, sub := range of {
			wants := sub.Versions[t.Name]
			if wants != "" && wants != line {
				continue
			}
			hit := subs[sub.ID]
			if hit == nil {
				hit = &LosingSubscription{Bound: Bound{Subscription: sub}}
				subs[sub.ID] = hit
			}
			hit.Affects = append(hit.Affects, t.Name)
			if left := slices.Contains(rest, wants) || wants == "" && len(rest) > 0; !left {
				hit.Loses = append(hit.Loses, t.Name)
			}
		}
	}
	for _, hit := range subs {
		effect.Subscriptions = append(effect.Subscriptions, *hit)
	}
	return nil
}

// otherLines are the lines of an event type that can be used without one version.
func (c *Contracts) otherLines(ctx context.Context, t store.EventType) ([]string, error) {
	rows, err := c.cfg.DB.EventTypeVersions(ctx, t.Name)
	if err != nil {
		return nil, fmt.Errorf("list versions of event type: %w", err)
	}
	var lines []string
	for _, r := range rows {
		if r.ContractVersionID != t.ContractVersionID {
			lines = append(lines, store.VersionLine(r.ContractVersion))
		}
	}
	return lines, nil
}

// described adds the endpoints whose API a version describes.
func (c *Contracts) described(ctx context.Context, effect *WithdrawalEffect, v store.ContractVersion) error {
	all, err := c.cfg.DB.Endpoints(ctx, "")
	if err != nil {
		return fmt.Errorf("list endpoints: %w", err)
	}
	for _, e := range all {
		if e.ContractID == v.ContractID && e.ContractVersion == v.Version {
			effect.Endpoints = append(effect.Endpoints, e)
		}
	}
	return nil
}

// seenBy keeps what a maintainer may see, with the partners for administrators.
func (c *Contracts) seenBy(ctx context.Context, reader registry.Reader, effect *WithdrawalEffect) error {
	if !reader.Administrator {
		all := len(effect.Subscriptions) + len(effect.Endpoints)
		effect.Subscriptions = slices.DeleteFunc(effect.Subscriptions, func(s LosingSubscription) bool { return s.PartnerID != reader.PartnerID })
		effect.Endpoints = slices.DeleteFunc(effect.Endpoints, func(e store.Endpoint) bool { return e.PartnerID != reader.PartnerID })
		effect.Hidden = all - len(effect.Subscriptions) - len(effect.Endpoints)
	}
	for i := range effect.Subscriptions {
		s := &effect.Subscriptions[i]
		partner, err := c.cfg.DB.Partner(ctx, s.PartnerID)
		if err != nil {
			return registry.Found("partner", err)
		}
		s.Partner = partner
	}
	sorted.By(effect.Subscriptions, func(a, b LosingSubscription) int {
		return cmp.Or(cmp.Compare(a.Partner.Name, b.Partner.Name), cmp.Compare(a.ID, b.ID))
	})
	return nil
}
