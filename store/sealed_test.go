package store_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"schakel/store"
)

// Sealed values are counted by their keys, listed in order page by page, and replaced when nobody changed them meanwhile: texts, values within
// texts, and bytes.
func TestSealedValues(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		sealed := func(key string, n int) string { return fmt.Sprintf("v1.%s.AAAA%d", key, n) }
		w.write(func(tx *store.Tx) error {
			err := tx.InsertMail(w.ctx, &store.Mail{Recipient: "a@example.nl", Body: "of an older version"})
			for n := range 3 {
				err = errors.Join(err, tx.SetSetting(w.ctx, fmt.Sprint("s", n), sealed("0000000a", n)),
					tx.InsertMail(w.ctx, &store.Mail{Recipient: "a@example.nl", Body: sealed("0000000b", n)}))
			}
			message := store.AMQPMessage{Direction: "in", Kind: "business", Status: "unchecked", Encoded: []byte("b1.0000000a.\x00\xff")}
			return errors.Join(err, tx.SetSetting(w.ctx, "s9", sealed("0000000b", 9)), tx.SetSetting(w.ctx, "t", `[{"sealed":"`+sealed("0000000a", 1)+`"}]`), tx.InsertAMQPMessage(w.ctx, &message))
		})
		settings := store.SealedQuery{Table: "setting", Column: "value", Key: "name", Of: "name"}
		mails := store.SealedQuery{Table: "mail", Column: "body", Key: "id", Of: "recipient", Old: true}
		messages := store.SealedQuery{Table: "amqp_message", Column: "encoded", Key: "id", Of: "id", Bytes: true}
		for _, tt := range []struct {
			query store.SealedQuery
			want  string
		}{{settings, "[{0000000a 3} {0000000b 1}]"}, {mails, "[{ 1} {0000000b 3}]"}, {messages, "[{0000000a 1}]"}} {
			counts, err := w.db.SealedCounts(w.ctx, tt.query)
			noErr(t, err)
			counts = slices.DeleteFunc(counts, func(n store.SealedCount) bool { return n.KeyID == "" && !tt.query.Old }) // other settings
			if got := fmt.Sprint(counts); got != tt.want {
				t.Errorf("%s: %s, want %s", tt.query.Table, got, tt.want)
			}
		}
		keys := func(q store.SealedQuery, keyID, after string) (names []string) {
			rows, err := w.db.SealedRows(w.ctx, q, keyID, after, 2)
			noErr(t, err)
			for _, row := range rows {
				names = append(names, row.Key)
			}
			return names
		}
		within := settings
		within.Within = true
		for _, tt := range []struct{ got, want string }{
			{fmt.Sprint(keys(settings, "0000000b", "")), "[s0 s1]"},
			{fmt.Sprint(keys(settings, "0000000b", "s1")), "[s2]"},
			{fmt.Sprint(keys(settings, "0000000a", "")), "[s9]"},
			{fmt.Sprint(keys(within, "0000000a", "s2")), "[s9 t]"},
			{fmt.Sprint(len(keys(mails, "0000000b", ""))), "1"},
			{fmt.Sprint(len(keys(messages, "0000000b", ""))), "1"},
			{fmt.Sprint(len(keys(messages, "0000000a", ""))), "0"},
		} {
			if tt.got != tt.want {
				t.Errorf("listed %s, want %s", tt.got, tt.want)
			}
		}
		swap := func(q store.SealedQuery, keyID, after string, values ...string) {
			rows, err := w.db.SealedRows(w.ctx, q, keyID, "", 1)
			noErr(t, err)
			for i, value := range values {
				w.write(func(tx *store.Tx) error {
					ok, err := tx.SwapSealed(w.ctx, q, rows[0], []byte(value))
					if ok != (i == 0) {
						t.Errorf("%s: swap %d: %v", q.Table, i, ok)
					}
					return err
				})
			}
			rows, err = w.db.SealedRows(w.ctx, q, keyID, rows[0].Key, 1)
			noErr(t, err)
			if after != fmt.Sprint(len(rows)) {
				t.Errorf("%s: %d left, want %s", q.Table, len(rows), after)
			}
		}
		swap(settings, "0000000b", "1", sealed("0000000b", 0), sealed("0000000b", 8)) // the second finds another value
		swap(messages, "0000000b", "0", "b1.0000000b.\x00", "b1.0000000b.\x01")
	})
}

// What is stored of recovery codes is replaced, but not of one that was used meanwhile.
func TestRecoveryProofs(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		account := store.Account{Email: "ada@example.nl", Name: "Ada", Role: store.RoleAdministrator, Status: store.AccountActive}
		w.write(func(tx *store.Tx) error {
			return errors.Join(tx.InsertAccount(w.ctx, &account), tx.ReplaceRecoveryCodes(w.ctx, account.ID, []string{"one", "two"}))
		})
		proofs, err := w.db.RecoveryProofs(w.ctx, "2.", 10)
		noErr(t, err)
		if fmt.Sprint(proofs) != fmt.Sprintf("[{%s one} {%s two}]", account.ID, account.ID) {
			t.Fatalf("listed %v", proofs)
		}
		w.write(func(tx *store.Tx) error {
			err := tx.UseRecoveryCode(w.ctx, account.ID, "two")
			return errors.Join(err, tx.SwapRecoveryProof(w.ctx, proofs[0], "2.one"), tx.SwapRecoveryProof(w.ctx, proofs[1], "2.two"))
		})
		left, err := w.db.RecoveryProofs(w.ctx, "2.", 10)
		noErr(t, err)
		if n, err := w.db.RecoveryCodes(w.ctx, account.ID); len(left) != 0 || n != 1 || err != nil {
			t.Errorf("left %v, %d codes, %v", left, n, err)
		}
	})
}

// A node names its keys; one that stops is forgotten, as is any that was silent for long. Sessions that hold a text end.
func TestNodeKeys(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		save := func(node, keys string) {
			w.write(func(tx *store.Tx) error {
				return tx.SaveNodeKeys(w.ctx, store.NodeKeys{Node: node, Keys: keys, Seals: "a"})
			})
		}
		save("silent", "a")
		w.clock.Advance(time.Hour)
		save("one", "a")
		save("one", "a b")
		save("two", "a")
		list := func(since time.Duration) (text string) {
			all, err := w.db.NodeKeys(w.ctx, store.At(w.clock.Now().Add(-since)))
			noErr(t, err)
			for _, n := range all {
				text += n.Node + ":" + n.Keys + ";"
			}
			return text
		}
		if got := list(2*time.Hour) + list(time.Minute); got != "one:a b;silent:a;two:a;one:a b;two:a;" {
			t.Errorf("listed %s", got)
		}
		w.write(func(tx *store.Tx) error { return tx.EndNodeKeys(w.ctx, "two", store.At(tx.Now.Add(-time.Minute))) })
		if got := list(2 * time.Hour); got != "one:a b;" {
			t.Errorf("left %s", got)
		}
		for token, data := range map[string]string{"x": "\x00v1.0000000a.AAAA", "y": "\x00v1.0000000b.AAAA"} {
			noErr(t, w.db.SessionSave(w.ctx, []byte(token), []byte(data), w.clock.Now().Add(time.Hour)))
		}
		w.write(func(tx *store.Tx) error {
			n, err := tx.EndSessionsWith(w.ctx, "v1.0000000a.")
			if n != 1 {
				t.Errorf("ended %d sessions", n)
			}
			return err
		})
		if _, _, found, err := w.db.SessionFind(w.ctx, []byte("y")); !found || err != nil {
			t.Errorf("the other session ended: %v", err)
		}
	})
}
