package audit

import (
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"fmt"
	"time"

	"schakel/registry"
	"schakel/store"
)

// Report is the result of a walk along the chain.
type Report struct {
	Chain         string
	First, Last   int64 // places of the entries that were checked; 0 without any
	From, Until   time.Time
	Pruned        int64 // entries that retention removed before First, as a signed checkpoint says
	Adopted       int   // batches of entries that got their place after they were written
	Checkpoints   int   // signed ones that fit, of those in the database
	Elsewhere     int   // and of those that were given
	Past          int   // given ones of entries that retention removed since
	Key           string
	KeyOfVault    bool   // the vault opened the key that signed
	Broken        string // the first thing that is wrong; empty when nothing is
	BrokenAt      int64
	NewestAtPlace time.Time // when the newest checkpoint was signed
}

// walk is a verification under way.
type walk struct {
	db     *store.DB
	head   store.AuditHead
	points map[int64][]point
	report Report
}

// point is a checkpoint that the chain must pass.
type point struct {
	Checkpoint
	elsewhere bool
}

// walkAtOnce bounds the entries read at a time.
const walkAtOnce = 1000

// Verify walks the chain from its first entry to the one that is its head when it begins. given are checkpoints that were kept
// elsewhere. Without a vault the signatures are checked by the public key in the database, which the report says.
func Verify(ctx context.Context, db *store.DB, vault *registry.Vault, given []Checkpoint) (Report, error) {
	for {
		w := &walk{db: db, points: make(map[int64][]point)}
		err := w.whole(ctx, vault, given)
		if err == nil && w.report.Broken != "" {
			// Retention may have removed entries under the walk.
			now, headErr := db.AuditHead(ctx)
			if headErr == nil && now.FloorSeq > w.head.FloorSeq {
				continue
			}
			err = headErr
		}
		return w.report, registry.Wrap("check the audit trail", err)
	}
}

func (w *walk) whole(ctx context.Context, vault *registry.Vault, given []Checkpoint) error {
	err := w.start(ctx, vault, given)
	if err == nil && w.report.Broken == "" {
		err = w.entries(ctx)
	}
	if err == nil && w.report.Broken == "" {
		err = w.end(ctx)
	}
	return err
}

func (w *walk) broken(seq int64, format string, args ...any) {
	if w.report.Broken == "" {
		w.report.Broken, w.report.BrokenAt = fmt.Sprintf(format, args...), seq
	}
}

// start reads the head and the checkpoints.
func (w *walk) start(ctx context.Context, vault *registry.Vault, given []Checkpoint) (err error) {
	stored, err := w.db.AuditCheckpoints(ctx) // first: the chain has reached all of them
	if err != nil {
		return err
	}
	if w.head, err = w.db.AuditHead(ctx); err != nil {
		return err
	}
	w.report.Chain, w.report.Pruned = w.head.Chain, w.head.FloorSeq
	if w.report.Key, w.report.KeyOfVault, err = publicKey(ctx, w.db, vault); err != nil {
		w.broken(0, "the key that signs checkpoints cannot be used: %v", err)
		return nil
	}
	for _, s := range stored {
		p, err := ReadCheckpoint([]byte(s.Text))
		if err != nil {
			w.broken(s.Seq, "the checkpoint at entry %d in the database is not sound: %v", s.Seq, err)
			return nil
		}
		if p.Seq != s.Seq || p.Kind != s.Kind {
			w.broken(s.Seq, "the checkpoint at entry %d in the database was signed for another place, %d", s.Seq, p.Seq)
			return nil
		}
		w.expect(point{Checkpoint: p})
	}
	for _, p := range given {
		w.expect(point{p, true})
	}
	if w.head.FloorSeq > 0 && !w.proved() {
		w.broken(w.head.FloorSeq+1, "entries up to %d are not there, and no signed checkpoint says that retention removed them", w.head.FloorSeq)
	}
	return nil
}

// expect adds a checkpoint that the chain must pass.
func (w *walk) expect(p point) {
	switch key := hex.EncodeToString(p.Key); {
	case key != w.report.Key:
		w.broken(p.Seq, "the checkpoint at entry %d was signed with key %s, and this installation signs with %s", p.Seq, short(key), short(w.report.Key))
	case p.Chain != w.head.Chain:
		w.broken(p.Seq, "the checkpoint at entry %d is of chain %s, and this is %s", p.Seq, p.Chain, w.head.Chain)
	case p.Seq > w.head.Seq:
		w.broken(w.head.Seq+1, "entries %d to %d were removed: a checkpoint of %s has them, and the chain ends at %d",
			w.head.Seq+1, p.Seq, p.At.UTC().Format(time.RFC3339), w.head.Seq)
	}
	if p.Seq == w.head.FloorSeq && p.Hash != w.head.FloorHash {
		w.broken(p.Seq, "entry %d, the last that retention removed, is not the one that was signed at %s", p.Seq, p.At.UTC().Format(time.RFC3339))
	}
	if p.elsewhere && p.Seq < w.head.FloorSeq {
		w.report.Past++
	}
	w.points[p.Seq] = append(w.points[p.Seq], p)
	if p.Kind == store.CheckpointOfHead && p.At.After(w.report.NewestAtPlace) {
		w.report.NewestAtPlace = p.At
	}
}

