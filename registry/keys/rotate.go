package keys

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"schakel/registry"
	"schakel/store"
)

// aliveFor bounds the silence of a node that is watched. Nodes write more often: see Node.
const aliveFor = 40 * time.Second

// mostPasses bounds how often the values that are not sealed anew yet are looked for.
const mostPasses = 20

// Errors of a change of the key.
var (
	ErrNoNewKey = errors.New("there is no new key to change to")
	ErrNodes    = errors.New("not every node follows")
)

// Rotation changes the key.
type Rotation struct {
	Actor registry.Actor
	Wait  time.Duration                                   // how long it waits for the nodes at each step
	Pause func(ctx context.Context, d time.Duration) bool // waits, and reports whether the context goes on
	Tell  func(text string)                               // told what happens
}

// Result describes a change of the key.
type Result struct {
	KeyID    string // in use now
	Sealed   int64  // values that were sealed anew
	Unopened []Unopened
}

// Rotate brings a new key into use and seals every value with it. It goes on where another one was killed.
func (k *Keys) Rotate(ctx context.Context, r Rotation) (Result, error) {
	s, _, err := readState(ctx, &k.cfg.DB.Queries)
	if err == nil {
		err = k.cfg.Vault.Reload(ctx)
	}
	if err != nil {
		return Result{}, err
	}
	if s.Sealing {
		r.Tell("going on with the change to key " + k.cfg.Vault.ID())
	} else if err := k.change(ctx, r, s); err != nil {
		return Result{}, err
	}
	return k.finish(ctx, r)
}

// change brings a new key into use.
func (k *Keys) change(ctx context.Context, r Rotation, s state) error {
	next, err := k.next(ctx, s, r.Tell)
	if err != nil {
		return err
	}
	err = k.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		s, stored, err := readState(ctx, &tx.Queries)
		if err != nil || s.Next == next {
			return err
		}
		s.Next = next
		return writeState(ctx, tx, stored, s)
	})
	if err != nil {
		return registry.Wrap("announce key", err)
	}
	err = k.waitFor(ctx, r, "have key "+next, func(n store.NodeKeys) bool { return slices.Contains(strings.Fields(n.Keys), next) })
	if err != nil {
		return fmt.Errorf("key %s is not in use yet: %w. Put the key where each node reads its keys, and run this again", next, err)
	}
	from := k.cfg.Vault.ID()
	err = k.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		s, stored, err := readState(ctx, &tx.Queries)
		if err != nil {
			return err
		}
		if s.Next != next || s.Sealing {
			return errors.New("somebody else changes the key at the same time")
		}
		s.Next, s.Sealing = "", true
		s.Before = append(s.Before, before{from, tx.Now.UTC()})
		err = errors.Join(k.cfg.Vault.Use(ctx, tx, next), writeState(ctx, tx, stored, s))
		return errors.Join(err, registry.Record(ctx, tx, r.Actor, registry.ActionKeyChanged, keyObject(next), registry.Details{"before": from}))
	})
	if err != nil {
		return registry.Wrap("bring key into use", err)
	}
	r.Tell("key " + next + " is in use")
	_, err = k.cfg.Vault.Follow(ctx, k.cfg.DB)
	return err
}

func keyObject(id string) registry.Object { return registry.ObjectOf("key", id, id, "") }

// next chooses the key that is to come into use: one in the source that never was, or a new one that is added to the file.
func (k *Keys) next(ctx context.Context, s state, tell func(string)) (string, error) {
	v := k.cfg.Vault
	unused := func() []string {
		return slices.DeleteFunc(v.KeyIDs(), func(id string) bool { return id == v.ID() || s.was(id) })
	}
	found := unused()
	if len(found) == 0 && v.Source().IsFile() {
		if err := v.Source().Add(registry.NewKey()); err != nil {
			return "", err
		}
		if err := v.Reload(ctx); err != nil {
			return "", err
		}
		if found = unused(); len(found) == 1 {
			tell("made key " + found[0] + " and added it to " + v.Source().String())
		}
	}
	switch len(found) {
	case 0:
		return "", fmt.Errorf("%w: make one with schakel key new, and let %s give it beside key %s", ErrNoNewKey, v.Source(), v.ID())
	case 1:
		return found[0], nil
	}
	return "", fmt.Errorf("%s holds several new keys: %s; keep one of them beside key %s", v.Source(), strings.Join(found, ", "), v.ID())
}

