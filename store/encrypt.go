package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"schakel/store/envelope"
)

// Data of events and messages is encrypted before it is written, and decrypted as it is read, here and nowhere else: the rest of the program
// sees it in the clear. Each row names the key of its data, so that rows from before and after a change of the setting are both read.
//
// A partner has one key at a time, made when the first data of it is written; it encrypts what that partner sent, whoever receives it. So
// when the key of a partner is erased, nobody can read what it sent any more, and all others can read theirs. The vault seals the keys:
// a change of the vault's key leaves the data as it is.

var (
	// ErrErased is the reason why data cannot be read: its key was erased.
	ErrErased = errors.New("the data was erased with its key")
	// ErrUnreadable is the reason why data cannot be read: its key is missing or sealed with another key of the vault, or it is damaged.
	ErrUnreadable = errors.New("the data cannot be decrypted")
)

// DataKeyAge bounds how long a node uses a key that another one erased.
const DataKeyAge = 10 * time.Second

// DataVault seals the keys.
type DataVault interface {
	Seal(purpose string, plain []byte) string
	Open(purpose, sealed string) ([]byte, error)
}

// DataKeyPurpose returns the purpose that the vault seals a key of this id for.
func DataKeyPurpose(id string) string { return "data-key " + id }

// EncryptData gives the vault that seals the keys. on reports whether data that is written from now on is encrypted; what is encrypted
// already is read in any case. Without a vault nothing is encrypted, and encrypted data is ErrUnreadable. Call it before the database is used.
func (db *DB) EncryptData(vault DataVault, on func(ctx context.Context) bool) {
	db.keys.use.Store(&dataUse{vault, on})
}

type dataUse struct {
	vault DataVault
	on    func(context.Context) bool
}

// dataKeys remembers the keys that this node uses.
type dataKeys struct {
	now       func() time.Time
	use       atomic.Pointer[dataUse]
	mu        sync.Mutex
	byID      map[string]heldKey
	ofPartner map[string]string // the id of the key that encrypts what a partner sends
}

// heldKey is a key as it was when it was looked up; nil when it was erased.
type heldKey struct {
	key       *envelope.Key
	partnerID string
	looked    time.Time
}

func newDataKeys(now func() time.Time) *dataKeys {
	return &dataKeys{now: now, byID: map[string]heldKey{}, ofPartner: map[string]string{}}
}

// encrypts reports whether what is written now is encrypted.
func (k *dataKeys) encrypts(ctx context.Context) bool {
	use := k.use.Load()
	return use != nil && use.on(ctx)
}

// held returns a key that was looked up lately.
func (k *dataKeys) held(id string) (held heldKey, fresh, known bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	held, known = k.byID[id]
	return held, known && (held.key == nil || k.now().Sub(held.looked).Abs() < DataKeyAge), known
}

func (k *dataKeys) keep(id string, held heldKey) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.byID[id] = held
}

func (k *dataKeys) present(partnerID string) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.ofPartner[partnerID]
}

func (k *dataKeys) setPresent(partnerID, id string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ofPartner[partnerID] = id
}

func (k *dataKeys) forget(partnerID string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.ofPartner, partnerID)
	maps.DeleteFunc(k.byID, func(_ string, held heldKey) bool { return held.partnerID == partnerID })
}

// dataKey finds a key: ErrErased or ErrUnreadable when it cannot be used, any other error when the database cannot be read.
func (q *Queries) dataKey(ctx context.Context, id string) (*envelope.Key, error) {
	held, fresh, known := q.keys.held(id)
	if !fresh {
		row, err := q.dataKeyRow(ctx, id)
		switch {
		case errors.Is(err, ErrNotFound):
			return nil, fmt.Errorf("%w: its key %s is not in the database", ErrUnreadable, id)
		case err != nil:
			return nil, fmt.Errorf("read data key: %w", err)
		}
		if !row.ErasedAt.IsZero() {
			held = heldKey{}
		} else if !known {
			if held.key, err = q.keys.open(row); err != nil {
				return nil, err
			}
		}
		held.partnerID, held.looked = row.PartnerID, q.keys.now()
		q.keys.keep(id, held)
	}
	if held.key == nil {
		return nil, ErrErased
	}
	return held.key, nil
}

