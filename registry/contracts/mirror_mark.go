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
	"schakel/templates/i18n"
)

// fromSource reports whether the reason of a status was taken over from the source. Those of older releases are stored in English.
func fromSource(reason string) bool {
	return strings.HasPrefix(reason, "contracts.at-source.") || strings.HasPrefix(reason, "At the source: ")
}

// atSource is the reason of a status that was taken over from the source; why is the one given there, if any.
func atSource(status, why string) i18n.Message {
	switch {
	case why != "":
		return i18n.M("contracts.at-source.because", shown(why, 900, false))
	case status == store.VersionWithdrawn:
		return "contracts.at-source.withdrawn"
	}
	return "contracts.at-source.deprecated"
}

// mark writes down what the source says of a copied version, when that is something else than before. Our version follows a
// deprecation, and the end of it. What was withdrawn there is deprecated here, not hidden: who builds on the copy must see it.
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

func markText(status, reason string) i18n.Message {
	text := map[string]i18n.Message{
		store.VersionDeprecated: "contracts.run.deprecated",
		store.VersionWithdrawn:  "contracts.run.withdrawn",
		store.MirrorGone:        "contracts.run.gone",
		store.VersionPublished:  "contracts.run.published",
	}[status]
	if reason != "" {
		return i18n.M("contracts.run.because", text, shown(reason, 500, false))
	}
	return text
}

// follow lets the status of our version follow that at the source. A version that a person gave another status stays as it is.
func (r *mirrorRun) follow(ctx context.Context, copied store.MirrorCopy, v mirror.Version) error {
	ours, err := r.cfg.DB.ContractVersionByID(ctx, copied.VersionID)
	if err != nil {
		return fmt.Errorf("find version: %w", err)
	}
	switch {
	case ours.Status == store.VersionPublished && (v.Status == mirror.Deprecated || v.Status == mirror.Withdrawn):
		sunset := v.Sunset
		if sunset.Before(r.cfg.Now()) {
			sunset = time.Time{} // it is over there; here it was just heard of
		}
		own := atSource(v.Status, v.Reason)
		_, err = r.contracts.deprecate(ctx, r.actor, copied.ContractID, copied.Version, sunset, own.String(), own)
	case ours.Status == store.VersionDeprecated && v.Status == mirror.Published && fromSource(ours.StatusReason):
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

// about lets the title and the description of our copy follow those at the source. A
// text that a person wrote here stays. title is the one of the contract at the source.
func (r *mirrorRun) about(ctx context.Context, c mirror.Contract, copied *store.MirrorContract, title string) error {
	if title = shown(title, 200, false); registry.CheckLine(title, 2, 200) != "" {
		title = copied.OriginTitle // it has none that can be kept
	}
	description := shown(c.Description, 4000, true)
	if title == copied.OriginTitle && description == copied.OriginDescription {
		return nil
	}
	var said i18n.Message
	err := r.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		row, err := tx.Contract(ctx, copied.ContractID)
		if err != nil {
			return err
		}
		ours := row
		if row.Title == copied.OriginTitle {
			ours.Title = title
		}
		if row.Description == copied.OriginDescription {
			ours.Description = description
		}
		said = "contracts.run.texts-stay"
		if ours.Title != row.Title || ours.Description != row.Description {
			said = "contracts.run.texts-follow"
			if err := tx.UpdateContract(ctx, &ours); err != nil {
				return err
			}
			o := registry.ObjectOf("contract", row.ID, ours.Title, row.OwnerPartnerID)
			if err := registry.Record(ctx, tx, r.actor, registry.ActionCopyDescribed, o, registry.Details{"from": copied.OriginURL, "titleBefore": row.Title}); err != nil {
				return err
			}
		}
		return tx.SetMirrorContractAbout(ctx, copied.ContractID, title, description)
	})
	if err != nil {
		return fmt.Errorf("follow texts of contract: %w", err)
	}
	copied.OriginTitle, copied.OriginDescription = title, description
	r.note(MirrorLine{Contract: c.ID, Outcome: MirrorDescribed, Copy: copied.ContractID, Text: said})
	return nil
}

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
	reason := atSource(from.SourceStatus, "")
	if v.StatusReason != "" {
		reason = i18n.M("contracts.at-source.published-anyway", reason, v.StatusReason)
	}
	v.Status, v.StatusReason, v.DeprecatedAt = store.VersionDeprecated, string(reason), tx.Now
	return nil
}

// AdvisedAgainst reports whether the source deprecated or withdrew a version, so that our
// copy is deprecated as soon as it is published.
func AdvisedAgainst(from store.MirrorCopy) bool {
	return from.SourceStatus == store.VersionDeprecated || from.SourceStatus == store.VersionWithdrawn
}

// Remove ends a mirror for good: nothing is fetched any more, its key is erased and its alarms are settled. The copies stay as
// they are, marked with where they come from (EDU-N05). Field: reason.
func (m *Mirrors) Remove(ctx context.Context, actor registry.Actor, id, reason string) error {
	if err := m.allow(ctx, actor); err != nil {
		return err
	}
	reason = strings.TrimSpace(reason)
	if err := registry.CheckReason(reason, false); err != nil {
		return err
	}
	return m.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		row, err := tx.MirrorSource(ctx, id)
		if err != nil {
			return registry.Found("mirror", err)
		}
		why := i18n.Message("contracts.mirror-refused.removed")
		if reason != "" {
			why = i18n.M("contracts.mirror-refused.removed-because", reason)
		}
		if err := tx.RemoveMirrorSource(ctx, id, actor.Name, string(why)); err != nil {
			return fmt.Errorf("remove mirror: %w", err)
		}
		return registry.Record(ctx, tx, actor, registry.ActionMirrorRemoved, mirrorObject(row), registry.Details{"reason": reason, "url": row.URL, "urls": row.URLs})
	})
}

// removed reports whether the mirror of a run was deleted; then the run ends.
func (r *mirrorRun) removed(ctx context.Context) (bool, error) {
	_, err := r.cfg.DB.MirrorSource(ctx, r.source.ID)
	if errors.Is(err, store.ErrNotFound) {
		r.row.Error = "contracts.run.removed"
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("find mirror: %w", err)
	}
	return false, nil
}

// CopyPage lists a page of the contracts that are copies of those of a source, by their id there, with their total count.
func (m *Mirrors) CopyPage(ctx context.Context, actor registry.Actor, id string, p store.Page) ([]store.MirrorContract, int, error) {
	if _, err := m.Get(ctx, actor, id); err != nil {
		return nil, 0, err
	}
	rows, total, err := m.cfg.DB.MirrorContractPage(ctx, id, p)
	return rows, total, registry.Wrap("list copies", err)
}
