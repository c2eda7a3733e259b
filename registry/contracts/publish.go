package contracts

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"schakel/registry"
	"schakel/registry/contracts/contract"
	"schakel/registry/sorted"
	"schakel/store"
	"schakel/templates/i18n"
)

// versionMove gives the changes of state of a contract version:
//
//	draft ──publish──▶ published ◀──undeprecate── deprecated
//	                    │   └─────deprecate────────▶ │
//	                    └──withdraw──▶ withdrawn ◀───┘
func versionMove(verb string) registry.Transition {
	const published, deprecated = store.VersionPublished, store.VersionDeprecated
	return map[string]registry.Transition{
		"publish":     {Action: registry.ActionContractPublished, From: []string{store.VersionDraft}, To: published},
		"deprecate":   {Action: registry.ActionContractDeprecated, From: []string{published}, To: deprecated},
		"undeprecate": {Action: registry.ActionContractUndeprecated, From: []string{deprecated}, To: published},
		"withdraw":    {Action: registry.ActionContractWithdrawn, From: []string{published, deprecated}, To: store.VersionWithdrawn, Reason: true},
	}[verb].Named(verb)
}

// PublishInput names the bytes to publish, and why a breaking change is published.
type PublishInput struct {
	// Digest is the SHA-256 of the upload or of the document in it, in hexadecimal, with or without "sha256:" before it.
	Digest string
	// Reason is shown with the version; required for a breaking change whose version number promises none.
	Reason string
}

// Publish freezes a draft for ever; that of an AsyncAPI document fills the catalogue of event types. It publishes the bytes
// of in.Digest and no others (guarantee G8): without a digest the error is CodeDigestMissing, and CodeDraftChanged when the
// draft holds other bytes, also when it was replaced while this runs.
//
// Publish refuses an event type that another contract defines (CodeConflict), and a breaking change under a version number
// that promises none unless in.Reason says why (*BreakingChangeError). Where the chain reviews what partners publish, their
// draft stays one and its publication is requested (RequestedAt is set).
func (c *Contracts) Publish(ctx context.Context, actor registry.Actor, id, version string, in PublishInput) (store.ContractVersion, error) {
	reader, err := c.maintainer(ctx, actor)
	if err != nil {
		return store.ContractVersion{}, err
	}
	seen, err := c.Version(ctx, reader, id, version)
	if err != nil {
		return store.ContractVersion{}, err
	}
	if err := named(seen, in.Digest); err != nil {
		return store.ContractVersion{}, err
	}
	effect, reason, err := c.publishable(ctx, reader, seen, in.Reason)
	if err != nil {
		return store.ContractVersion{}, err
	}
	if asks, err := c.mustAsk(ctx, actor, reader); err != nil {
		return store.ContractVersion{}, err
	} else if asks {
		return c.requestPublication(ctx, actor, seen, reason)
	}
	types, err := c.eventTypesOf(ctx, reader, seen)
	if err != nil {
		return store.ContractVersion{}, err
	}
	return c.move(ctx, actor, id, version, "publish", reason, func(tx *store.Tx, row store.Contract, v *store.ContractVersion) error {
		if !sameBytes(seen, *v) {
			return draftChanged(*v)
		}
		if err := sameBefore(ctx, tx, effect, *v); err != nil {
			return err
		}
		v.PublishedAt, v.PublishedBy = tx.Now, actor.Name
		if !v.RequestedAt.IsZero() {
			if err := c.notifyOwner(ctx, tx, row, mailPublished(c.cfg, row, *v)); err != nil {
				return err
			}
		}
		if copied, err := isCopy(ctx, tx, row.ID); err != nil {
			return err
		} else if copied {
			types = nil // they are defined where it comes from
			if err := followSource(ctx, tx, v); err != nil {
				return err
			}
		}
		if err := fillCatalogue(ctx, tx, row, *v, types); err != nil {
			return err
		}
		return c.notifySubscribers(ctx, tx, row, *v, lineAppeared)
	})
}

