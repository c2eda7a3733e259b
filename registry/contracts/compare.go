package contracts

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"

	"schakel/registry"
	"schakel/registry/contracts/compare"
	"schakel/registry/contracts/contract"
	"schakel/registry/sorted"
	"schakel/store"
	"schakel/templates/i18n"
)

// Comparison lists the changes from one version of a contract to another (EDU-08, CE-16).
type Comparison struct {
	From, To store.ContractVersion
	Changes  []compare.Change // breaking ones first
	// Suggested is the version number that fits the changes by semantic versioning.
	Suggested string
}

// Pair finds two versions of a contract a reader may see. An empty from is the newest release before the version, or the
// pre-release before it when there is no release (CodeNotFound when there is neither).
func (c *Contracts) Pair(ctx context.Context, reader registry.Reader, id, version, from string) (before, after store.ContractVersion, err error) {
	if after, err = c.Version(ctx, reader, id, version); err != nil {
		return before, after, err
	}
	if from != "" {
		before, err = c.Version(ctx, reader, id, from)
		return before, after, err
	}
	versions, err := c.Versions(ctx, reader, id)
	if err != nil {
		return before, after, err
	}
	before, ok := versionBefore(versions, after, true)
	if !ok {
		before, ok = versionBefore(versions, after, false)
	}
	if !ok {
		return before, after, &registry.Error{Code: registry.CodeNotFound, Message: i18n.M("contracts.compare.none-before", after.Version)}
	}
	return before, after, nil
}

// Compare lists the changes between two versions of a contract a reader may see, found as by Pair. It may take seconds for large
// documents; those that cannot be compared are refused (CodeConflict).
func (c *Contracts) Compare(ctx context.Context, reader registry.Reader, id, version, from string) (Comparison, error) {
	before, after, err := c.Pair(ctx, reader, id, version, from)
	if err != nil {
		return Comparison{}, err
	}
	return c.compareVersions(ctx, before, after)
}

func (c *Contracts) compareVersions(ctx context.Context, before, after store.ContractVersion) (Comparison, error) {
	result := Comparison{From: before, To: after}
	leave, err := c.turns.take(ctx)
	if err != nil {
		return result, err
	}
	defer leave()
	old, err := c.readVersion(ctx, before)
	if err != nil {
		return result, err
	}
	next, err := c.readVersion(ctx, after)
	if err != nil {
		return result, err
	}
	if result.Changes, err = compare.Documents(old, next); err != nil {
		if !errors.Is(err, compare.ErrTooLarge) {
			c.cfg.Log.LogAttrs(ctx, slog.LevelWarn, "versions cannot be compared", slog.String("contract", after.ContractID),
				slog.String("from", before.Version), slog.String("to", after.Version), slog.Any("error", err))
		}
		return result, registry.Conflict("contracts.compare.impossible", before.Version, after.Version)
	}
	result.Suggested = compare.Suggest(before.Version, result.Changes)
	return result, nil
}

// readVersion reads the document of a version that was found before.
func (c *Contracts) readVersion(ctx context.Context, v store.ContractVersion) (*contract.Document, error) {
	content, err := c.cfg.DB.Document(ctx, v.ID)
	if err != nil {
		return nil, registry.Found("version", err)
	}
	doc, _, err := contract.Parse(content, contract.Limits{})
	if err != nil || doc == nil {
		return nil, fmt.Errorf("read contract %s %s: %w", v.ContractID, v.Version, errors.Join(err, errors.New("it was readable at its upload")))
	}
	return doc, nil
}

// versionBefore finds the highest version below v that was published; stable leaves out pre-releases. Versions are highest first.
func versionBefore(versions []store.ContractVersion, v store.ContractVersion, stable bool) (store.ContractVersion, bool) {
	for _, other := range versions {
		usable := other.Status == store.VersionPublished || other.Status == store.VersionDeprecated
		if usable && other.SortKey < v.SortKey && !(stable && registry.IsPreRelease(other.Version)) {
			return other, true
		}
	}
	return store.ContractVersion{}, false
}

