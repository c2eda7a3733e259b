package contracts

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"

	"schakel/registry"
	"schakel/registry/contracts/compare"
	"schakel/registry/contracts/contract"
	"schakel/store"
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
		return before, after, &registry.Error{Code: registry.CodeNotFound, Message: fmt.Sprintf("There is no version before %s to compare with.", after.Version)}
	}
	return before, after, nil
}

// Compare lists the changes between two versions of a contract a reader may see,
// found as by Pair. It may take seconds for large documents; those that cannot be
// compared are refused (CodeConflict).
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
		return result, registry.Conflict("Versions %s and %s cannot be compared: they are too large, or refer to each other in too many ways.", before.Version, after.Version)
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

// versionBefore finds the highest version below v that was published; stable
// leaves out pre-releases. Versions are highest first.
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
