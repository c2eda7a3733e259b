package store

import (
	"context"
	"fmt"
	"time"
)

// DataKey encrypts what one partner sent: see [DB.EncryptData].
type DataKey struct {
	ID        string `db:"id"`
	PartnerID string `db:"partner_id"`
	Sealed    string `db:"sealed"` // by the vault; empty once it is erased
	CreatedAt Time   `db:"created_at"`
	ErasedAt  Time   `db:"erased_at"`
}

// DataKeys lists the keys of a partner, those that were erased too, oldest first.
func (q *Queries) DataKeys(ctx context.Context, partnerID string) ([]DataKey, error) {
	return listOf[DataKey](ctx, q, `SELECT * FROM data_key WHERE partner_id = ? ORDER BY id`, partnerID)
}

func (q *Queries) dataKeyRow(ctx context.Context, id string) (DataKey, error) {
	return getOne[DataKey](ctx, q, `SELECT * FROM data_key WHERE id = ?`, id)
}

// presentDataKey finds the key that encrypts what a partner sends.
func (q *Queries) presentDataKey(ctx context.Context, partnerID string) (DataKey, error) {
	return getOne[DataKey](ctx, q, `SELECT * FROM data_key WHERE partner_id = ? AND erased_at IS NULL`, partnerID)
}

// insertDataKey adds a key, unless its partner has one: of two that are made at the same moment the first stays.
func (tx *Tx) insertDataKey(ctx context.Context, k DataKey) error {
	_, err := tx.exec(ctx, `INSERT INTO data_key (id, partner_id, sealed, created_at) VALUES (?, ?, ?, ?)
		ON CONFLICT (partner_id) WHERE erased_at IS NULL DO NOTHING`, k.ID, k.PartnerID, k.Sealed, tx.Now)
	if err != nil {
		return fmt.Errorf("add data key: %w", err)
	}
	return nil
}

// EraseDataKeys destroys the keys of a partner and returns their number. Nobody can read again what they encrypted. This node forgets
// them with [DB.ForgetDataKeys], the others by themselves within DataKeyAge.
func (tx *Tx) EraseDataKeys(ctx context.Context, partnerID string) (int64, error) {
	if tx.dialect == SQLite { // what is overwritten does not stay behind in the page
		if err := tx.secureDelete(ctx, "ON"); err != nil {
			return 0, err
		}
		defer func() { _ = tx.secureDelete(ctx, "OFF") }()
	}
	n, err := tx.exec(ctx, `UPDATE data_key SET sealed = '', erased_at = ? WHERE partner_id = ? AND erased_at IS NULL`, tx.Now, partnerID)
	if err != nil {
		return 0, fmt.Errorf("erase data keys: %w", err)
	}
	return n, nil
}

func (tx *Tx) secureDelete(ctx context.Context, mode string) error {
	var is int
	return tx.get(ctx, &is, `PRAGMA secure_delete = `+mode)
}

// shredTime bounds the wait for others that use the table of keys.
const shredTime = 5 * time.Second