// turns bounds the documents that are read or compared at the same time: one of 2 MB can take 130 MB of memory and a second,
// so many at once would end the process.
type turns chan struct{}

func newTurns() turns { return make(turns, max(2, runtime.NumCPU())) }

// take waits for a turn; leave must be called when it is over.
func (t turns) take(ctx context.Context) (leave func(), err error) {
	select {
	case t <- struct{}{}:
		return func() { <-t }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("wait to read a document: %w", context.Cause(ctx))
	}
}

// Publication holds the consequences of publishing a draft for the users of the contract.
type Publication struct {
	// Before is the version it follows: the highest stable one below it. Without an ID there is none, and nothing can break.
	Before store.ContractVersion
	// Breaking are the changes that make others adapt.
	Breaking []compare.Change
	// Suggested is the version number that fits the changes.
	Suggested string
	// Unknown says why the two could not be compared; empty when they were.
	Unknown i18n.Message
	// NeedsReason is set when the version number promises that nothing breaks and something does, or that is not known.
	NeedsReason bool
}

// BreakingChangeError refuses to publish a breaking change under a minor or patch
// version without a reason. It is also an *Error of CodeInvalid with the field reason.
type BreakingChangeError struct {
	Publication
}

// Error counts what breaks.
func (e *BreakingChangeError) Error() string {
	return fmt.Sprintf("%d breaking changes since version %s", len(e.Breaking), e.Before.Version)
}

// Unwrap makes it an *Error for whoever does not show changes.
func (e *BreakingChangeError) Unwrap() error {
	text := i18n.M("contracts.compare.reason-missing", e.Before.Version, e.Suggested)
	if e.Unknown != "" {
		text = i18n.M("contracts.compare.reason-missing-unknown", e.Unknown)
	}
	return registry.Invalid(registry.Problems{"reason": text})
}

// Preview lists what publishing a version a reader may see would break.
func (c *Contracts) Preview(ctx context.Context, reader registry.Reader, id, version string) (Publication, error) {
	v, err := c.Version(ctx, reader, id, version)
	if err != nil {
		return Publication{}, err
	}
	versions, err := c.cfg.DB.ContractVersions(ctx, id)
	if err != nil {
		return Publication{}, fmt.Errorf("list contract versions: %w", err)
	}
	var p Publication
	var any bool
	if p.Before, any = versionBefore(versions, v, true); !any {
		return p, nil
	}
	made, err := c.compareVersions(ctx, p.Before, v)
	if refused, ok := errors.AsType[*registry.Error](err); ok && refused.Code == registry.CodeConflict {
		p.Unknown = refused.Message
	} else if err != nil {
		return p, err
	}
	for _, change := range made.Changes {
		if change.Level == compare.Breaking {
			p.Breaking = append(p.Breaking, change)
		}
	}
	p.Suggested = made.Suggested
	p.NeedsReason = (p.Unknown != "" || len(p.Breaking) > 0) && promisesNoBreak(p.Before.Version, v.Version)
	return p, nil
}

// promisesNoBreak reports whether a version number promises that nothing breaks: the same major one, or the same minor one while
// the major is 0. A pre-release promises nothing.
func promisesNoBreak(before, after string) bool {
	old, next := strings.Split(before, "."), strings.Split(after, ".")
	if registry.IsPreRelease(after) || len(old) < 3 || len(next) < 3 || old[0] != next[0] {
		return false
	}
	return old[0] != "0" || old[1] == next[1]
}

// publishable refuses a draft that is not complete, scores too low, or breaks what its number promises to keep without a
// reason. It returns what publishing means, and the reason without space around it.
func (c *Contracts) publishable(ctx context.Context, reader registry.Reader, v store.ContractVersion, reason string) (Publication, string, error) {
	var p Publication
	if v.Status == store.VersionDraft {
		err := complete(v)
		if err == nil {
			err = c.scored(ctx, v)
		}
		if err == nil {
			p, err = c.Preview(ctx, reader, v.ContractID, v.Version)
		}
		if err != nil {
			return p, "", err
		}
	}
	if reason = strings.TrimSpace(reason); p.NeedsReason && reason == "" {
		return p, "", &BreakingChangeError{p}
	}
	return p, reason, registry.CheckReason(reason, p.NeedsReason)
}