// Deprecate advises against a version, which can be used until sunset. A zero sunset is not decided yet.
func (c *Contracts) Deprecate(ctx context.Context, actor registry.Actor, id, version string, sunset time.Time, reason string) (store.ContractVersion, error) {
	return c.deprecate(ctx, actor, id, version, sunset, reason, "")
}

// deprecate is Deprecate with a reason of our own, which is stored as a message in place of the reason; empty for none.
func (c *Contracts) deprecate(ctx context.Context, actor registry.Actor, id, version string, sunset time.Time, reason string, own i18n.Message) (store.ContractVersion, error) {
	return c.move(ctx, actor, id, version, "deprecate", reason, func(tx *store.Tx, row store.Contract, v *store.ContractVersion) error {
		if own != "" {
			v.StatusReason = string(own)
		}
		if !sunset.IsZero() && sunset.Before(tx.Now.Time) {
			return registry.Invalid(registry.Problems{"sunset": "contracts.version-refused.sunset-past"})
		}
		v.DeprecatedAt, v.SunsetAt = tx.Now, store.At(sunset)
		if err := tx.SetEventTypeStatus(ctx, v.ID, store.VersionDeprecated); err != nil {
			return err
		}
		return c.notifySubscribers(ctx, tx, row, *v, lineDeprecated)
	})
}

// Undeprecate takes a deprecation back.
func (c *Contracts) Undeprecate(ctx context.Context, actor registry.Actor, id, version string) (store.ContractVersion, error) {
	return c.move(ctx, actor, id, version, "undeprecate", "", func(tx *store.Tx, _ store.Contract, v *store.ContractVersion) error {
		v.DeprecatedAt, v.SunsetAt = store.Time{}, store.Time{}
		return tx.SetEventTypeStatus(ctx, v.ID, store.VersionPublished)
	})
}

// Withdraw takes a version out of the register and its event types out of the catalogue, for good. The bytes stay kept.
func (c *Contracts) Withdraw(ctx context.Context, actor registry.Actor, id, version, reason string) (store.ContractVersion, error) {
	return c.move(ctx, actor, id, version, "withdraw", reason, func(tx *store.Tx, row store.Contract, v *store.ContractVersion) error {
		v.WithdrawnAt = tx.Now
		if err := tx.SetEventTypeStatus(ctx, v.ID, store.VersionWithdrawn); err != nil {
			return err
		}
		return c.notifySubscribers(ctx, tx, row, *v, lineWithdrawn)
	})
}

func (c *Contracts) move(ctx context.Context, actor registry.Actor, id, version, verb, reason string,
	also func(*store.Tx, store.Contract, *store.ContractVersion) error,
) (store.ContractVersion, error) {
	t := versionMove(verb)
	var v store.ContractVersion
	err := c.change(ctx, actor, id, func(tx *store.Tx, row *store.Contract) (err error) {
		if v, err = tx.ContractVersion(ctx, id, version); err != nil {
			return registry.Found("version", err)
		}
		if err := t.Check(actor, "version", v.Status, reason); err != nil {
			return err
		}
		v.Status, v.StatusReason = t.To, reason
		if err := also(tx, *row, &v); err != nil {
			return err
		}
		if err := tx.SetVersionStatus(ctx, &v, t.From...); err != nil {
			return fmt.Errorf("%s version: %w", verb, err)
		}
		err = registry.Record(ctx, tx, actor, t.Action, versionObject(*row, v), registry.Details{"reason": i18n.Message(reason).String(), "sunset": registry.FormatDay(v.SunsetAt), "version": v.Version})
		if err == nil && v.Status != t.To { // a copy that is advised against at its source
			err = registry.Record(ctx, tx, actor, registry.ActionContractDeprecated, versionObject(*row, v), registry.Details{"reason": i18n.Message(v.StatusReason).String(), "version": v.Version})
		}
		return err
	})
	if err != nil {
		return store.ContractVersion{}, err
	}
	return v, nil
}

