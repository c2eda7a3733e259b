package contracts

import (
	"context"
	"errors"
	"fmt"

	"schakel/store"
)

// followSource gives a copy that is published the state that its version has at the
// source meanwhile: who builds on it must see at once that it is advised against.
func followSource(ctx context.Context, tx *store.Tx, v *store.ContractVersion) error {
	from, err := tx.MirrorCopy(ctx, v.ID)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find origin: %w", err)
	}
	if !AdvisedAgainst(from) {
		return nil
	}
	reason := atSource + from.SourceStatus + "."
	if v.StatusReason != "" {
		reason += " Published all the same: " + v.StatusReason
	}
	v.Status, v.StatusReason, v.DeprecatedAt = store.VersionDeprecated, shown(reason, 1000, false), tx.Now
	return nil
}

// AdvisedAgainst reports whether the source deprecated or withdrew a version, so that our
// copy is deprecated as soon as it is published.
func AdvisedAgainst(from store.MirrorCopy) bool {
	return from.SourceStatus == store.VersionDeprecated || from.SourceStatus == store.VersionWithdrawn
}
