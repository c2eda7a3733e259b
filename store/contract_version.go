package store

import "context"

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
	w := where{}
	w.add(`id = ?`, v.ID)
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
	w := where{}
	w.add(`status = 'draft'`)
	w.add(`requested_at IS NOT NULL`)
	return w
}

// VersionsRequested lists the drafts whose publication was asked for, the longest waiting first and without their documents,
// with their total count.
func (q *Queries) VersionsRequested(ctx context.Context, p Page) ([]ContractVersion, int, error) {
	var rows []ContractVersion
	total, err := q.page(ctx, &rows, versionColumns, `contract_version`, requested(), `requested_at, id`, p)
	return rows, total, err
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
	w := where{}
	w.add(`contract_id = ?`, contractID)
	w.in(`status`, statuses)
	var rows []ContractVersion
	return rows, q.list(ctx, &rows, `SELECT `+versionColumns+` FROM contract_version`+w.sql()+` ORDER BY sort_key DESC`, w.args...)
}

// LatestVersions finds, per contract, the highest version that is published (deprecated when none is), without its
// document. A pre-release is the latest only when there is nothing else.
func (q *Queries) LatestVersions(ctx context.Context, contractIDs []string) (map[string]ContractVersion, error) {
	latest := make(map[string]ContractVersion, len(contractIDs))
	if len(contractIDs) == 0 {
		return latest, nil
	}
	w := where{}
	w.in(`contract_id`, contractIDs)
	w.add(`status IN ('published', 'deprecated')`)
	var rows []ContractVersion
	err := q.list(ctx, &rows, `SELECT `+versionColumns+` FROM contract_version`+w.sql()+`
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
	var v ContractVersion
	return v, q.get(ctx, &v, `SELECT `+versionColumns+` FROM contract_version WHERE contract_id = ? AND version = ?`, contractID, version)
}

// ContractVersionByID finds one version without its document.
func (q *Queries) ContractVersionByID(ctx context.Context, id string) (ContractVersion, error) {
	var v ContractVersion
	return v, q.get(ctx, &v, `SELECT `+versionColumns+` FROM contract_version WHERE id = ?`, id)
}

// Document reads the document of a version: what was uploaded, or what was made of the zip that was.
func (q *Queries) Document(ctx context.Context, versionID string) ([]byte, error) {
	var b []byte
	return b, q.get(ctx, &b, `SELECT COALESCE(bundle, original) FROM contract_version WHERE id = ?`, versionID)
}

// Original reads what was uploaded as a version, byte for byte.
func (q *Queries) Original(ctx context.Context, versionID string) ([]byte, error) {
	var b []byte
	return b, q.get(ctx, &b, `SELECT original FROM contract_version WHERE id = ?`, versionID)
}
