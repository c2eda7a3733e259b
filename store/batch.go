package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"schakel/registry/sorted"
)

// Batch is a group of deliveries that go in one request, in the order of Members. It is written before the first send
// and its members never change, so that a retry is the same to the byte under the same key (EDU-11, IDEM-11).
type Batch struct {
	ID             string  `db:"id"`
	EndpointID     string  `db:"endpoint_id"`
	IdempotencyKey string  `db:"idempotency_key"`
	KeyExpiresAt   Time    `db:"key_expires_at"`
	Members        Strings `db:"members"` // ids of deliveries
	Size           int64   `db:"size"`    // of the request's body, bytes
	Reason         string  `db:"reason"`  // why it was taken apart; empty while it stands
	CreatedAt      Time    `db:"created_at"`
}

// Why a batch was taken apart.
const (
	BatchRejected = "rejected" // the receiver refused it for what is in it
	BatchBroken   = "broken"   // not all of its members may be sent any more
)

// NewBatch gives a batch a new id, for InsertBatches.
func (tx *Tx) NewBatch(b *Batch) { b.ID, b.CreatedAt = tx.NewID("btc"), tx.Now }

// InsertBatches writes batches of deliveries that are written with their ids and keys in the same transaction.
func (tx *Tx) InsertBatches(ctx context.Context, batches []*Batch) error {
	_, err := tx.putMany(ctx, bulk{
		into: `delivery_batch (id, endpoint_id, idempotency_key, key_expires_at, members, size, reason, created_at)`, width: 8, kinds: "tttititi", blind: true,
	}, len(batches), func(args []any, i int) []any {
		b := batches[i]
		members, _ := b.Members.Value() // cannot fail for strings
		return append(args, b.ID, b.EndpointID, b.IdempotencyKey, b.KeyExpiresAt, members, b.Size, b.Reason, b.CreatedAt)
	})
	if err != nil {
		return fmt.Errorf("insert batches: %w", err)
	}
	return nil
}

// FreezeBatch is NewBatch and InsertBatches for deliveries that are there. They are sent under its key from now on.
func (tx *Tx) FreezeBatch(ctx context.Context, b *Batch) error {
	tx.NewBatch(b)
	if err := tx.InsertBatches(ctx, []*Batch{b}); err != nil {
		return err
	}
	w := whereIn(`id`, b.Members)
	_, err := tx.exec(ctx, `UPDATE delivery SET batch_id = ?, idempotency_key = ?, key_expires_at = ?`+w.sql(),
		append([]any{b.ID, b.IdempotencyKey, b.KeyExpiresAt}, w.args...)...)
	if err != nil {
		return fmt.Errorf("mark members of batch: %w", err)
	}
	return nil
}

// Batch finds a batch.
func (q *Queries) Batch(ctx context.Context, id string) (Batch, error) {
	return getOne[Batch](ctx, q, `SELECT * FROM delivery_batch WHERE id = ?`, id)
}

// ErrBusy is returned when another node holds some of the rows that were asked for.
var ErrBusy = errors.New("busy")

