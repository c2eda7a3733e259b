package contracts

import (
	"context"
	"fmt"
	"time"

	"schakel/registry"
	"schakel/registry/contracts/contract"
	"schakel/registry/contracts/outline"
	"schakel/store"
)

// readingTime bounds how long a search waits for versions that were not read for their parts before. What remains is read by the
// next ones.
const readingTime = 300 * time.Millisecond

// FindParts finds operations, channels, messages and schemas that hold all words, in the latest version of each contract that the
// reader may see: up to most, the best matches first. The parts of a version are stored when it is searched for the first time,
// because its document takes long to read; complete is false while some are not.
func (c *Contracts) FindParts(ctx context.Context, reader registry.Reader, words []string, most int) (found []store.FoundPart, complete bool, err error) {
	if complete, err = c.readParts(ctx); err != nil {
		return nil, false, err
	}
	found, err = c.cfg.DB.FindContractParts(ctx, reader.Sight(), words, most)
	return found, complete, registry.Wrap("find parts of contracts", err)
}

// readParts stores the parts of versions that were not read yet, and reports whether none is left.
func (c *Contracts) readParts(ctx context.Context) (complete bool, err error) {
	const atOnce = 50
	until := c.cfg.Now().Add(readingTime)
	rows, err := c.cfg.DB.VersionsWithoutParts(ctx, atOnce)
	if err != nil {
		return false, fmt.Errorf("list contract versions to read: %w", err)
	}
	for i, v := range rows {
		if i > 0 && c.cfg.Now().After(until) {
			return false, nil
		}
		parts, err := c.partsOf(ctx, v)
		if err == nil {
			err = c.cfg.DB.Write(ctx, func(tx *store.Tx) error { return tx.SetContractParts(ctx, v.ID, parts) })
		}
		if err != nil {
			return false, fmt.Errorf("read parts of %s %s: %w", v.ContractID, v.Version, err)
		}
	}
	return len(rows) < atOnce, nil
}

func (c *Contracts) partsOf(ctx context.Context, v store.ContractVersion) ([]store.ContractPart, error) {
	content, err := c.cfg.DB.Document(ctx, v.ID)
	if err != nil {
		return nil, err
	}
	leave, err := c.turns.take(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	doc, _, err := contract.Parse(content, contract.Limits{})
	if err != nil || doc == nil {
		return nil, nil // what cannot be read has no parts, and must not end every search
	}
	entries := outline.Of(doc, len(content)).Entries
	parts := make([]store.ContractPart, len(entries))
	for i, e := range entries {
		parts[i] = store.ContractPart{Kind: e.Kind, Name: storable(e.Name), Summary: storable(e.Summary), Anchor: storable(e.Anchor), Words: storable(e.Method + " " + e.Path)}
	}
	return parts, nil
}
