package store

import (
	"context"
	"strings"
)

// ContractVersion is one version of a contract. Original are the bytes as uploaded; once published they never change, nor
// does Bundle, the one document that was made of them when they are a zip.
type ContractVersion struct {
	ID           string `db:"id"`
	ContractID   string `db:"contract_id"`
	Version      string `db:"version"`  // semantic version
	SortKey      string `db:"sort_key"` // orders versions as semver does
	Status       string `db:"status"`
	SpecVersion  string `db:"spec_version"`
	Format       string `db:"format"` // json or yaml
	FileName     string `db:"file_name"`
	InfoTitle    string `db:"info_title"`
	InfoVersion  string `db:"info_version"`
	Original     []byte `db:"original"`
	Size         int64  `db:"size"`
	Digest       string `db:"digest"`   // SHA-256, lower-case hex
	Findings     string `db:"findings"` // JSON array of validation findings
	CreatedAt    Time   `db:"created_at"`
	CreatedBy    string `db:"created_by"`
	PublishedAt  Time   `db:"published_at"`
	PublishedBy  string `db:"published_by"`
	DeprecatedAt Time   `db:"deprecated_at"`
	SunsetAt     Time   `db:"sunset_at"`
	WithdrawnAt  Time   `db:"withdrawn_at"`
	StatusReason string `db:"status_reason"`
	Bundle       []byte `db:"bundle"`        // nil when Original is the document itself
	BundleDigest string `db:"bundle_digest"` // SHA-256 of Bundle, lower-case hex; empty without one
	Files        string `db:"files"`         // JSON array of the files of the zip; empty without one

	RequestedAt   Time   `db:"requested_at"` // when publication of the draft was asked for; unset when it was not
	RequestedBy   string `db:"requested_by"`
	RequestReason string `db:"request_reason"`
}

// DocumentDigest is the SHA-256 of the document, lower-case hex: that of the bundle when the upload is a zip.
func (v ContractVersion) DocumentDigest() string {
	if v.BundleDigest != "" {
		return v.BundleDigest
	}
	return v.Digest
}

// versionColumns are all but the document itself, which can be megabytes.
const versionColumns = `id, contract_id, version, sort_key, status, spec_version, format, file_name, info_title, info_version,
	size, digest, findings, created_at, created_by, published_at, published_by, deprecated_at, sunset_at, withdrawn_at, status_reason,
	bundle_digest, files, requested_at, requested_by, request_reason`

// InsertContractVersion adds a version; a taken version number is ErrConflict.
func (tx *Tx) InsertContractVersion(ctx context.Context, v *ContractVersion) error {
	v.ID, v.CreatedAt = tx.NewID("ctv"), tx.Now
	return tx.insert(ctx, "contract_version", v)
}

// ReplaceDraft writes another document into a version that is still a draft; ErrConflict when it no longer is. Nobody asked
// for the publication of that one.
func (tx *Tx) ReplaceDraft(ctx context.Context, v *ContractVersion) error {
	v.CreatedAt, v.RequestedAt, v.RequestedBy, v.RequestReason = tx.Now, Time{}, "", ""
	err := tx.one(ctx, `UPDATE contract_version SET spec_version = ?, format = ?, file_name = ?, info_title = ?, info_version = ?,
		original = ?, size = ?, digest = ?, findings = ?, created_at = ?, created_by = ?, bundle = ?, bundle_digest = ?, files = ?,
		requested_at = NULL, requested_by = '', request_reason = '' WHERE id = ? AND status = 'draft'`,
		v.SpecVersion, v.Format, v.FileName, v.InfoTitle, v.InfoVersion, v.Original, v.Size, v.Digest, v.Findings, v.CreatedAt, v.CreatedBy,
		v.Bundle, v.BundleDigest, v.Files, v.ID)
	if err == ErrNotFound {
		return ErrConflict
	}
	return err
}

// SetVersionStatus moves a version from one of the states `from` to its new Status with its times; ErrConflict when it
// is in none of them. The document itself cannot be changed this way (guarantee G8).
func (tx *Tx) SetVersionStatus(ctx context.Context, v *ContractVersion, from ...string) error {
	w := whereOf(`id = ?`, v.ID)
	w.in(`status`, from)
	err := tx.one(ctx, `UPDATE contract_version SET status = ?, published_at = ?, published_by = ?, deprecated_at = ?, sunset_at = ?,
		withdrawn_at = ?, status_reason = ?`+w.sql(), append([]any{
		v.Status, v.PublishedAt, v.PublishedBy, v.DeprecatedAt, v.SunsetAt,
		v.WithdrawnAt, v.StatusReason,
	}, w.args...)...)
	if err == ErrNotFound {
		return ErrConflict
	}
	return err
}