// ClaimMembers takes all members of a batch for owner until lease, when each of them is open and may be sent at this
// moment (guarantee G2); otherwise none. When only another node stands in the way it answers ErrBusy. The members come in
// their order.
func (tx *Tx) ClaimMembers(ctx context.Context, b Batch, owner string, lease Time) ([]Claimed, error) {
	w := whereIn(`id`, b.Members)
	w.add(`batch_id = ? AND status IN ('pending', 'retrying') AND key_expires_at > ? AND `+unexpired+`
		AND EXISTS (SELECT 1 FROM subscription s WHERE s.id = delivery.subscription_id AND s.sending)`, b.ID, tx.Now, tx.Now)
	open, err := tx.count(ctx, `delivery`, w)
	if err != nil || len(b.Members) == 0 || open != len(b.Members) {
		return nil, err
	}
	w.add(`(lease_owner IN ('', ?) OR due_at <= ?)`, owner, tx.Now)
	ids := make([]string, 0, len(b.Members))
	if err := tx.list(ctx, &ids, `SELECT id FROM delivery`+w.sql()+tx.skipLocked("delivery"), w.args...); err != nil {
		return nil, err
	}
	if len(ids) != len(b.Members) {
		return nil, ErrBusy
	}
	w = whereIn(`id`, ids)
	var rows []Delivery
	err = tx.list(ctx, &rows, `UPDATE delivery SET due_at = ?, lease_owner = ?, lease = lease + 1, updated_at = ?`+w.sql()+
		` RETURNING `+deliveryColumns, append([]any{lease, owner, tx.Now}, w.args...)...)
	if err != nil {
		return nil, err
	}
	place := make(map[string]int, len(b.Members))
	for i, id := range b.Members {
		place[id] = i
	}
	sorted.By(rows, func(a, b Delivery) int { return place[a.ID] - place[b.ID] })
	return tx.withEvents(ctx, rows)
}

// SetAlone marks deliveries that go by themselves, though their endpoint takes batches: they keep their keys.
func (tx *Tx) SetAlone(ctx context.Context, ids []string) error {
	w := whereIn(`id`, ids)
	return tx.do(ctx, `UPDATE delivery SET alone = TRUE`+w.sql(), w.args...)
}

// PutBack gives back what owner claimed and will not try now: it is due again at a later moment.
func (tx *Tx) PutBack(ctx context.Context, ids []string, owner string, due Time) error {
	w := whereIn(`id`, ids)
	w.add(`lease_owner = ? AND status IN ('pending', 'retrying')`, owner)
	return tx.do(ctx, `UPDATE delivery SET due_at = ?, lease_owner = '', updated_at = ?`+w.sql(), append([]any{due, tx.Now}, w.args...)...)
}

// ClaimAgain is Claim without what was never sent: retries and what goes by itself. The rest waits to fill a batch.
func (tx *Tx) ClaimAgain(ctx context.Context, endpointID, owner string, limit int, lease Time) ([]Claimed, error) {
	return tx.claim(ctx, endpointID, owner, limit, lease, ` AND NOT `+fresh)
}

// ClaimTests is Claim for test events alone: those go outside the windows of their endpoint too.
func (tx *Tx) ClaimTests(ctx context.Context, endpointID, owner string, limit int, lease Time) ([]Claimed, error) {
	return tx.claim(ctx, endpointID, owner, limit, lease, ` AND d.subscription_id = ''`)
}

// fresh selects what may go into a new batch: it was never sent under its key.
const fresh = `(d.batch_id = '' AND NOT d.alone AND d.round = 0 AND d.subscription_id <> '')`

// Fresh returns how much waits to fill a batch: the number of deliveries, counted up to limit, and since when the first of
// them is due. It looks at as many that are due as that, so retries among them make it count too few.
func (q *Queries) Fresh(ctx context.Context, endpointID string, limit int, now Time) (int, Time, error) {
	var found struct {
		N     int  `db:"n"`
		First Time `db:"first_due"`
	}
	err := q.get(ctx, &found, `SELECT COUNT(*) AS n, MIN(due_at) AS first_due FROM (SELECT d.due_at, `+fresh+` AS fresh FROM delivery d
		WHERE d.endpoint_id = ? AND d.status IN ('pending', 'retrying') AND d.due_at <= ? ORDER BY d.due_at LIMIT ?) looked
		WHERE looked.fresh`, endpointID, now, limit)
	return found.N, found.First, err
}

