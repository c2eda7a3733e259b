package keys

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"schakel/registry"
	"schakel/registry/sorted"
	"schakel/store"
)

// stateSetting holds the state, as JSON.
const stateSetting = "vault_keys"

// state records the progress of a change of the key. It holds no secret.
type state struct {
	Next    string   `json:"next,omitempty"`    // the id of the key that is to come into use
	Before  []before `json:"before,omitempty"`  // those that were in use, oldest first
	Sealing bool     `json:"sealing,omitempty"` // values are being sealed anew
}

// before is a key that was in use.
type before struct {
	ID    string    `json:"id"`
	Until time.Time `json:"until"`
}

func (s state) was(id string) bool {
	return slices.ContainsFunc(s.Before, func(b before) bool { return b.ID == id })
}

func readState(ctx context.Context, q *store.Queries) (s state, stored string, err error) {
	if stored, err = q.Setting(ctx, stateSetting); err != nil || stored == "" {
		return s, stored, registry.Wrap("read state of the keys", err)
	}
	return s, stored, registry.Wrap("read state of the keys", json.Unmarshal([]byte(stored), &s))
}

func writeState(ctx context.Context, tx *store.Tx, stored string, s state) error {
	text, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("write state of the keys: %w", err)
	}
	return tx.SwapSetting(ctx, stateSetting, stored, string(text))
}

// Keys looks after the keys of the vault.
type Keys struct {
	cfg     registry.Config
	columns []registry.SealedColumn
}

// New makes the service for the columns that the vault seals.
func New(cfg registry.Config, columns []registry.SealedColumn) *Keys {
	return &Keys{cfg: cfg, columns: columns}
}

// Key is a key, and what it seals.
type Key struct {
	ID     string
	InUse  bool
	There  bool      // it can open what it sealed
	Until  time.Time // when it ceased to be in use; zero for a key that never was, or is
	Values int64
	Places []Place
}

// Place counts values of one column.
type Place struct {
	Column string // TABLE.COLUMN
	Values int64
}

// List lists the keys that are in the source or seal a value, the one in use first. Values that are not sealed come last, under no id.
func (k *Keys) List(ctx context.Context) ([]Key, error) {
	s, _, err := readState(ctx, &k.cfg.DB.Queries)
	if err != nil {
		return nil, err
	}
	var all []Key
	of := func(id string) *Key {
		for i := range all {
			if all[i].ID == id {
				return &all[i]
			}
		}
		all = append(all, Key{ID: id})
		return &all[len(all)-1]
	}
	of(k.cfg.Vault.ID()).InUse = true
	for _, id := range k.cfg.Vault.KeyIDs() {
		of(id).There = true
	}
	for _, c := range k.columns {
		counts, err := k.count(ctx, c)
		if err != nil {
			return nil, err
		}
		for _, n := range counts {
			key := of(n.KeyID)
			key.Values += n.Values
			key.Places = append(key.Places, Place{c.Table + "." + c.Column, n.Values})
		}
	}
	for _, b := range s.Before {
		for i := range all {
			if all[i].ID == b.ID {
				all[i].Until = b.Until
			}
		}
	}
	sorted.Stable(all, func(a, b Key) int { return rank(a) - rank(b) })
	return all, nil
}

func rank(k Key) int {
	switch {
	case k.InUse:
		return 0
	case k.ID == "":
		return 2
	}
	return 1
}

// sealedText matches a text that the vault sealed; the group matches the id of the key.
var sealedText = regexp.MustCompile(`v1\.([0-9a-f]{8})\.[A-Za-z0-9_-]+`)

// listed bounds the rows that are read, and written, at once.
const listed = 200

// count counts the values of a column by their keys.
func (k *Keys) count(ctx context.Context, c registry.SealedColumn) ([]store.SealedCount, error) {
	if !c.Within {
		counts, err := k.cfg.DB.SealedCounts(ctx, query(c))
		return slices.DeleteFunc(counts, func(n store.SealedCount) bool { return n.KeyID == "" && !c.Old }), err
	}
	by := map[string]int64{}
	for after := ""; ; {
		rows, err := k.cfg.DB.SealedRows(ctx, query(c), "", after, listed)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			for _, found := range sealedText.FindAllSubmatch(row.Value, -1) {
				by[string(found[1])]++
			}
			after = row.Key
		}
		if len(rows) < listed {
			break
		}
	}
	var counts []store.SealedCount
	for id, n := range by {
		counts = append(counts, store.SealedCount{KeyID: id, Values: n})
	}
	sorted.By(counts, func(a, b store.SealedCount) int { return strings.Compare(a.KeyID, b.KeyID) })
	return counts, nil
}

func query(c registry.SealedColumn) store.SealedQuery {
	return store.SealedQuery{
		Table: c.Table, Column: c.Column, Key: c.KeyColumn(), Of: c.OfColumn(), Bytes: c.Bytes, Within: c.Within, Old: c.Old,
	}
}