// sameBefore refuses to publish a version when it follows another one than its changes were judged by.
func sameBefore(ctx context.Context, tx *store.Tx, p Publication, v store.ContractVersion) error {
	versions, err := tx.ContractVersions(ctx, v.ContractID)
	if err != nil {
		return fmt.Errorf("list contract versions: %w", err)
	}
	if before, _ := versionBefore(versions, v, true); before.ID != p.Before.ID {
		return registry.Conflict("contracts.compare.overtaken")
	}
	return nil
}

// maintainer is the reader that an actor is for the contracts it may change.
func (c *Contracts) maintainer(ctx context.Context, actor registry.Actor) (registry.Reader, error) {
	reader, err := c.Reader(ctx, actor)
	if own := reader.Internal && reader.PartnerID != ""; own {
		reader.Administrator = true // it maintains what no partner owns; change decides
	}
	return reader, err
}

// EventTypesThatBreak lists the event types that changes touch, sorted.
func EventTypesThatBreak(changes []compare.Change) []string {
	var types []string
	for _, c := range changes {
		if c.Level == compare.Breaking {
			types = append(types, c.EventTypes...)
		}
	}
	slices.Sort(types)
	return slices.Compact(types)
}

// Bound is an approved subscription with those of its event types that matter.
type Bound struct {
	store.Subscription
	Partner store.Partner
	Affects []string // sorted
}

// BoundBy lists the approved subscriptions to any of some event types, by partner. Only an administrator sees who is subscribed.
func (c *Contracts) BoundBy(ctx context.Context, actor registry.Actor, types []string) ([]Bound, error) {
	if err := actor.RequireAdministrator(); err != nil {
		return nil, err
	}
	list, err := boundTo(ctx, &c.cfg.DB.Queries, types, "")
	if err != nil {
		return nil, err
	}
	for i := range list {
		if list[i].Partner, err = c.cfg.DB.Partner(ctx, list[i].PartnerID); err != nil {
			return nil, fmt.Errorf("find partner: %w", err)
		}
	}
	sorted.By(list, func(a, b Bound) int {
		return strings.Compare(a.Partner.Name+"\x00"+a.ID, b.Partner.Name+"\x00"+b.ID)
	})
	return list, nil
}

// BoundPartner lists the approved subscriptions of one partner to any of some event types: it sees its own.
func (c *Contracts) BoundPartner(ctx context.Context, reader registry.Reader, types []string) ([]Bound, error) {
	if reader.PartnerID == "" {
		return nil, nil
	}
	return boundTo(ctx, &c.cfg.DB.Queries, types, reader.PartnerID)
}

// boundTo lists approved subscriptions, also those that are paused or suspended and so will go on, without their partners; an empty
// partnerID is all.
func boundTo(ctx context.Context, q *store.Queries, types []string, partnerID string) ([]Bound, error) {
	if len(types) == 0 {
		return nil, nil
	}
	f := store.SubscriptionFilter{Open: true, PartnerID: partnerID, Page: store.Page{Number: 1, Size: 500}}
	var list []Bound
	for {
		rows, total, err := q.Subscriptions(ctx, f)
		if err != nil {
			return nil, fmt.Errorf("list subscriptions: %w", err)
		}
		for _, row := range rows {
			b := Bound{Subscription: row, Affects: common(row.Types, types)}
			if len(b.Affects) > 0 && row.Status != store.SubscriptionRequested {
				list = append(list, b)
			}
		}
		if f.Number*f.Size >= total {
			return list, nil
		}
		f.Number++
	}
}

// common lists what two lists both have, as the first orders it.
func common(a, b []string) []string {
	var both []string
	for _, s := range a {
		if slices.Contains(b, s) {
			both = append(both, s)
		}
	}
	return both
}