// SetPublicationRequest writes down who asked for the publication of a draft, or takes that away; ErrConflict when it is no
// draft any more.
func (tx *Tx) SetPublicationRequest(ctx context.Context, v *ContractVersion) error {
	err := tx.one(ctx, `UPDATE contract_version SET requested_at = ?, requested_by = ?, request_reason = ? WHERE id = ? AND status = 'draft'`,
		v.RequestedAt, v.RequestedBy, v.RequestReason, v.ID)
	if err == ErrNotFound {
		return ErrConflict
	}
	return err
}

// requested selects the drafts whose publication was asked for.
func requested() where {
	w := whereOf(`status = 'draft'`)
	w.add(`requested_at IS NOT NULL`)
	return w
}

// VersionsRequested lists the drafts whose publication was asked for, the longest waiting first and without their documents,
// with their total count.
func (q *Queries) VersionsRequested(ctx context.Context, p Page) ([]ContractVersion, int, error) {
	return pageOf[ContractVersion](ctx, q, versionColumns, `contract_version`, requested(), `requested_at, id`, p)
}

// CountVersionsRequested counts the drafts whose publication was asked for.
func (q *Queries) CountVersionsRequested(ctx context.Context) (int, error) {
	return q.count(ctx, `contract_version`, requested())
}

// DeleteDraft removes a version that was never published.
func (tx *Tx) DeleteDraft(ctx context.Context, id string) error {
	return tx.one(ctx, `DELETE FROM contract_version WHERE id = ? AND status = 'draft'`, id)
}

// ContractVersions lists the versions of a contract without their documents, highest version first.
func (q *Queries) ContractVersions(ctx context.Context, contractID string, statuses ...string) ([]ContractVersion, error) {
	w := whereOf(`contract_id = ?`, contractID)
	w.in(`status`, statuses)
	return listOf[ContractVersion](ctx, q, `SELECT `+versionColumns+` FROM contract_version`+w.sql()+` ORDER BY sort_key DESC`, w.args...)
}

// LatestVersions finds, per contract, the highest version that is published (deprecated when none is), without its
// document. A pre-release is the latest only when there is nothing else.
func (q *Queries) LatestVersions(ctx context.Context, contractIDs []string) (map[string]ContractVersion, error) {
	latest := make(map[string]ContractVersion, len(contractIDs))
	if len(contractIDs) == 0 {
		return latest, nil
	}
	w := whereIn(`contract_id`, contractIDs)
	w.add(`status IN ('published', 'deprecated')`)
	rows, err := listOf[ContractVersion](ctx, q, `SELECT `+versionColumns+` FROM contract_version`+w.sql()+`
		ORDER BY CASE WHEN version LIKE '%-%' THEN 1 ELSE 0 END, CASE status WHEN 'published' THEN 0 ELSE 1 END, sort_key DESC`, w.args...)
	for _, v := range rows {
		if _, seen := latest[v.ContractID]; !seen {
			latest[v.ContractID] = v
		}
	}
	return latest, err
}

// ContractVersion finds one version without its document.
func (q *Queries) ContractVersion(ctx context.Context, contractID, version string) (ContractVersion, error) {
	return getOne[ContractVersion](ctx, q, `SELECT `+versionColumns+` FROM contract_version WHERE contract_id = ? AND version = ?`, contractID, version)
}

// ContractVersionByID finds one version without its document.
func (q *Queries) ContractVersionByID(ctx context.Context, id string) (ContractVersion, error) {
	return getOne[ContractVersion](ctx, q, `SELECT `+versionColumns+` FROM contract_version WHERE id = ?`, id)
}

// Document reads the document of a version: what was uploaded, or what was made of the zip that was.
func (q *Queries) Document(ctx context.Context, versionID string) ([]byte, error) {
	return getOne[[]byte](ctx, q, `SELECT COALESCE(bundle, original) FROM contract_version WHERE id = ?`, versionID)
}

// Original reads what was uploaded as a version, byte for byte.
func (q *Queries) Original(ctx context.Context, versionID string) ([]byte, error) {
	return getOne[[]byte](ctx, q, `SELECT original FROM contract_version WHERE id = ?`, versionID)
}

