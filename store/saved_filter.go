package store

import (
	"context"
	"fmt"
)

// MaxSavedFilters bounds the filters that an account saves of one list.
const MaxSavedFilters = 30

// SavedFilter is a filter of a list that an account saved under a name.
type SavedFilter struct {
	ID        string `db:"id"`
	AccountID string `db:"account_id"`
	List      string `db:"list"` // the path of the list
	Name      string `db:"name"`
	Query     string `db:"query"`  // as it stands in an address
	Preset    bool   `db:"preset"` // the list opens with it, which at most one does
	CreatedAt Time   `db:"created_at"`
}

// SavedFilters lists what an account saved of a list, by name.
func (q *Queries) SavedFilters(ctx context.Context, accountID, list string) ([]SavedFilter, error) {
	return listOf[SavedFilter](ctx, q, `SELECT * FROM saved_filter WHERE account_id = ? AND list = ? ORDER BY LOWER(name), id`, accountID, list)
}

// SavedFilter finds a filter of an account; another's is ErrNotFound.
func (q *Queries) SavedFilter(ctx context.Context, accountID, id string) (SavedFilter, error) {
	return getOne[SavedFilter](ctx, q, `SELECT * FROM saved_filter WHERE account_id = ? AND id = ?`, accountID, id)
}

// SaveFilter saves a filter under its name, in place of one that has it. ErrConflict means that the list has MaxSavedFilters already.
func (tx *Tx) SaveFilter(ctx context.Context, f *SavedFilter) error {
	if err := tx.Lock(ctx, "account", f.AccountID); err != nil {
		return err
	}
	others, err := tx.SavedFilters(ctx, f.AccountID, f.List)
	if err != nil {
		return err
	}
	known := false
	for _, other := range others {
		known = known || other.Name == f.Name
	}
	if !known && len(others) >= MaxSavedFilters {
		return ErrConflict
	}
	if f.Preset {
		if err := tx.PresetFilter(ctx, f.AccountID, f.List, ""); err != nil {
			return err
		}
	}
	f.ID, f.CreatedAt = tx.NewID("svf"), tx.Now
	_, err = tx.exec(ctx, `INSERT INTO saved_filter (id, account_id, list, name, query, preset, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (account_id, list, name) DO UPDATE SET query = excluded.query, preset = excluded.preset`,
		f.ID, f.AccountID, f.List, f.Name, f.Query, f.Preset, f.CreatedAt)
	if err != nil {
		return fmt.Errorf("save filter: %w", err)
	}
	return nil
}

// PresetFilter has a list of an account open with one of its filters; with none when id is empty.
func (tx *Tx) PresetFilter(ctx context.Context, accountID, list, id string) error {
	return tx.do(ctx, `UPDATE saved_filter SET preset = (id = ?) WHERE account_id = ? AND list = ?`, id, accountID, list)
}

// DeleteSavedFilter removes a filter of an account; another's is ErrNotFound.
func (tx *Tx) DeleteSavedFilter(ctx context.Context, accountID, id string) error {
	return tx.one(ctx, `DELETE FROM saved_filter WHERE account_id = ? AND id = ?`, accountID, id)
}