// DissolveBatch takes a batch apart: what is still open of it goes by itself and under a key of its own that newKey makes,
// for a key belongs to one content (IDEM-I02): when it was due anyway, or at once when owner had it in hand. How long each is
// tried by itself does not change. A member in the hands of another node is left to it.
func (tx *Tx) DissolveBatch(ctx context.Context, b Batch, owner, reason string, newKey func() string) error {
	if _, err := tx.exec(ctx, `UPDATE delivery_batch SET reason = ? WHERE id = ? AND reason = ''`, reason, b.ID); err != nil {
		return fmt.Errorf("mark batch: %w", err)
	}
	for _, id := range b.Members {
		_, err := tx.exec(ctx, `UPDATE delivery SET batch_id = '', alone = TRUE, idempotency_key = ?, lease_owner = '',
			due_at = CASE WHEN lease_owner = '' THEN due_at ELSE ? END, updated_at = CASE WHEN lease_owner = '' THEN updated_at ELSE ? END
			WHERE id = ? AND batch_id = ? AND status IN ('pending', 'retrying') AND (lease_owner IN ('', ?) OR due_at <= ?)`,
			newKey(), tx.Now, tx.Now, id, b.ID, owner, tx.Now)
		if err != nil {
			return fmt.Errorf("free member of batch: %w", err)
		}
	}
	return nil
}

// MayStartAll is MayStart for the members of a batch: every one of them must be allowed (guarantee G2).
func (q *Queries) MayStartAll(ctx context.Context, members []Claimed) (bool, error) {
	w, numbers := where{}, make(map[string]int64, len(members))
	for i := range members {
		numbers[members[i].ID] = members[i].Lease
	}
	w.in(`d.id`, slices.Collect(maps.Keys(numbers)))
	w.add(`d.lease_owner = ? AND d.status IN ('pending', 'retrying')`, members[0].LeaseOwner)
	held, err := listOf[Delivery](ctx, q, `SELECT d.id, d.lease FROM delivery d JOIN endpoint e ON e.id = d.endpoint_id AND e.status = 'active'
		JOIN partner p ON p.id = d.partner_id AND p.status = 'approved'
		JOIN subscription s ON s.id = d.subscription_id AND s.sending`+w.sql(), w.args...)
	return len(held) == len(members) && !slices.ContainsFunc(held, func(d Delivery) bool { return d.Lease != numbers[d.ID] }), err
}

// PruneBatches removes batches made before the moment given of which no member is left: it looks at limit of them behind
// the cursor.
func (tx *Tx) PruneBatches(ctx context.Context, before Time, cursor string, limit int) (Pruned, error) {
	page, err := listOf[Batch](ctx, &tx.Queries, `SELECT * FROM delivery_batch WHERE id > ? AND id < ? ORDER BY id LIMIT ?`, cursor, IDAt("btc", before.Time), limit)
	if err != nil || len(page) == 0 {
		return Pruned{Done: true}, err
	}
	p := Pruned{Cursor: page[len(page)-1].ID, Done: len(page) < limit}
	for _, b := range page {
		w := whereIn(`id`, b.Members)
		if n, err := tx.count(ctx, `delivery`, w); err != nil || n > 0 {
			if err != nil {
				return p, err
			}
			continue
		}
		n, err := tx.exec(ctx, `DELETE FROM delivery_batch WHERE id = ?`, b.ID)
		if err != nil {
			return p, fmt.Errorf("delete batch: %w", err)
		}
		p.Rows += n
	}
	return p, nil
}

// Sending holds the settings that a subscription has of its own for how its events are sent.
type Sending struct {
	Retry      string      // schedule, or empty
	Encryption *Encryption // nil for none
	// Tests holds the encryption by event type, of what an endpoint is subscribed to; nil for none.
	Tests map[string]*Encryption
}

// ForTest returns how the data of a test event is encrypted, of what is known by the id of its endpoint: as a real event of its type would be.
// A type that nothing there subscribes to is encrypted as by the newest subscription that asks for encryption.
func (s Sending) ForTest(eventType string) *Encryption {
	if e, ok := s.Tests[eventType]; ok {
		return e
	}
	return s.Encryption
}