// EventType is a CloudEvents type as a message of one AsyncAPI contract version defines it.
type EventType struct {
	ID                string `db:"id"`
	Name              string `db:"name"`
	ContractID        string `db:"contract_id"`
	ContractVersionID string `db:"contract_version_id"`
	ContractVersion   string `db:"contract_version"`
	SortKey           string `db:"sort_key"`
	MessageName       string `db:"message_name"`
	Title             string `db:"title"`
	Titles            string `db:"titles"` // in other languages: a JSON object by language, or empty
	Summary           string `db:"summary"`
	Description       string `db:"description"`
	ContentType       string `db:"content_type"`
	DataSchema        string `db:"data_schema"` // JSON Schema of the data, or empty
	DataRequired      bool   `db:"data_required"`
	Example           string `db:"example"` // JSON, or empty
	Status            string `db:"status"`  // that of the contract version
	Visibility        string `db:"visibility"`
	CreatedAt         Time   `db:"created_at"`
}

// ReplaceEventTypes sets the event types a contract version defines.
func (tx *Tx) ReplaceEventTypes(ctx context.Context, versionID string, types []EventType) error {
	if _, err := tx.exec(ctx, `DELETE FROM event_type WHERE contract_version_id = ?`, versionID); err != nil {
		return err
	}
	for i := range types {
		t := &types[i]
		t.ID, t.CreatedAt, t.ContractVersionID = tx.NewID("ety"), tx.Now, versionID
		if err := tx.insert(ctx, "event_type", t); err != nil {
			return err
		}
	}
	return nil
}

// SetEventTypeStatus follows the state of a contract version.
func (tx *Tx) SetEventTypeStatus(ctx context.Context, versionID, status string) error {
	return tx.do(ctx, `UPDATE event_type SET status = ? WHERE contract_version_id = ?`, status, versionID)
}

// EventTypes is the catalogue as a reader may see it, all of it for a nil Sight: every event type once, as its highest
// published (else deprecated) version says, by name.
func (q *Queries) EventTypes(ctx context.Context, sight *Sight) ([]EventType, error) {
	w := whereOf(`status IN ('published', 'deprecated')`)
	sight.eventTypes(&w)
	rows, err := listOf[EventType](ctx, q, `SELECT * FROM event_type`+w.sql()+`
		ORDER BY name, CASE status WHEN 'published' THEN 0 ELSE 1 END, sort_key DESC`, w.args...)
	return firstOfName(rows), err
}

// EventType finds an event type as its highest published (else deprecated) version says.
func (q *Queries) EventType(ctx context.Context, name string) (EventType, error) {
	return getOne[EventType](ctx, q, `SELECT * FROM event_type WHERE name = ? AND status IN ('published', 'deprecated')
		ORDER BY CASE status WHEN 'published' THEN 0 ELSE 1 END, sort_key DESC LIMIT 1`, name)
}

// EventTypeVersions lists the versions in which event types can be used, by name: published ones first, newest first.
func (q *Queries) EventTypeVersions(ctx context.Context, names ...string) ([]EventType, error) {
	if len(names) == 0 {
		return nil, nil
	}
	w := whereIn(`name`, names)
	w.add(`status IN ('published', 'deprecated')`)
	return listOf[EventType](ctx, q, `SELECT * FROM event_type`+w.sql()+`
		ORDER BY name, CASE status WHEN 'published' THEN 0 ELSE 1 END, sort_key DESC`, w.args...)
}

// EventTypesOf lists the event types a contract version defines, by name.
func (q *Queries) EventTypesOf(ctx context.Context, versionID string) ([]EventType, error) {
	return listOf[EventType](ctx, q, `SELECT * FROM event_type WHERE contract_version_id = ? ORDER BY name`, versionID)
}

func firstOfName(rows []EventType) []EventType {
	kept := rows[:0]
	for _, r := range rows {
		if len(kept) == 0 || kept[len(kept)-1].Name != r.Name {
			kept = append(kept, r)
		}
	}
	return kept
}

// VersionLine is the line of compatible versions that a semantic version is in: its major number, or 0 and the minor
// number while the major is 0, such as 1 for 1.4.2 and 0.3 for 0.3.1. It is empty for what is no version.
func VersionLine(version string) string {
	major, rest, _ := strings.Cut(version, ".")
	if major != "0" {
		return major
	}
	minor, _, found := strings.Cut(rest, ".")
	if !found {
		return ""
	}
	return version[:len(major)+1+len(minor)]
}

// FitsLine reports whether an event that fits some versions, given with spaces between, goes to a subscriber to one line of
// them. An event of which the versions are not known goes to all, and who wants no line in particular gets all (EDU-08).
func FitsLine(versions, line string) bool {
	if line == "" || versions == "" {
		return true
	}
	for v := range strings.SplitSeq(versions, " ") {
		if VersionLine(v) == line {
			return true
		}
	}
	return false
}