// ForgetDataKeys drops the keys of a partner from the memory of this node, once their erasure is committed, and what is left of them in the
// files of the database, as far as that can be done while others work: SQLite's log is emptied, PostgreSQL writes the table anew.
func (db *DB) ForgetDataKeys(ctx context.Context, partnerID string) error {
	db.keys.forget(partnerID)
	if db.dialect == SQLite {
		return db.Checkpoint(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, shredTime)
	defer cancel()
	if _, err := db.write.ExecContext(ctx, `VACUUM (FULL) data_key`); err != nil {
		return fmt.Errorf("write the table of data keys anew: %w", err)
	}
	return nil
}

// OpenDataOf counts the deliveries of a partner's events that have not ended, up to a bound: each still needs its data.
func (q *Queries) OpenDataOf(ctx context.Context, partnerID string, most int) (int, error) {
	w := where{}
	w.add(`status IN ('pending', 'retrying', 'held', 'dead')`)
	w.add(`EXISTS (SELECT 1 FROM event e WHERE e.id = event_id AND e.partner_id = ?)`, partnerID)
	return q.countUpTo(ctx, most, `delivery`, w)
}

// EncryptedEvents counts the events of a partner whose data can be read now and is encrypted, up to [ListBound] + 1, and those whose data is
// not encrypted.
func (q *Queries) EncryptedEvents(ctx context.Context, partnerID string) (encrypted, plain int, err error) {
	w := whereOf(`partner_id = ?`, partnerID)
	w.add(`data_key IN (SELECT id FROM data_key WHERE partner_id = ? AND erased_at IS NULL)`, partnerID)
	if encrypted, err = q.countUpTo(ctx, ListBound+1, `event`, w); err != nil {
		return 0, 0, err
	}
	w = whereOf(`partner_id = ?`, partnerID)
	w.add(`data_key = ''`)
	plain, err = q.countUpTo(ctx, ListBound+1, `event`, w)
	return encrypted, plain, err
}

// EndedWithDataKeys lists partners that ended and have a key, from one on.
func (q *Queries) EndedWithDataKeys(ctx context.Context, after string, limit int) ([]Partner, error) {
	return listOf[Partner](ctx, q, `SELECT * FROM partner p WHERE p.status = 'ended' AND NOT p.own AND p.id > ?
		AND EXISTS (SELECT 1 FROM data_key k WHERE k.partner_id = p.id AND k.erased_at IS NULL) ORDER BY p.id LIMIT ?`, after, limit)
}

// DropAMQPFrom removes what is stored of messages by AMQP that a partner sent, which the vault alone seals. Those that wait for a person wait
// no longer. It counts the messages.
func (tx *Tx) DropAMQPFrom(ctx context.Context, partnerID string) (int, error) {
	rows, err := listOf[AMQPMessage](ctx, &tx.Queries, `SELECT id, status FROM amqp_message WHERE partner_id = ? AND direction = 'in' AND encoded IS NOT NULL`, partnerID)
	if err != nil {
		return 0, fmt.Errorf("list messages: %w", err)
	}
	for _, m := range rows {
		err := tx.do(ctx, `UPDATE amqp_message SET encoded = NULL, asked = '', due_at = NULL, status = CASE WHEN status IN ('quarantined', 'held', 'unchecked', 'dead')
			THEN 'dropped' ELSE status END, updated_at = ? WHERE id = ?`, tx.Now, m.ID)
		if err == nil {
			err = tx.TraceAMQP(ctx, AMQPTrace{MessageID: m.ID, Step: "dropped", Detail: "verdict.data-erased"})
		}
		if err != nil {
			return 0, fmt.Errorf("remove message: %w", err)
		}
	}
	return len(rows), nil
}

// handOver records an attempt for each delivery that was leased for a consumer, and returns them with their events. Those whose event cannot be
// read are dead instead; when none is left, others are leased.
func (tx *Tx) handOver(ctx context.Context, c PullClaim, leased []Delivery) ([]Claimed, error) {
	all, err := tx.withEvents(ctx, leased)
	if err != nil {
		return nil, err
	}
	readable, err := tx.buryUnread(ctx, all)
	if err != nil {
		return nil, err
	}
	if len(readable) == 0 {
		return tx.PullClaim(ctx, c)
	}
	rows := make([]Delivery, len(readable))
	for i := range readable {
		rows[i] = readable[i].Delivery
	}
	return readable, tx.recordReceives(ctx, c, rows)
}

// buryUnread makes deliveries dead whose event cannot be read, and returns the others. This lease reached nobody and does not count.
func (tx *Tx) buryUnread(ctx context.Context, all []Claimed) (readable []Claimed, err error) {
	for _, c := range all {
		reason, detail := c.Event.UnreadReason()
		if reason == "" {
			readable = append(readable, c)
			continue
		}
		if err := tx.buryAs(ctx, []Delivery{c.Delivery}, reason, detail, `attempts = attempts - 1, round = round - 1`); err != nil {
			return nil, err
		}
		if err := tx.endReceives(ctx, PullExpired, Time{}, []any{c.ID}); err != nil {
			return nil, err
		}
	}
	return readable, nil
}
