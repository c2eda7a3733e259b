package audit_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"schakel/registry"
	"schakel/registry/audit"
	"schakel/store"
	"schakel/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// trail is a database with ten entries, of which the first five have a checkpoint behind them in the database and the first eight one elsewhere.
type trail struct {
	db        *store.DB
	vault     *registry.Vault
	chain     *audit.Chain
	elsewhere audit.Checkpoint
}

func newTrail(t *testing.T) trail {
	t.Helper()
	vault, err := registry.VaultFromKey(bytes.Repeat([]byte{7}, 32))
	if err != nil {
		t.Fatal(err)
	}
	w := trail{db: storetest.SQLite(t), vault: vault}
	w.chain = audit.New(registry.Config{DB: w.db, Now: time.Now, Vault: vault})
	w.add(t, 5)
	if text, err := w.chain.SignNew(t.Context()); err != nil || text == "" {
		t.Fatal(text, err)
	}
	if text, err := w.chain.SignNew(t.Context()); err != nil || text != "" {
		t.Fatal("signed the same again", text, err)
	}
	w.add(t, 3)
	text, err := w.chain.Sign(t.Context())
	if err == nil {
		w.elsewhere, err = audit.ReadCheckpoint([]byte(strings.ReplaceAll(text, "\n", "\r\n"))) // as mail carries it
	}
	if err != nil {
		t.Fatal(err)
	}
	w.exec(t, `DELETE FROM audit_checkpoint WHERE seq = 8`)
	w.add(t, 2)
	return w
}

func (w trail) add(t *testing.T, n int) {
	t.Helper()
	for range n {
		if err := w.db.Write(t.Context(), func(tx *store.Tx) error {
			return tx.InsertAudit(t.Context(), store.Audit{ActorKind: "account", ActorName: "Anna", Action: "partner.approved", ObjectID: tx.NewID("ptn"), Detail: `{"reason":"ok"}`})
		}); err != nil {
			t.Fatal(err)
		}
	}
}

func (w trail) exec(t *testing.T, query string, args ...any) {
	t.Helper()
	_, pool := w.db.Pools()
	if _, err := pool.ExecContext(t.Context(), query, args...); err != nil {
		t.Fatal(err)
	}
}

