package keys

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"schakel/registry"
	"schakel/store"
)

// LookEvery sets the time between the looks of a node for a change of the key.
const LookEvery = 2 * time.Second

// A node repeats the names of its keys, and asks its source again for one that it lacks, after these times.
const (
	tellEvery   = 10 * time.Second
	reloadEvery = 10 * time.Second
)

// Node lets a node follow changes of the key. It is not safe for concurrent use.
type Node struct {
	keys     *Keys
	id       string
	told     store.NodeKeys
	toldAt   time.Time
	reloaded time.Time
}

// Node makes what lets a node follow.
func (k *Keys) Node(id string) *Node { return &Node{keys: k, id: id} }

// Look follows what the database says: it brings another key into use, reads the keys again for one that is announced, and tells which there
// are. A key that cannot be had is an error; the node goes on with those that it has.
func (n *Node) Look(ctx context.Context) error {
	cfg := n.keys.cfg
	s, _, err := readState(ctx, &cfg.DB.Queries)
	if err != nil {
		return err
	}
	now := cfg.Now()
	if s.Next != "" && !slices.Contains(cfg.Vault.KeyIDs(), s.Next) && n.mayReload(now) {
		err = cfg.Vault.Reload(ctx)
	}
	_, followed := cfg.Vault.Follow(ctx, cfg.DB)
	if errors.Is(followed, registry.ErrWrongKey) && n.mayReload(now) {
		if followed = cfg.Vault.Reload(ctx); followed == nil {
			_, followed = cfg.Vault.Follow(ctx, cfg.DB)
		}
	}
	return errors.Join(err, followed, n.tell(ctx, now))
}

func (n *Node) mayReload(now time.Time) bool {
	if !n.reloaded.IsZero() && now.Sub(n.reloaded) < reloadEvery {
		return false
	}
	n.reloaded = now
	return true
}

func (n *Node) tell(ctx context.Context, now time.Time) error {
	v := n.keys.cfg.Vault
	is := store.NodeKeys{Node: n.id, Keys: strings.Join(v.KeyIDs(), " "), Seals: v.ID()}
	if is == n.told && now.Sub(n.toldAt) < tellEvery {
		return nil
	}
	err := n.keys.cfg.DB.Write(ctx, func(tx *store.Tx) error { return tx.SaveNodeKeys(ctx, is) })
	if err == nil {
		n.told, n.toldAt = is, now
	}
	return registry.Wrap("tell which keys this node has", err)
}

// End forgets the node, which stops, and those that died.
func (n *Node) End(ctx context.Context) error {
	cfg := n.keys.cfg
	return registry.Wrap("end keys of this node", cfg.DB.Write(ctx, func(tx *store.Tx) error {
		return tx.EndNodeKeys(ctx, n.id, store.At(tx.Now.Add(-24*time.Hour)))
	}))
}
