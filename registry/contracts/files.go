package contracts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"schakel/registry"
	"schakel/registry/contracts/contract"
	"schakel/store"
)

// IncompleteError says that a version cannot be published while it refers to what
// was not uploaded. It is also an *Error of CodeConflict.
type IncompleteError struct {
	Version string
	// Missing are the references, each with its place.
	Missing []contract.Finding
}

// Error counts what is missing.
func (e *IncompleteError) Error() string {
	return fmt.Sprintf("version %s lacks what %d references lead to", e.Version, len(e.Missing))
}

// Unwrap makes it an *Error for whoever does not show the references.
func (e *IncompleteError) Unwrap() error {
	many := "a reference leads"
	if len(e.Missing) > 1 {
		many = fmt.Sprintf("%d references lead", len(e.Missing))
	}
	return registry.Conflict("Version %s cannot be published: %s to something that was not uploaded. Upload it again as a zip with all its files.", e.Version, many)
}

// complete refuses a version that refers to what was not uploaded.
func complete(v store.ContractVersion) error {
	findings, err := Findings(v)
	if err != nil {
		return err
	}
	if missing := contract.Missing(findings); len(missing) > 0 {
		return &IncompleteError{Version: v.Version, Missing: missing}
	}
	return nil
}

// Files lists what the zip of a version holds; none when its document was uploaded
// by itself.
func Files(v store.ContractVersion) ([]contract.File, error) {
	if v.Files == "" {
		return nil, nil
	}
	var files []contract.File
	if err := json.Unmarshal([]byte(v.Files), &files); err != nil {
		return nil, fmt.Errorf("read files of version %s: %w", v.Version, err)
	}
	return files, nil
}

// Document reads the document of a version: what was uploaded, or the one that was
// made of the files of a zip. Its digest is that of v.DocumentDigest.
func (c *Contracts) Document(ctx context.Context, reader registry.Reader, id, version string) (store.ContractVersion, []byte, error) {
	return c.content(ctx, reader, id, version, c.cfg.DB.Document)
}

// Original reads what was uploaded as a version, byte for byte.
func (c *Contracts) Original(ctx context.Context, reader registry.Reader, id, version string) (store.ContractVersion, []byte, error) {
	return c.content(ctx, reader, id, version, c.cfg.DB.Original)
}

func (c *Contracts) content(ctx context.Context, reader registry.Reader, id, version string, read func(context.Context, string) ([]byte, error)) (store.ContractVersion, []byte, error) {
	v, err := c.Version(ctx, reader, id, version)
	if err != nil {
		return v, nil, err
	}
	content, err := read(ctx, v.ID)
	if errors.Is(err, store.ErrNotFound) {
		return v, nil, registry.NotFound("version")
	}
	return v, content, registry.Wrap("read contract", err)
}

// DeleteDraft removes a version that was never published.
func (c *Contracts) DeleteDraft(ctx context.Context, actor registry.Actor, id, version string) error {
	return c.change(ctx, actor, id, func(tx *store.Tx, row *store.Contract) error {
		v, err := tx.ContractVersion(ctx, id, version)
		if err != nil {
			return registry.Found("version", err)
		}
		if v.Status != store.VersionDraft {
			return registry.Conflict("Version %s is %s; only a draft can be deleted.", v.Version, v.Status)
		}
		if err := refuseCopy(ctx, tx, id); err != nil {
			return err
		}
		if err := tx.DeleteDraft(ctx, v.ID); err != nil {
			return fmt.Errorf("delete draft: %w", err)
		}
		return registry.Record(ctx, tx, actor, registry.ActionContractDraftDeleted, versionObject(*row, v), nil)
	})
}
