package contracts

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"schakel/registry"
	"schakel/registry/contracts/mirror"
	"schakel/store"
)

// atSource begins the reason of a status that was taken over from the source.
const atSource = "At the source: "

// mark writes down what the source says of a copied version, when that is something
// else than before. Our version follows a deprecation, and the end of it. What was
// withdrawn there is deprecated here, not hidden: who builds on the copy must see it.
// What is merely not offered any more is marked alone.
func (r *mirrorRun) mark(ctx context.Context, originID string, copied store.MirrorCopy, v mirror.Version) error {
	if v.Status == copied.SourceStatus {
		return nil
	}
	if err := r.follow(ctx, copied, v); err != nil {
		return err
	}
	err := r.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		if err := tx.SetMirrorCopyStatus(ctx, copied.VersionID, v.Status); err != nil {
			return err
		}
		return r.recordMark(ctx, tx, copied.ContractID, copied.Version, v.Status, copied.OriginURL)
	})
	if err != nil {
		return fmt.Errorf("mark copy: %w", err)
	}
	r.note(MirrorLine{Contract: originID, Version: copied.Version, Outcome: MirrorMarked, Copy: copied.ContractID, Text: markText(v.Status, v.Reason)})
	return nil
}

func markText(status, reason string) string {
	text := map[string]string{
		store.VersionDeprecated: "It is deprecated at the source, and so is our copy.",
		store.VersionWithdrawn:  "It is withdrawn at the source. Our copy stays, and is deprecated.",
		store.MirrorGone:        "The source offers another version, or none, in its place. Our copy stays.",
		store.VersionPublished:  "The source offers it as published again.",
	}[status]
	if reason != "" {
		text += " The reason: " + reason
	}
	return text
}

// follow lets the status of our version follow that at the source. A version that a
// person gave another status stays as it is.
func (r *mirrorRun) follow(ctx context.Context, copied store.MirrorCopy, v mirror.Version) error {
	ours, err := r.cfg.DB.ContractVersionByID(ctx, copied.VersionID)
	if err != nil {
		return fmt.Errorf("find version: %w", err)
	}
	switch {
	case ours.Status == store.VersionPublished && (v.Status == mirror.Deprecated || v.Status == mirror.Withdrawn):
		reason := v.Reason
		if reason == "" {
			reason = v.Status + "."
		}
		sunset := v.Sunset
		if sunset.Before(r.cfg.Now()) {
			sunset = time.Time{} // it is over there; here it was just heard of
		}
		_, err = r.contracts.Deprecate(ctx, r.actor, copied.ContractID, copied.Version, sunset, shown(atSource+reason, 900, false))
	case ours.Status == store.VersionDeprecated && v.Status == mirror.Published && strings.HasPrefix(ours.StatusReason, atSource):
		_, err = r.contracts.Undeprecate(ctx, r.actor, copied.ContractID, copied.Version)
	}
	if refused, ok := errors.AsType[*registry.Error](err); ok && refused.Code == registry.CodeConflict {
		return nil // a person was faster
	}
	return err
}

func (r *mirrorRun) recordMark(ctx context.Context, tx *store.Tx, contractID, version, status, from string) error {
	row, err := tx.Contract(ctx, contractID)
	if err != nil {
		return err
	}
	return registry.Record(ctx, tx, r.actor, registry.ActionCopyMarked, registry.ObjectOf("contract", row.ID, strings.TrimSpace(row.Title+" "+version), row.OwnerPartnerID),
		registry.Details{"to": status, "from": from, "version": version})
}