// finish seals every value with the key in use, once every node seals with it.
func (k *Keys) finish(ctx context.Context, r Rotation) (Result, error) {
	id := k.cfg.Vault.ID()
	if err := k.waitFor(ctx, r, "seal with key "+id, func(n store.NodeKeys) bool { return n.Seals == id }); err != nil {
		return Result{}, fmt.Errorf("values are not sealed anew yet: %w. Run this again", err)
	}
	result := Result{KeyID: id}
	for pass := 1; ; pass++ { // until nothing is left: a transaction that read a value before may write it back
		done, unopened, err := k.sealAnew(ctx)
		result.Sealed, result.Unopened = result.Sealed+done, unopened
		if err != nil {
			return result, err
		}
		if done == 0 {
			break
		}
		r.Tell(fmt.Sprintf("sealed %d values with key %s", done, id))
		if pass == mostPasses {
			return result, fmt.Errorf("%w: something goes on sealing with another key than %s; stop what runs with an old key, and run this again", ErrNodes, id)
		}
	}
	err := k.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		s, stored, err := readState(ctx, &tx.Queries)
		if err != nil || !s.Sealing {
			return err
		}
		s.Sealing = false
		return errors.Join(writeState(ctx, tx, stored, s),
			registry.Record(ctx, tx, r.Actor, registry.ActionKeySealed, keyObject(id), registry.Details{"values": result.Sealed, "unopened": len(result.Unopened)}))
	})
	return result, registry.Wrap("finish the change of the key", err)
}

// waitFor waits until every node that lives does something.
func (k *Keys) waitFor(ctx context.Context, r Rotation, what string, does func(store.NodeKeys) bool) error {
	until, told, watched := k.cfg.Now().Add(r.Wait), "", watch{}
	for {
		missing, err := k.missing(ctx, watched, does)
		if err != nil || len(missing) == 0 {
			return err
		}
		if k.cfg.Now().After(until) {
			return fmt.Errorf("%w: these do not %s: %s", ErrNodes, what, strings.Join(missing, ", "))
		}
		if now := strings.Join(missing, ", "); now != told {
			told = now
			r.Tell("waiting until these nodes " + what + ": " + now)
		}
		if !r.Pause(ctx, time.Second/4) {
			return ctx.Err()
		}
	}
}

// watch holds what nodes said last, and since when. A node whose words do not change for aliveFor is dead: only what was seen counts, since
// the clocks of machines differ.
type watch map[string]said

type said struct {
	words string
	since time.Time
}

func (w watch) alive(name, words string, now time.Time) bool {
	if last, ok := w[name]; !ok || last.words != words {
		w[name] = said{words, now}
	}
	return now.Sub(w[name].since) < aliveFor
}

// forgotten is the age of the words of a node that nobody waits for.
const forgotten = 24 * time.Hour

// missing names the nodes that live, as far as is known, and do not do something.
func (k *Keys) missing(ctx context.Context, w watch, does func(store.NodeKeys) bool) (names []string, err error) {
	now := k.cfg.Now()
	keys, err := k.cfg.DB.NodeKeys(ctx, store.At(now.Add(-forgotten)))
	if err != nil {
		return nil, registry.Wrap("read the keys of the nodes", err)
	}
	told := map[string]bool{}
	for _, n := range keys {
		told[n.Node] = true
		if w.alive(n.Node, n.SeenAt.String(), now) && !does(n) {
			names = append(names, n.Node)
		}
	}
	nodes, err := k.cfg.DB.Nodes(ctx)
	for _, n := range nodes {
		if !told[n.ID] && now.Sub(n.SeenAt.Time) < forgotten && w.alive(n.ID, strconv.FormatInt(n.Beats, 10), now) {
			names = append(names, n.ID+" (it does not tell which keys it has: its version may be older)")
		}
	}
	return names, registry.Wrap("list nodes", err)
}