// proved reports whether a signed checkpoint says that retention removed the entries before the first.
func (w *walk) proved() bool {
	for _, p := range w.points[w.head.FloorSeq] {
		if p.Kind == store.CheckpointOfPruned && p.Hash == w.head.FloorHash {
			return true
		}
	}
	return false
}

// entries walks the chain.
func (w *walk) entries(ctx context.Context) error {
	seq, hash := w.head.FloorSeq, w.head.FloorHash
	for seq < w.head.Seq && w.report.Broken == "" {
		rows, err := w.db.AuditsAfter(ctx, seq, walkAtOnce)
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			break
		}
		for _, a := range rows {
			if a.Seq > w.head.Seq {
				return nil // written after the walk began
			}
			if w.entry(a, seq, hash); w.report.Broken != "" {
				return nil
			}
			seq, hash = a.Seq, a.Hash
		}
	}
	switch {
	case seq < w.head.Seq:
		w.broken(seq+1, "entries %d to %d were removed from the end", seq+1, w.head.Seq)
	case hash != w.head.Hash:
		w.broken(seq, "the head of the chain has another hash than its last entry %d", seq)
	}
	return nil
}

// entry checks one entry behind another.
func (w *walk) entry(a store.Audit, seq int64, hash string) {
	name := fmt.Sprintf("entry %d (%s, %s, %s)", a.Seq, a.ID, a.Action, a.At.UTC().Format(time.RFC3339))
	sound := a.Hash == store.AuditHash(a.PrevHash, a)
	switch {
	case a.Seq == seq+2:
		w.broken(seq+1, "entry %d was removed: after %d comes %s", seq+1, seq, name)
	case a.Seq != seq+1:
		w.broken(seq+1, "entries %d to %d were removed: after %d comes %s", seq+1, a.Seq-1, seq, name)
	case a.PrevHash != hash && sound:
		w.broken(a.Seq, "%s does not follow the entry before it: it was inserted, or the one before it was replaced", name)
	case a.PrevHash != hash:
		w.broken(a.Seq, "%s is not in its place: it was moved or inserted", name)
	case !sound:
		w.broken(a.Seq, "%s was changed", name)
	}
	for _, p := range w.points[a.Seq] {
		if p.Hash != a.Hash {
			w.broken(a.Seq, "%s is not the one that was signed at %s: the chain was written again, here or before", name, p.At.UTC().Format(time.RFC3339))
		}
		if p.elsewhere {
			w.report.Elsewhere++
		} else {
			w.report.Checkpoints++
		}
	}
	if w.report.First == 0 {
		w.report.First, w.report.From = a.Seq, a.At.Time
	}
	w.report.Last, w.report.Until = a.Seq, a.At.Time
	if a.Action == store.AuditAdopted {
		w.report.Adopted++
	}
}

// end looks for entries beside the chain.
func (w *walk) end(ctx context.Context) error {
	beside, err := w.db.UnchainedAudits(ctx, 1)
	if err != nil || len(beside) == 0 {
		return err
	}
	a := beside[0]
	w.broken(0, "entry %s (%s, %s) has no place in the chain: it was inserted by other means than Schakel, or by an older version that still runs",
		a.ID, a.Action, a.At.UTC().Format(time.RFC3339))
	return nil
}

// publicKey reads the key that checkpoints are signed with. The vault proves that nobody put another in its place.
func publicKey(ctx context.Context, db *store.DB, vault *registry.Vault) (key string, ofVault bool, err error) {
	if key, err = db.Setting(ctx, publicSetting); err != nil || key == "" || vault == nil {
		return key, false, err
	}
	sealed, err := db.Setting(ctx, keySetting)
	if err != nil {
		return key, false, err
	}
	signer, err := vault.OpenKey(keySetting, sealed)
	if err != nil {
		return key, false, err
	}
	if public, ok := signer.Public().(ed25519.PublicKey); !ok || hex.EncodeToString(public) != key {
		return key, false, fmt.Errorf("the public key in the database is not that of the private key")
	}
	return key, true, nil
}

// short is the begin of a key, as people compare it.
func short(key string) string {
	if len(key) > 16 {
		return key[:16]
	}
	if key == "" {
		return "(none)"
	}
	return key
}
