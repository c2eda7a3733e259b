package contracts

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"schakel/registry"
	"schakel/registry/contracts/contract"
	"schakel/registry/contracts/mirror"
	"schakel/store"
	"schakel/templates/i18n"
)

// add keeps a version that is new. It is published at once when nobody but the own organisation sees the contract; otherwise it
// waits as a draft for a person to publish it, and so does one that refers to what it lacks. copied becomes our copy of the
// contract when there was none.
func (r *mirrorRun) add(ctx context.Context, c mirror.Contract, copied *store.MirrorContract, v mirror.Version, doc mirror.Document,
	read *contract.Upload, findings []contract.Finding, number string,
) (store.MirrorCopy, error) {
	draft, err := draftOf("", Upload{Version: number, FileName: fileNameOf(c.ID, read), Content: doc.Content}, read, findings)
	if err != nil {
		return store.MirrorCopy{}, err
	}
	draft.CreatedBy = r.actor.Name
	made, target := store.MirrorCopy{}, *copied
	var said i18n.Message
	err = r.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		row, err := r.home(ctx, tx, c, &target, read)
		if err != nil {
			return err
		}
		if row.Kind != string(read.Document.Kind) {
			return registry.Conflict("contracts.run.other-kind", string(read.Document.Kind), row.Kind)
		}
		draft.ContractID = row.ID
		if err := tx.InsertContractVersion(ctx, &draft); err != nil {
			return fmt.Errorf("add version: %w", err)
		}
		made = store.MirrorCopy{
			VersionID: draft.ID, ContractID: row.ID, Version: number, SourceID: r.source.ID, OriginVersion: shown(v.Number, 200, false),
			OriginURL: v.URL, Digest: draft.Digest, ETag: doc.Tag, SourceStatus: store.VersionPublished,
		}
		if err := tx.InsertMirrorCopy(ctx, &made); err != nil {
			return fmt.Errorf("add copy: %w", err)
		}
		if said, err = r.publishCopy(ctx, tx, row, &draft); err != nil {
			return err
		}
		return registry.Record(ctx, tx, r.actor, registry.ActionCopyMade, versionObject(row, draft), registry.Details{"from": v.URL, "digest": draft.Digest, "version": number})
	})
	if err != nil {
		return made, err
	}
	*copied = target
	r.copies++
	r.note(MirrorLine{Contract: c.ID, Version: number, Outcome: MirrorNew, Copy: draft.ContractID, Text: said})
	if c.Title == "" { // then its documents have the title
		return made, r.about(ctx, c, copied, read.Document.Title)
	}
	return made, nil
}

func fileNameOf(originID string, read *contract.Upload) string {
	if len(read.Files) > 0 {
		return slugOf(originID) + ".zip"
	}
	return slugOf(originID) + "." + read.Document.Format
}

// publishCopy freezes a version that came from a source, or leaves it for a person.
func (r *mirrorRun) publishCopy(ctx context.Context, tx *store.Tx, row store.Contract, v *store.ContractVersion) (i18n.Message, error) {
	if complete(*v) != nil {
		return "contracts.run.incomplete", nil
	}
	if row.Visibility != store.VisibilityInternal {
		v.RequestedAt, v.RequestedBy, v.RequestReason = tx.Now, r.actor.Name, "contracts.run.new-at-source"
		if err := tx.SetPublicationRequest(ctx, v); err != nil {
			return "", fmt.Errorf("ask for publication: %w", err)
		}
		return "contracts.run.person-publishes", r.cfg.MailAllowed(ctx, tx, registry.PublishContracts, mailPublicationWaits(r.cfg, row, *v))
	}
	v.Status, v.PublishedAt, v.PublishedBy = store.VersionPublished, tx.Now, r.actor.Name
	if err := tx.SetVersionStatus(ctx, v, store.VersionDraft); err != nil {
		return "", fmt.Errorf("publish copy: %w", err)
	}
	return "contracts.run.copied", nil
}

// home finds the contract that a version is a version of, or makes it.
func (r *mirrorRun) home(ctx context.Context, tx *store.Tx, c mirror.Contract, copied *store.MirrorContract, read *contract.Upload) (store.Contract, error) {
	if copied.ContractID != "" {
		row, err := tx.Contract(ctx, copied.ContractID)
		return row, registry.Found("contract", err)
	}
	id, err := r.freeID(ctx, tx, c.ID)
	if err != nil {
		return store.Contract{}, err
	}
	row := store.Contract{
		ID: id, Kind: string(read.Document.Kind), Title: r.title(c, read), Description: shown(c.Description, 4000, true),
		Visibility: store.VisibilityInternal, CreatedBy: r.actor.Name,
	}
	if row.Owner, err = r.owner(ctx, tx, c); err != nil {
		return row, err
	}
	if err := tx.InsertContract(ctx, &row); err != nil {
		return row, fmt.Errorf("add contract: %w", err)
	}
	*copied = store.MirrorContract{
		ContractID: id, SourceID: r.source.ID, OriginID: c.ID, OriginURL: c.URL, OriginTitle: row.Title, OriginDescription: row.Description,
	}
	if err := tx.InsertMirrorContract(ctx, copied); err != nil {
		return row, fmt.Errorf("add origin: %w", err)
	}
	return row, nil
}