// eventTypesOf reads the draft that was seen again, outside the transaction: a large document takes a second, and everyone
// else would wait for it.
func (c *Contracts) eventTypesOf(ctx context.Context, reader registry.Reader, seen store.ContractVersion) ([]contract.EventType, error) {
	v, content, err := c.Document(ctx, reader, seen.ContractID, seen.Version)
	if err != nil {
		return nil, err
	}
	if digestOf(content) != seen.DocumentDigest() {
		return nil, draftChanged(v)
	}
	leave, err := c.turns.take(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	doc, _, err := contract.Parse(content, contract.Limits{})
	if err != nil || doc == nil {
		return nil, fmt.Errorf("read contract %s %s: %w", seen.ContractID, seen.Version, errors.Join(err, errors.New("it was readable at its upload")))
	}
	return doc.EventTypes(), nil
}

func fillCatalogue(ctx context.Context, tx *store.Tx, c store.Contract, v store.ContractVersion, types []contract.EventType) error {
	rows := make([]store.EventType, len(types))
	for i, t := range types {
		other, err := tx.EventType(ctx, storable(t.Type))
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return fmt.Errorf("find event type: %w", err)
		}
		if err == nil && other.ContractID != c.ID {
			return registry.Conflict("contracts.version-refused.type-taken", t.Type, other.ContractID)
		}
		rows[i] = store.EventType{
			Name: storable(t.Type), ContractID: c.ID, ContractVersion: v.Version, SortKey: v.SortKey, MessageName: storable(t.MessageName),
			Title: storable(t.Title), Summary: storable(t.Summary), Description: storable(t.Description), ContentType: storable(t.ContentType),
			DataSchema: string(t.Schema), DataRequired: t.DataRequired, Example: string(t.Example), Status: store.VersionPublished, Visibility: c.Visibility,
		}
		if len(t.Titles) > 0 {
			titles, err := json.Marshal(t.Titles)
			if err != nil {
				return fmt.Errorf("write titles: %w", err)
			}
			rows[i].Titles = storable(string(titles))
		}
	}
	return registry.Wrap("fill catalogue", tx.ReplaceEventTypes(ctx, v.ID, rows))
}

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

// ofTypes names the subscribed types that are touched, each with the versions that a subscription gets, as lines of a mail.
func ofTypes(subs []store.Subscription, touched map[string]bool) []i18n.Message {
	type wish struct{ name, line string }
	var wishes []wish
	for _, s := range subs {
		for _, name := range s.Types {
			if touched[name] {
				wishes = append(wishes, wish{name, s.Versions[name]})
			}
		}
	}
	sorted.By(wishes, func(a, b wish) int { return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.line, b.line)) })
	var lines []i18n.Message
	for _, w := range slices.Compact(wishes) {
		text := i18n.M("contracts.mail.you-get-all", w.name)
		if w.line != "" {
			text = i18n.M("contracts.mail.you-get", w.name, registry.LineName(w.line))
		}
		lines = append(lines, registry.Bullet(text))
	}
	return lines
}

func mailLine(c registry.Config, row store.Contract, v store.ContractVersion, change lineChange, types []i18n.Message) registry.Message {
	line := registry.LineName(store.VersionLine(v.Version))
	path := contractPage(row.ID, v.Version)
	switch change {
	case lineAppeared:
		return c.Letter(i18n.M("contracts.mail.appeared", row.Title, line), path, i18n.M("contracts.mail.appeared-text", v.Version, row.Title)).
			Lines(types...).Lines(i18n.M("contracts.mail.appeared-next", line))
	case lineDeprecated:
		text := i18n.M("contracts.mail.deprecated-text", v.Version, row.Title, line)
		if !v.SunsetAt.IsZero() {
			text = i18n.M("contracts.mail.deprecated-text-until", v.Version, row.Title, line, registry.FormatDay(v.SunsetAt))
		}
		return c.Letter(i18n.M("contracts.mail.deprecated", line, row.Title), path, text).
			Lines(types...).Lines(registry.Because(v.StatusReason)).Lines("contracts.mail.deprecated-next")
	default:
		return c.Letter(i18n.M("contracts.mail.withdrawn", line, row.Title), "/event-types", i18n.M("contracts.mail.withdrawn-text", v.Version, row.Title, line)).
			Lines(types...).Lines(registry.Because(v.StatusReason)).Lines("contracts.mail.withdrawn-next")
	}
}
