package contracts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"schakel/registry"
	"schakel/registry/contracts/compare"
	"schakel/store"
)

// Publication holds the consequences of publishing a draft for the users of the contract.
type Publication struct {
	// Before is the version it follows: the highest stable one below it. Without
	// an ID there is none, and nothing can break.
	Before store.ContractVersion
	// Breaking are the changes that make others adapt.
	Breaking []compare.Change
	// Suggested is the version number that fits the changes.
	Suggested string
	// Unknown says why the two could not be compared; empty when they were.
	Unknown string
	// NeedsReason is set when the version number promises that nothing breaks
	// and something does, or that is not known.
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
	text := "Say why this is published under this version all the same: "
	if e.Unknown != "" {
		text += e.Unknown
	} else {
		text += fmt.Sprintf("it breaks what was agreed in version %s. Its number would be %s.", e.Before.Version, e.Suggested)
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

// promisesNoBreak reports whether a version number promises that nothing breaks: the
// same major one, or the same minor one while the major is 0. A pre-release
// promises nothing.
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
		return registry.Conflict("Another version was published or withdrawn a moment ago. Look at what this one changes again.")
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