// freeID is the id of a new copy: never that of a contract that is there.
func (r *mirrorRun) freeID(ctx context.Context, tx *store.Tx, originID string) (string, error) {
	for _, id := range copyIDs(r.source.Prefix, r.source.ID, originID) {
		_, err := tx.Contract(ctx, id)
		if errors.Is(err, store.ErrNotFound) {
			return id, nil
		}
		if err != nil {
			return "", fmt.Errorf("find contract: %w", err)
		}
	}
	return "", registry.Conflict("contracts.run.ids-taken")
}

func (r *mirrorRun) title(c mirror.Contract, read *contract.Upload) string {
	for _, text := range []string{c.Title, read.Document.Title, c.ID} {
		if text = shown(text, 200, false); registry.CheckLine(text, 2, 200) == "" {
			return text
		}
	}
	return "Copy of " + r.source.Name
}

// owner returns the owner of a contract at its source, or else of the register there.
func (r *mirrorRun) owner(ctx context.Context, tx *store.Tx, c mirror.Contract) (string, error) {
	if text := shown(c.Owner, 200, false); text != "" && registry.CheckLine(text, 1, 200) == "" {
		return text, nil
	}
	if r.source.PartnerID == "" {
		return r.source.Name, nil
	}
	p, err := tx.Partner(ctx, r.source.PartnerID)
	if err != nil {
		return "", fmt.Errorf("find partner: %w", err)
	}
	return p.Name, nil
}

// slugOf writes text in lower-case letters, digits and single hyphens.
func slugOf(text string) string {
	var b strings.Builder
	gap := false
	for _, r := range strings.ToLower(text) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			if gap && b.Len() > 0 {
				b.WriteByte('-')
			}
			b.WriteRune(r)
			gap = false
			continue
		}
		gap = true
	}
	return b.String()
}

func cutSlug(slug string, most int) string {
	return strings.TrimRight(slug[:min(len(slug), most)], "-")
}

// copyIDs are the ids that a copy may get, the first that is free: made of the prefix of the mirror and the id at the source,
// then with a few digits that only this source and id have.
func copyIDs(prefix, sourceID, originID string) []string {
	sum := sha256.Sum256([]byte(sourceID + "\x00" + originID))
	digits := hex.EncodeToString(sum[:4])
	slug := slugOf(originID)
	ids := []string{prefix + "-" + digits}
	if slug != "" {
		ids = []string{prefix + "-" + cutSlug(slug, 48-len(prefix)) + "-" + digits, ids[0]}
		if whole := prefix + "-" + slug; checkContractID(whole) == "" {
			ids = append([]string{whole}, ids...)
		}
	}
	return ids
}

// copyVersion is the semantic version of a number at a source that may count in
// another way: v2 and 2 are 2.0.0, and 2.1 is 2.1.0.
func copyVersion(number string) string {
	number = strings.TrimSpace(number)
	bare := strings.TrimPrefix(number, "v")
	for _, v := range []string{bare, bare + ".0", bare + ".0.0"} {
		if registry.CheckVersion(v) == "" && (v == bare || !strings.ContainsAny(bare, "-+")) {
			return v
		}
	}
	return number
}

// fitsPattern reports whether an id fits a pattern in which * stands for anything.
func fitsPattern(pattern, id string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == id
	}
	rest, ok := strings.CutPrefix(id, parts[0])
	if !ok {
		return false
	}
	last := parts[len(parts)-1]
	for _, part := range parts[1 : len(parts)-1] {
		at := strings.Index(rest, part)
		if at < 0 {
			return false
		}
		rest = rest[at+len(part):]
	}
	return strings.HasSuffix(rest, last)
}

// wanted reports whether any of the patterns fits; no patterns fit all.
func wanted(patterns []string, id string) bool {
	return len(patterns) == 0 || slices.ContainsFunc(patterns, func(p string) bool { return fitsPattern(p, id) })
}

// shown is text of a stranger as a field of ours: one line, or several when lines is set, of at most so many characters.
func shown(text string, most int, lines bool) string {
	if !lines {
		text = strings.Join(strings.Fields(text), " ")
	}
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most-1]) + "…"
	}
	return storable(text)
}
