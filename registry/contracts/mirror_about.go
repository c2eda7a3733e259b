package contracts

import (
	"context"
	"fmt"

	"schakel/registry"
	"schakel/registry/contracts/mirror"
	"schakel/store"
)

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
	said := ""
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
		said = "The source tells other things about it. A person wrote the texts here, so they stay."
		if ours.Title != row.Title || ours.Description != row.Description {
			said = "The source tells other things about it, and our copy follows."
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