func (k *dataKeys) open(row DataKey) (*envelope.Key, error) {
	use := k.use.Load()
	if use == nil {
		return nil, fmt.Errorf("%w: this program was given no key of the vault", ErrUnreadable)
	}
	plain, err := use.vault.Open(DataKeyPurpose(row.ID), row.Sealed)
	if err == nil {
		var key *envelope.Key
		if key, err = envelope.New(plain); err == nil {
			return key, nil
		}
	}
	return nil, fmt.Errorf("%w: open data key %s: %w", ErrUnreadable, row.ID, err)
}

// sealingKey finds the key that encrypts what a partner sends, and has insert add one when there is none.
func (q *Queries) sealingKey(ctx context.Context, partnerID string, newID func(string) string, insert func(DataKey) error) (string, *envelope.Key, error) {
	if id := q.keys.present(partnerID); id != "" {
		if key, err := q.dataKey(ctx, id); !errors.Is(err, ErrErased) {
			return id, key, err
		}
	}
	row, err := q.presentDataKey(ctx, partnerID)
	if errors.Is(err, ErrNotFound) {
		id := newID("dky")
		if err = insert(DataKey{ID: id, PartnerID: partnerID, Sealed: q.keys.use.Load().vault.Seal(DataKeyPurpose(id), envelope.NewKey())}); err == nil {
			row, err = q.presentDataKey(ctx, partnerID)
		}
	}
	if err != nil {
		return "", nil, fmt.Errorf("find data key of %s: %w", partnerID, err)
	}
	key, err := q.dataKey(ctx, row.ID)
	return row.ID, key, err
}

// SealedData holds data as it is stored, and the keys that it is encrypted with; of data in the clear no key.
type SealedData struct {
	Keys  string // ids, with spaces between
	Bytes []byte
}

// EncryptsData reports whether the data of events and messages that is written now is encrypted.
func (db *DB) EncryptsData(ctx context.Context) bool { return db.keys.encrypts(ctx) }

// SealData encrypts data that a partner sent for the place where it will stand, when data is encrypted. It works outside of transactions, so
// that the one writer need not do it.
func (db *DB) SealData(ctx context.Context, partnerID, place string, data []byte) (SealedData, error) {
	if !db.keys.encrypts(ctx) {
		return SealedData{Bytes: data}, nil
	}
	id, key, err := db.sealingKey(ctx, partnerID, db.NewID, func(k DataKey) error {
		return db.Write(ctx, func(tx *Tx) error { return tx.insertDataKey(ctx, k) })
	})
	if err != nil {
		return SealedData{}, err
	}
	if db.operationIn(ctx) == nil { // otherwise the key may be rolled back
		db.keys.setPresent(partnerID, id)
	}
	return SealedData{id, key.Seal(data, []byte(place))}, nil
}

// sealData is SealData within a transaction.
func (tx *Tx) sealData(ctx context.Context, partnerID, place string, data []byte) (SealedData, error) {
	if !tx.keys.encrypts(ctx) {
		return SealedData{Bytes: data}, nil
	}
	id, key, err := tx.sealingKey(ctx, partnerID, tx.NewID, func(k DataKey) error { return tx.insertDataKey(ctx, k) })
	if err != nil {
		return SealedData{}, err
	}
	return SealedData{id, key.Seal(data, []byte(place))}, nil
}

