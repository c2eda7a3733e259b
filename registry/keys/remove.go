package keys

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"schakel/registry"
	"schakel/store"
)

// ErrKeyNeeded says that a key cannot be removed yet.
var ErrKeyNeeded = errors.New("the key is still needed")

// Removed describes the removal of a key.
type Removed struct {
	KeyID    string
	Sessions int64 // browser sessions that ended, since they held something that the key sealed
	ByHand   bool  // the source is no file: somebody has to take the key out of it
}

// Remove takes a key that was in use, and that no value needs any more, out of the file of keys. Without an id it is the only such key.
func (k *Keys) Remove(ctx context.Context, r Rotation, id string) (Removed, error) {
	s, _, err := readState(ctx, &k.cfg.DB.Queries)
	if err != nil {
		return Removed{}, err
	}
	if id, err = k.removable(s, id); err != nil {
		return Removed{}, err
	}
	if err := k.unneeded(ctx, r, id); err != nil {
		return Removed{}, err
	}
	out := Removed{KeyID: id, ByHand: !k.cfg.Vault.Source().IsFile()}
	err = k.cfg.DB.Write(ctx, func(tx *store.Tx) (err error) {
		// A form or a new factor that waits in a browser session: who began it logs in again.
		if out.Sessions, err = tx.EndSessionsWith(ctx, "v1."+id+"."); err != nil {
			return err
		}
		return registry.Record(ctx, tx, r.Actor, registry.ActionKeyRemoved, keyObject(id), registry.Details{"sessions": out.Sessions})
	})
	if err == nil && !out.ByHand {
		err = k.cfg.Vault.Source().Remove(id)
	}
	return out, registry.Wrap("remove key", err)
}

// removable finds the key to remove.
func (k *Keys) removable(s state, id string) (string, error) {
	v := k.cfg.Vault
	old := slices.DeleteFunc(v.KeyIDs(), func(id string) bool { return !s.was(id) || id == v.ID() })
	switch {
	case s.Sealing:
		return "", fmt.Errorf("%w: a change of the key is not finished; run schakel key rotate", ErrKeyNeeded)
	case id == "" && len(old) == 1:
		return old[0], nil
	case id == "" && len(old) == 0:
		return "", fmt.Errorf("%s holds no key that was in use before", v.Source())
	case id == "":
		return "", fmt.Errorf("%s holds several keys that were in use before: name one of %s", v.Source(), strings.Join(old, ", "))
	case id == v.ID():
		return "", fmt.Errorf("%w: key %s is in use; change it first with schakel key rotate", ErrKeyNeeded, id)
	case !slices.Contains(old, id):
		return "", fmt.Errorf("%s holds no key %s that was in use before; schakel key lists them", v.Source(), id)
	}
	return id, nil
}

// unneeded returns ErrKeyNeeded when a value or a node needs a key.
func (k *Keys) unneeded(ctx context.Context, r Rotation, id string) error {
	all, err := k.List(ctx)
	if err != nil {
		return err
	}
	for _, key := range all {
		if key.ID == id && key.Values > 0 {
			places := []string{}
			for _, p := range key.Places {
				places = append(places, fmt.Sprintf("%s: %d", p.Column, p.Values))
			}
			return fmt.Errorf("%w: key %s seals %d values (%s); run schakel key rotate, or give again the secrets that it names", ErrKeyNeeded, id, key.Values, strings.Join(places, ", "))
		}
	}
	use := k.cfg.Vault.ID()
	if err := k.waitFor(ctx, r, "seal with key "+use, func(n store.NodeKeys) bool { return n.Seals == use }); err != nil {
		return fmt.Errorf("%w: %w", ErrKeyNeeded, err)
	}
	return nil
}
