package contracts

import (
	"context"
	"fmt"

	"schakel/registry"
	"schakel/registry/contracts/mirror"
	"schakel/store"
)

// Bounds of what is kept aside: bytes of alarms that nobody settled yet.
const (
	mostAsidesOfVersion = 5
	mostAsidesOfSource  = 200
)

// alarm keeps other bytes of a version that we have aside, and tells the
// administrators the first time these are seen. Our copy stays what it is (G8).
func (r *mirrorRun) alarm(ctx context.Context, c mirror.Contract, copied store.MirrorContract, ours store.MirrorCopy, v mirror.Version, doc mirror.Document) error {
	aside := store.MirrorAside{
		SourceID: r.source.ID, ContractID: copied.ContractID, Version: ours.Version, OriginURL: v.URL,
		Digest: digestOf(doc.Content), Size: int64(len(doc.Content)), Content: append([]byte{}, doc.Content...),
	}
	said := "The source gives other bytes than it did before. They are kept aside; our copy stays as it is."
	err := r.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		all, _, err := tx.MirrorAsides(ctx, store.MirrorAsideFilter{ContractID: aside.ContractID, Version: aside.Version})
		if err != nil {
			return fmt.Errorf("list alarms: %w", err)
		}
		open := 0
		for _, one := range all {
			if one.Digest == aside.Digest {
				said = "The source still gives the other bytes that are kept aside."
				return tx.SeeMirrorAside(ctx, one.ID)
			}
			if one.SettledAt.IsZero() {
				open++
			}
		}
		counts, err := tx.CountMirrorAsides(ctx)
		if err != nil {
			return fmt.Errorf("count alarms: %w", err)
		}
		if open >= mostAsidesOfVersion || counts[r.source.ID] >= mostAsidesOfSource {
			said = "The source gives other bytes once more. They are not kept: settle the alarms that there are first."
			return nil
		}
		return r.raise(ctx, tx, &aside)
	})
	if err != nil {
		return fmt.Errorf("keep other bytes aside: %w", err)
	}
	r.note(MirrorLine{Contract: c.ID, Version: ours.Version, Outcome: MirrorChanged, Copy: copied.ContractID, Text: said})
	return r.mark(ctx, c.ID, ours, v)
}

func (r *mirrorRun) raise(ctx context.Context, tx *store.Tx, aside *store.MirrorAside) error {
	if err := tx.InsertMirrorAside(ctx, aside); err != nil {
		return err
	}
	row, err := tx.Contract(ctx, aside.ContractID)
	if err != nil {
		return err
	}
	o := registry.ObjectOf("contract", row.ID, row.Title+" "+aside.Version, row.OwnerPartnerID)
	if err := registry.Record(ctx, tx, r.actor, registry.ActionCopyDiffers, o, registry.Details{"from": aside.OriginURL, "digest": aside.Digest, "version": aside.Version}); err != nil {
		return err
	}
	return r.cfg.MailAdministrators(ctx, tx, mailOtherBytes(r.cfg, row, *aside))
}

func mailOtherBytes(c registry.Config, row store.Contract, aside store.MirrorAside) registry.Message {
	return c.Letter("Other bytes at the source: "+row.Title+" "+aside.Version, "/admin/mirrors/"+aside.SourceID+"/alarms/"+aside.ID,
		"Version "+aside.Version+" of contract "+row.Title+" was copied from "+aside.OriginURL+". That address gives other bytes for the same version now.",
		"A published version must never change. Our copy stays as it was; the other bytes are kept aside. Compare the two, and ask the source what happened:")
}

// contractGone marks that the source does not offer a contract any more.
func (r *mirrorRun) contractGone(ctx context.Context, copied store.MirrorContract) error {
	if copied.ContractID == "" || !copied.GoneAt.IsZero() {
		return nil
	}
	err := r.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		if err := tx.SetMirrorContractGone(ctx, copied.ContractID, tx.Now); err != nil {
			return err
		}
		return r.recordMark(ctx, tx, copied.ContractID, "", store.MirrorGone, copied.OriginURL)
	})
	if err != nil {
		return fmt.Errorf("mark contract: %w", err)
	}
	r.note(MirrorLine{Contract: copied.OriginID, Outcome: MirrorMarked, Copy: copied.ContractID, Text: "The source does not offer this contract any more, or not to us. Our copy stays."})
	return nil
}

func (r *mirrorRun) contractBack(ctx context.Context, copied store.MirrorContract) error {
	err := r.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		if err := tx.SetMirrorContractGone(ctx, copied.ContractID, store.Time{}); err != nil {
			return err
		}
		return r.recordMark(ctx, tx, copied.ContractID, "", "there again", copied.OriginURL)
	})
	if err != nil {
		return fmt.Errorf("take mark of contract away: %w", err)
	}
	r.note(MirrorLine{Contract: copied.OriginID, Outcome: MirrorMarked, Copy: copied.ContractID, Text: "The source offers this contract again."})
	return nil
}