// rewrite computes the whole chain again, as who can write to the database and has no key could.
func (w trail) rewrite(t *testing.T) {
	t.Helper()
	rows, err := w.db.AuditsAfter(t.Context(), 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	prev := ""
	for i, a := range rows {
		a.Seq, a.PrevHash = int64(i+1), prev
		prev = store.AuditHash(prev, a)
		w.exec(t, `UPDATE audit SET seq = ?, prev_hash = ?, hash = ? WHERE id = ?`, a.Seq, a.PrevHash, prev, a.ID)
		w.exec(t, `UPDATE audit_head SET seq = ?, hash = ?`, a.Seq, prev)
	}
}

func TestVerify(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		tamper func(t *testing.T, w trail)
		at     int64 // the entry that is named
		want   string
	}{
		"nothing":           {func(*testing.T, trail) {}, 0, ""},
		"changed detail":    {func(t *testing.T, w trail) { w.exec(t, `UPDATE audit SET detail = '{}' WHERE seq = 4`) }, 4, "was changed"},
		"changed time":      {func(t *testing.T, w trail) { w.exec(t, `UPDATE audit SET at = at + 1 WHERE seq = 9`) }, 9, "was changed"},
		"changed address":   {func(t *testing.T, w trail) { w.exec(t, `UPDATE audit SET address = '::1' WHERE seq = 1`) }, 1, "was changed"},
		"removed":           {func(t *testing.T, w trail) { w.exec(t, `DELETE FROM audit WHERE seq = 3`) }, 3, "entry 3 was removed"},
		"removed several":   {func(t *testing.T, w trail) { w.exec(t, `DELETE FROM audit WHERE seq IN (6, 7)`) }, 6, "entries 6 to 7 were removed"},
		"removed the first": {func(t *testing.T, w trail) { w.exec(t, `DELETE FROM audit WHERE seq = 1`) }, 1, "entry 1 was removed"},
		"removed the last":  {func(t *testing.T, w trail) { w.exec(t, `DELETE FROM audit WHERE seq > 9`) }, 10, "removed from the end"},
		"removed the end and moved the head": {func(t *testing.T, w trail) {
			w.exec(t, `DELETE FROM audit WHERE seq > 7`)
			w.exec(t, `UPDATE audit_head SET seq = 7, hash = (SELECT hash FROM audit WHERE seq = 7)`)
		}, 8, "entries 8 to 8 were removed"},
		"removed the begin as if by retention": {func(t *testing.T, w trail) {
			w.exec(t, `UPDATE audit_head SET floor_seq = 2, floor_hash = (SELECT hash FROM audit WHERE seq = 2)`)
			w.exec(t, `DELETE FROM audit WHERE seq <= 2`)
		}, 3, "no signed checkpoint says that retention removed them"},
		"inserted beside the chain": {func(t *testing.T, w trail) {
			w.exec(t, `INSERT INTO audit (id, at, actor_kind, action) VALUES ('aud_X', 1, 'system', 'x')`)
		}, 0, "has no place in the chain"},
		"inserted in the chain": {func(t *testing.T, w trail) {
			for seq := 10; seq > 4; seq-- {
				w.exec(t, `UPDATE audit SET seq = seq + 1 WHERE seq = ?`, seq)
			}
			a := store.Audit{ID: "aud_X", At: store.At(time.Unix(1, 0)), ActorKind: "system", Action: "x", Detail: "{}", Seq: 5}
			w.exec(t, `INSERT INTO audit (id, at, actor_kind, action, seq, prev_hash, hash) SELECT 'aud_X', ?, 'system', 'x', 5, hash, ? FROM audit WHERE seq = 4`, a.At, "v1:00")
			w.exec(t, `UPDATE audit_head SET seq = 11`)
		}, 5, "was changed"},
		"reordered": {func(t *testing.T, w trail) {
			w.exec(t, `UPDATE audit SET seq = 100 WHERE seq = 6`)
			w.exec(t, `UPDATE audit SET seq = 6 WHERE seq = 7`)
			w.exec(t, `UPDATE audit SET seq = 7 WHERE seq = 100`)
		}, 6, "was moved or inserted"},
		"changed, and that hash made to fit": {func(t *testing.T, w trail) {
			rows, _ := w.db.AuditsAfter(t.Context(), 8, 1)
			rows[0].ActorName = "Bob"
			w.exec(t, `UPDATE audit SET actor_name = 'Bob', hash = ? WHERE seq = 9`, store.AuditHash(rows[0].PrevHash, rows[0]))
		}, 10, "does not follow the entry before it"},
		"changed, and the whole chain written again": {func(t *testing.T, w trail) {
			w.exec(t, `UPDATE audit SET actor_name = 'Bob' WHERE seq = 2`)
			w.rewrite(t)
		}, 5, "is not the one that was signed"},
		"the same, without the checkpoints in the database": {func(t *testing.T, w trail) {
			w.exec(t, `UPDATE audit SET actor_name = 'Bob' WHERE seq = 2`)
			w.exec(t, `DELETE FROM audit_checkpoint`)
			w.rewrite(t)
		}, 8, "is not the one that was signed"},
		"a checkpoint changed": {func(t *testing.T, w trail) {
			w.exec(t, `UPDATE audit_checkpoint SET text = replace(text, 'seq: 5', 'seq: 4')`)
		}, 5, "signature of the checkpoint is wrong"},
		"another key in place of ours": {func(t *testing.T, w trail) {
			w.exec(t, `UPDATE setting SET value = ? WHERE name = 'audit_public_key'`, strings.Repeat("0", 64))
		}, 0, "the public key in the database is not that of the private key"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newTrail(t)
			tt.tamper(t, w)
			r, err := audit.Verify(t.Context(), w.db, w.vault, []audit.Checkpoint{w.elsewhere})
			if err != nil {
				t.Fatal(err)
			}
			if tt.want == "" {
				if r.Broken != "" || r.First != 1 || r.Last != 10 || r.Checkpoints != 1 || r.Elsewhere != 1 || !r.KeyOfVault {
					t.Errorf("report %+v", r)
				}
				return
			}
			if !strings.Contains(r.Broken, tt.want) || r.BrokenAt != tt.at {
				t.Errorf("named entry %d: %s\nwant entry %d: %s", r.BrokenAt, r.Broken, tt.at, tt.want)
			}
		})
	}
}

// What retention leaves can be checked, for the last entry that went is signed; a checkpoint of what went has nothing left to compare.
func TestVerifyAfterPruning(t *testing.T) {
	t.Parallel()
	w := newTrail(t)
	for done := false; !done; {
		if err := w.db.Write(t.Context(), func(tx *store.Tx) error {
			p, err := w.chain.Prune(tx, t.Context(), store.At(tx.Now.Add(time.Hour)), "", 3)
			done = p.Done
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	w.add(t, 2)
	r, err := audit.Verify(t.Context(), w.db, nil, []audit.Checkpoint{w.elsewhere})
	if err != nil || r.Broken != "" || r.First != 11 || r.Last != 12 || r.Pruned != 10 || r.Past != 1 || r.KeyOfVault {
		t.Errorf("report %+v, %v", r, err)
	}
	w.exec(t, `DELETE FROM audit WHERE seq = 11`)
	if r, err = audit.Verify(t.Context(), w.db, nil, nil); err != nil || r.BrokenAt != 11 {
		t.Errorf("report %+v, %v", r, err)
	}
}

func TestReadCheckpoint(t *testing.T) {
	t.Parallel()
	w := newTrail(t)
	text, err := w.chain.Sign(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string]string{
		"empty":     "",
		"other":     "hello",
		"cut":       text[:len(text)-20],
		"other seq": strings.Replace(text, "seq: 10", "seq: 11", 1),
		"other key": strings.Replace(text, "key: ", "key: 00", 1),
	} {
		if _, err := audit.ReadCheckpoint([]byte(bad)); err == nil {
			t.Errorf("%s: read", name)
		}
	}
	if p, err := audit.ReadCheckpoint([]byte(text)); errors.Join(err) != nil || p.Seq != 10 {
		t.Errorf("%+v %v", p, err)
	}
}
