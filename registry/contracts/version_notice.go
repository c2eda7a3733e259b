package contracts

import (
	"context"
	"fmt"
	"slices"

	"schakel/registry"
	"schakel/store"
)

// What happens to a line of versions that its subscribers are told about.
type lineChange int

const (
	lineAppeared   lineChange = iota // the first version of another line is published
	lineDeprecated                   // the last published version of a line is deprecated
	lineWithdrawn                    // the last version of a line that could be used is withdrawn
)

// notifySubscribers mails who is subscribed to event types of a version when its change matters to them, once a partner
// (EDU-08): nothing of theirs switches by itself, so they must know what to do.
func (c *Contracts) notifySubscribers(ctx context.Context, tx *store.Tx, row store.Contract, v store.ContractVersion, change lineChange) error {
	types, err := tx.EventTypesOf(ctx, v.ID)
	if err != nil {
		return fmt.Errorf("list event types: %w", err)
	}
	concerned := map[string][]store.Subscription{} // by partner
	touched := map[string]bool{}
	for _, t := range types {
		matters, err := lineMatters(ctx, tx, t, change)
		if err != nil {
			return err
		}
		if !matters {
			continue
		}
		touched[t.Name] = true
		if err := subscribersOf(ctx, tx, t, change, concerned); err != nil {
			return err
		}
	}
	for partnerID, subs := range concerned {
		partner, err := tx.Partner(ctx, partnerID)
		if err != nil {
			return registry.Found("partner", err)
		}
		if err := c.cfg.Mail(ctx, tx, partner.ContactEmail, mailLine(c.cfg, row, v, change, ofTypes(subs, touched))); err != nil {
			return err
		}
	}
	return nil
}

// lineMatters reports whether the change of a version is one of its whole line.
func lineMatters(ctx context.Context, tx *store.Tx, t store.EventType, change lineChange) (bool, error) {
	rows, err := tx.EventTypeVersions(ctx, t.Name)
	if err != nil {
		return false, fmt.Errorf("list versions of event type: %w", err)
	}
	var others, published, live int
	for _, r := range rows {
		switch {
		case r.ContractVersionID == t.ContractVersionID:
		case store.VersionLine(r.ContractVersion) != store.VersionLine(t.ContractVersion):
			others++
		case r.Status == store.VersionPublished:
			published, live = published+1, live+1
		default:
			live++
		}
	}
	switch change {
	case lineAppeared:
		return others > 0 && live == 0, nil
	case lineDeprecated:
		return published == 0, nil
	default:
		return live == 0, nil
	}
}

// subscribersOf adds the open subscriptions to an event type that the change is about, by partner.
func subscribersOf(ctx context.Context, tx *store.Tx, t store.EventType, change lineChange, to map[string][]store.Subscription) error {
	line := store.VersionLine(t.ContractVersion)
	subs, err := registry.OpenSubscriptions(ctx, &tx.Queries, store.SubscriptionFilter{EventType: t.Name})
	for _, sub := range subs {
		wants := sub.Versions[t.Name]
		if (change == lineAppeared || wants == "" || wants == line) &&
			!slices.ContainsFunc(to[sub.PartnerID], func(s store.Subscription) bool { return s.ID == sub.ID }) {
			to[sub.PartnerID] = append(to[sub.PartnerID], sub)
		}
	}
	return err
}

// ofTypes names the subscriptions with those of their types that are touched.
func ofTypes(subs []store.Subscription, touched map[string]bool) []string {
	var list []string
	for _, s := range subs {
		for _, name := range s.Types {
			if touched[name] {
				list = append(list, name+": you get "+versionWords(s.Versions[name]))
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func versionWords(line string) string {
	if line == "" {
		return "every version"
	}
	return "version " + registry.LineName(line)
}

func mailLine(c registry.Config, row store.Contract, v store.ContractVersion, change lineChange, types []string) registry.Message {
	line := registry.LineName(store.VersionLine(v.Version))
	path := contractPage(row.ID, v.Version)
	switch change {
	case lineAppeared:
		return c.Letter(row.Title+" has a version "+line, path,
			"Version "+v.Version+" of contract "+row.Title+" is published. You are subscribed to:", registry.Bullets(types),
			"A subscription to one version stays at that version. Ask for another subscription when you are ready for "+line+", and end the old one. "+
				"A subscription to every version gets "+line+" too, from now on. See what changed:")
	case lineDeprecated:
		until := "It can be used until further notice."
		if !v.SunsetAt.IsZero() {
			until = "It can be used until " + registry.FormatDay(v.SunsetAt) + "."
		}
		return c.Letter("Version "+line+" of "+row.Title+" is deprecated", path,
			"Version "+v.Version+" of contract "+row.Title+" is deprecated, and there is no other of "+line+". "+until+" You are subscribed to:",
			registry.Bullets(types), registry.Because(v.StatusReason), "Look which version comes after it, and ask for a subscription to that:")
	default:
		return c.Letter("Version "+line+" of "+row.Title+" is withdrawn", "/event-types",
			"Version "+v.Version+" of contract "+row.Title+" is withdrawn, and there is no other of "+line+". You are subscribed to:",
			registry.Bullets(types), registry.Because(v.StatusReason), "Nothing is sent in this version any more. See which event types there are:")
	}
}