// Encryption says for whom data is encrypted. It is immutable.
type Encryption struct {
	SubscriptionID string // that asks for it
	Recipient      string // a JWK set, or the address of one
	Seed           string // sealed
}

// EncryptSeed returns the sealed seed of a subscription's encryption, another one after each change; empty without encryption.
func (q *Queries) EncryptSeed(ctx context.Context, subscriptionID string) (string, error) {
	return getOne[string](ctx, q, `SELECT encrypt_seed FROM subscription WHERE id = ?`, subscriptionID)
}

// EncryptionOf returns how the data of an event is encrypted for a partner; nil when it has the event by a subscription that asks for no encryption.
func (q *Queries) EncryptionOf(ctx context.Context, eventID, partnerID string) (*Encryption, error) {
	var rows []struct {
		ID      string `db:"id"`
		Encrypt string `db:"encrypt"`
		Seed    string `db:"encrypt_seed"`
	}
	if err := q.list(ctx, &rows, `SELECT s.id, s.encrypt, s.encrypt_seed FROM delivery d JOIN subscription s ON s.id = d.subscription_id
		WHERE d.event_id = ? AND d.partner_id = ? ORDER BY s.encrypt, s.id LIMIT 1`, eventID, partnerID); err != nil {
		return nil, err
	}
	if len(rows) == 0 || rows[0].Encrypt == "" {
		return nil, nil
	}
	return &Encryption{rows[0].ID, rows[0].Encrypt, rows[0].Seed}, nil
}

// Sendings lists how subscriptions that say so themselves are sent, by id. By the id of its endpoint it has the encryption of the newest open
// subscription there that asks for one, and that of each event type there, which tests of the endpoint are encrypted by.
func (q *Queries) Sendings(ctx context.Context) (map[string]Sending, error) {
	var rows []struct {
		ID         string `db:"id"`
		EndpointID string `db:"endpoint_id"`
		Retry      string `db:"retry"`
		Encrypt    string `db:"encrypt"`
		Seed       string `db:"encrypt_seed"`
		Accepting  bool   `db:"accepting"`
	}
	if err := q.list(ctx, &rows, `SELECT id, endpoint_id, retry, encrypt, encrypt_seed, accepting FROM subscription
		WHERE retry <> '' AND accepting OR encrypt <> '' AND status NOT IN ('ended', 'rejected') ORDER BY id`); err != nil {
		return nil, err
	}
	byID := make(map[string]Sending, len(rows))
	for _, r := range rows {
		s := Sending{Retry: r.Retry}
		if r.Encrypt != "" {
			s.Encryption = &Encryption{r.ID, r.Encrypt, r.Seed}
			byID[r.EndpointID] = Sending{Encryption: s.Encryption, Tests: map[string]*Encryption{}}
		}
		byID[r.ID] = s
	}
	return byID, q.testEncryptions(ctx, byID)
}

// testEncryptions fills in how tests of a type are encrypted at the endpoints with encryption: by the newest subscription to it that takes events
// now, or else by the newest that is open.
func (q *Queries) testEncryptions(ctx context.Context, byID map[string]Sending) error {
	var rows []struct {
		ID         string `db:"id"`
		EndpointID string `db:"endpoint_id"`
		EventType  string `db:"event_type"`
	}
	if err := q.list(ctx, &rows, `SELECT s.id, s.endpoint_id, t.event_type FROM subscription s JOIN subscription_type t ON t.subscription_id = s.id
		WHERE s.status NOT IN ('ended', 'rejected') AND s.endpoint_id IN
			(SELECT endpoint_id FROM subscription WHERE encrypt <> '' AND status NOT IN ('ended', 'rejected'))
		ORDER BY s.accepting, s.id`); err != nil {
		return err
	}
	for _, r := range rows {
		if at := byID[r.EndpointID]; at.Tests != nil {
			at.Tests[r.EventType] = byID[r.ID].Encryption
		}
	}
	return nil
}