// sealWith encrypts data with keys that other data has already. When one of them was erased meanwhile nothing is kept of it.
func (q *Queries) sealWith(ctx context.Context, keys []string, place string, data []byte) (SealedData, error) {
	for _, id := range keys {
		key, err := q.dataKey(ctx, id)
		if errors.Is(err, ErrErased) || errors.Is(err, ErrUnreadable) {
			return SealedData{}, nil
		}
		if err != nil {
			return SealedData{}, err
		}
		data = key.Seal(data, []byte(place))
	}
	return SealedData{strings.Join(keys, " "), data}, nil
}

// openData decrypts what is stored. unread is ErrErased or ErrUnreadable when that cannot be; err says that the database cannot be read.
func (q *Queries) openData(ctx context.Context, keys, place string, stored []byte) (data []byte, unread, err error) {
	if keys == "" || len(stored) == 0 {
		return stored, nil, nil
	}
	for _, id := range slices.Backward(strings.Fields(keys)) {
		key, err := q.dataKey(ctx, id)
		if errors.Is(err, ErrErased) || errors.Is(err, ErrUnreadable) {
			return nil, err, nil
		}
		if err != nil {
			return nil, nil, err
		}
		if stored, err = key.Open(stored, []byte(place)); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrUnreadable, err), nil
		}
	}
	return stored, nil, nil
}

// Keep has the data of an event written as it was sealed for [EventPlace].
func (e *Event) Keep(s SealedData) {
	if s.Keys != "" {
		e.DataKeys, e.stored = s.Keys, s.Bytes
	}
}

// sealEvents encrypts the data of events that nobody encrypted ahead of the transaction, as intake does.
func (tx *Tx) sealEvents(ctx context.Context, rows []*Event) error {
	if !tx.keys.encrypts(ctx) {
		return nil
	}
	for _, e := range rows {
		if e.DataKeys != "" || len(e.Data) == 0 {
			continue
		}
		sealed, err := tx.sealData(ctx, e.PartnerID, e.place(), e.Data)
		if err != nil {
			return err
		}
		e.Keep(sealed)
	}
	return nil
}

// openEvent decrypts the data of an event that was read.
func (q *Queries) openEvent(ctx context.Context, e *Event) (err error) {
	e.Data, e.Unread, err = q.openData(ctx, e.DataKeys, e.place(), e.Data)
	return err
}

// Where data stands, so that it opens nowhere else.

// EventPlace is the place of the data of an event: who sent it under which names.
func EventPlace(clientID, source, id string) string {
	return "event\x00" + clientID + "\x00" + source + "\x00" + id
}

func (e *Event) place() string { return EventPlace(e.ClientID, e.CESource, e.CEID) }

func objectPlace(id string, number int64) string {
	return "object\x00" + id + "\x00" + strconv.FormatInt(number, 10)
}

func quarantinePlace(id string, position int64) string {
	return "quarantine\x00" + id + "\x00" + strconv.FormatInt(position, 10)
}

func attemptPlace(id string) string { return "attempt\x00" + id }

func inboxPlace(id string) string { return "inbox\x00" + id }

// Reasons why deliveries of events whose data cannot be read end as dead letters.
const (
	ReasonDataErased     = "data-erased"
	ReasonDataUnreadable = "data-unreadable"
)

// UnreadReason is the reason for which a delivery of an event ends whose data cannot be read, and its detail, for people; empty when it can.
func (e *Event) UnreadReason() (reason, detail string) {
	switch {
	case e.Unread == nil:
		return "", ""
	case errors.Is(e.Unread, ErrErased):
		return ReasonDataErased, "verdict.data-erased"
	}
	return ReasonDataUnreadable, "verdict.data-unreadable"
}

// EventErased reports whether the data of an event was erased; false for an event that is not there.
func (q *Queries) EventErased(ctx context.Context, id string) (bool, error) {
	keys, err := getOne[string](ctx, q, `SELECT data_key FROM event WHERE id = ?`, id)
	if errors.Is(err, ErrNotFound) || err == nil && keys == "" {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read key of event: %w", err)
	}
	return q.DataErased(ctx, keys)
}
