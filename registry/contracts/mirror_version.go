package contracts

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"schakel/registry"
	"schakel/registry/contracts/contract"
	"schakel/registry/contracts/mirror"
	"schakel/store"
	"schakel/templates/i18n"
)

// version looks at one version at the source. It tells under which number it is known
// here, and whether that is sure: it is not when the source could not be asked.
func (r *mirrorRun) version(ctx context.Context, c mirror.Contract, copied *store.MirrorContract, v mirror.Version) (number string, sure bool, err error) {
	var ours []store.MirrorCopy
	if copied.ContractID != "" {
		if ours, err = r.cfg.DB.MirrorCopies(ctx, copied.ContractID); err != nil {
			return "", false, fmt.Errorf("list copied versions: %w", err)
		}
	}
	known := knownCopy(ours, v)
	if v.Status == mirror.Withdrawn {
		if known.VersionID == "" {
			return "", true, nil // never seen, and now it is too late
		}
		return known.Version, true, r.mark(ctx, c.ID, known, v)
	}
	doc, err := r.reads.Document(ctx, v, r.tag(known, v))
	if errors.Is(err, mirror.ErrGone) && v.Number == "" {
		return "", true, nil
	}
	if err != nil {
		r.note(MirrorLine{Contract: c.ID, Version: shown(v.Number, 60, false), Outcome: MirrorFailed, Copy: copied.ContractID, Text: sourceError(err)})
		return known.Version, known.VersionID != "", ctx.Err()
	}
	if r.bytes += int64(len(doc.Content)); r.bytes > maxRunBytes {
		return "", false, errEnough
	}
	if known.VersionID != "" && (doc.Unchanged || digestOf(doc.Content) == known.Digest) {
		return known.Version, true, r.unchanged(ctx, c, known, v, doc)
	}
	return r.differs(ctx, c, copied, ours, known, v, doc)
}

// knownCopy finds the copy of a version at the source: by its number, or by its address, where the last one counts.
func knownCopy(ours []store.MirrorCopy, v mirror.Version) store.MirrorCopy {
	for _, one := range ours {
		if v.Number != "" && one.OriginVersion == v.Number || v.Number == "" && one.OriginURL == v.URL {
			return one
		}
	}
	return store.MirrorCopy{}
}

// tag returns the ETag to which the source may answer "unchanged"; none when the bytes have to be compared: when somebody asked
// for the run, now and then, and when the source itself names other bytes.
func (r *mirrorRun) tag(known store.MirrorCopy, v mirror.Version) string {
	stale := r.cfg.Now().Sub(known.CheckedAt.Time) >= recheckAfter
	if r.mustAll || stale || v.Digest != "" && v.Digest != known.Digest {
		return ""
	}
	return known.ETag
}

func (r *mirrorRun) unchanged(ctx context.Context, c mirror.Contract, known store.MirrorCopy, v mirror.Version, doc mirror.Document) error {
	r.row.Unchanged++
	if !doc.Unchanged {
		err := r.cfg.DB.Write(ctx, func(tx *store.Tx) error { return tx.CheckMirrorCopy(ctx, known.VersionID, doc.Tag) })
		if err != nil {
			return fmt.Errorf("keep check of copy: %w", err)
		}
	}
	return r.mark(ctx, c.ID, known, v)
}

// differs takes in bytes that are not those of a known copy: a new version, or other
// bytes of one that we have, which never replace it.
func (r *mirrorRun) differs(ctx context.Context, c mirror.Contract, copied *store.MirrorContract, ours []store.MirrorCopy,
	known store.MirrorCopy, v mirror.Version, doc mirror.Document,
) (string, bool, error) {
	number := copyVersion(v.Number)
	read, findings, err := r.contracts.ValidateUpload(ctx, Upload{Content: doc.Content})
	if err != nil {
		return "", false, err
	}
	if v.Number == "" && read != nil {
		number = copyVersion(read.Document.Version)
	}
	same := slices.IndexFunc(ours, func(one store.MirrorCopy) bool { return one.Version == number })
	switch {
	case same >= 0 && ours[same].Digest == digestOf(doc.Content):
		return number, true, r.unchanged(ctx, c, ours[same], v, doc)
	case same >= 0:
		return number, true, r.alarm(ctx, c, *copied, ours[same], v, doc)
	case v.Number != "" && known.VersionID != "":
		return known.Version, true, r.alarm(ctx, c, *copied, known, v, doc)
	}
	refuse := func(text i18n.Message) (string, bool, error) {
		r.note(MirrorLine{Contract: c.ID, Version: shown(number, 60, false), Outcome: MirrorRefused, Copy: copied.ContractID, Text: text})
		return known.Version, known.VersionID != "", nil
	}
	if read == nil || contract.Refused(findings) {
		return refuse(firstFinding(findings))
	}
	if r.copies >= mostMirrorCopies {
		return refuse("contracts.run.most-versions")
	}
	made, err := r.add(ctx, c, copied, v, doc, read, findings, number)
	if refused, ok := errors.AsType[*registry.Error](err); ok {
		return refuse(refusalText(refused))
	}
	if err != nil {
		return "", false, err
	}
	return number, true, r.mark(ctx, c.ID, made, v)
}

// firstFinding returns the first reason for the refusal of a document, with its place.
func firstFinding(findings []contract.Finding) i18n.Message {
	for _, f := range findings {
		if f.Severity != contract.SeverityError {
			continue
		}
		if f.Line > 0 {
			return i18n.M("contracts.run.invalid-line", f.Line, f.Detail)
		}
		return i18n.M("contracts.run.invalid", f.Detail)
	}
	return "contracts.run.unreadable"
}

func refusalText(e *registry.Error) i18n.Message {
	text := e.Message
	for i, field := range slices.Sorted(maps.Keys(e.Fields)) {
		if i == 0 {
			text = e.Fields[field]
		} else {
			text = i18n.M("contracts.run.two", text, e.Fields[field])
		}
	}
	return text
}

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
	said := i18n.Message("contracts.run.other-bytes")
	err := r.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		all, _, err := tx.MirrorAsides(ctx, store.MirrorAsideFilter{ContractID: aside.ContractID, Version: aside.Version})
		if err != nil {
			return fmt.Errorf("list alarms: %w", err)
		}
		open := 0
		for _, one := range all {
			if one.Digest == aside.Digest {
				said = "contracts.run.still-other-bytes"
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
			said = "contracts.run.more-other-bytes"
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
	return c.Letter(i18n.M("contracts.mail.other-bytes", row.Title, aside.Version), "/admin/mirrors/"+aside.SourceID+"/alarms/"+aside.ID,
		i18n.M("contracts.mail.other-bytes-text", aside.Version, row.Title, aside.OriginURL),
		"contracts.mail.other-bytes-next")
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
	r.note(MirrorLine{Contract: copied.OriginID, Outcome: MirrorMarked, Copy: copied.ContractID, Text: "contracts.run.contract-gone"})
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
	r.note(MirrorLine{Contract: copied.OriginID, Outcome: MirrorMarked, Copy: copied.ContractID, Text: "contracts.run.contract-back"})
	return nil
}
