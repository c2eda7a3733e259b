package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// ObjectChunk bounds the bytes of an object in one row and one transaction: so few that intake does not notice.
const ObjectChunk = 256 << 10

// Object is data that is too large to travel inside its event (EDU-01a). Its bytes never change.
type Object struct {
	ID          string `db:"id"`
	OwnerID     string `db:"owner_id"` // the event or quarantined request that refers to it; empty while it is on its way in
	PartnerID   string `db:"partner_id"`
	ClientID    string `db:"client_id"`
	ContentType string `db:"content_type"`
	Size        int64  `db:"size"`
	Digest      []byte `db:"digest"` // SHA-256
	CreatedAt   Time   `db:"created_at"`
	GoneAt      Time   `db:"gone_at"`  // when the bytes were removed
	DataKeys    string `db:"data_key"` // the key that the stored bytes are encrypted with, as of an [Event]
}

// PutObject keeps an object under its given id, in a transaction for each piece of its data. It belongs to nobody until
// [Tx.LinkObject]; when that never comes, [Tx.PruneObjects] removes it.
func (db *DB) PutObject(ctx context.Context, o Object, data []byte) error {
	for number := 0; number == 0 || len(data) > 0; number++ {
		piece := data[:min(len(data), ObjectChunk)]
		data = data[len(piece):]
		sealed, err := db.sealPiece(ctx, &o, number, piece)
		if err != nil {
			return fmt.Errorf("encrypt object: %w", err)
		}
		err = db.Write(ctx, func(tx *Tx) error {
			if number == 0 {
				o.CreatedAt = tx.Now
				if err := tx.insert(ctx, "object", &o); err != nil {
					return err
				}
			}
			return tx.do(ctx, `INSERT INTO object_chunk (object_id, number, data) VALUES (?, ?, ?)`, o.ID, number, sealed)
		})
		if err != nil {
			return fmt.Errorf("keep object: %w", err)
		}
	}
	return nil
}

// sealPiece encrypts a piece of an object: the first as data is now, the others as the first.
func (db *DB) sealPiece(ctx context.Context, o *Object, number int, piece []byte) ([]byte, error) {
	place := objectPlace(o.ID, int64(number))
	if number == 0 {
		sealed, err := db.SealData(ctx, o.PartnerID, place, piece)
		o.DataKeys = sealed.Keys
		return sealed.Bytes, err
	}
	sealed, err := db.sealWith(ctx, strings.Fields(o.DataKeys), place, piece)
	if err == nil && sealed.Keys != o.DataKeys {
		err = ErrErased
	}
	return sealed.Bytes, err
}

// DataErased reports whether data cannot be read any more because one of its keys was erased.
func (q *Queries) DataErased(ctx context.Context, keys string) (bool, error) {
	for _, id := range strings.Fields(keys) {
		if _, err := q.dataKey(ctx, id); errors.Is(err, ErrErased) {
			return true, nil
		} else if err != nil && !errors.Is(err, ErrUnreadable) {
			return false, err
		}
	}
	return false, nil
}

// LinkObject makes an object belong to an event or a quarantined request, in the transaction that writes that.
func (tx *Tx) LinkObject(ctx context.Context, id, ownerID string) error {
	return tx.one(ctx, `UPDATE object SET owner_id = ? WHERE id = ? AND gone_at IS NULL`, ownerID, id)
}

// DropObject removes an object without an owner; any other stays.
func (tx *Tx) DropObject(ctx context.Context, id string) error {
	n, err := tx.exec(ctx, `DELETE FROM object WHERE id = ? AND owner_id = ''`, id)
	if err != nil || n == 0 {
		return err
	}
	return tx.do(ctx, `DELETE FROM object_chunk WHERE object_id = ?`, id)
}

// Object finds an object.
func (q *Queries) Object(ctx context.Context, id string) (Object, error) {
	return getOne[Object](ctx, q, `SELECT * FROM object WHERE id = ?`, id)
}

// ObjectsOf lists the objects of an event or a quarantined request.
func (q *Queries) ObjectsOf(ctx context.Context, ownerID string) ([]Object, error) {
	return listOf[Object](ctx, q, `SELECT * FROM object WHERE owner_id = ? ORDER BY id`, ownerID)
}

// MayReadEvent reports whether a partner may read an event that was delivered to it, or is still meant for it: what a
// revocation held back stays held back (guarantee G2).
func (q *Queries) MayReadEvent(ctx context.Context, eventID, partnerID string) (bool, error) {
	n, err := getOne[int](ctx, q, `SELECT COUNT(*) FROM delivery d WHERE d.event_id = ? AND d.partner_id = ? AND (d.delivered_at IS NOT NULL
		OR EXISTS (SELECT 1 FROM subscription s WHERE s.id = d.subscription_id AND s.accepting))`, eventID, partnerID)
	return n > 0, err
}

// HadObject reports whether an object had been delivered to a partner when its deliveries were removed.
func (q *Queries) HadObject(ctx context.Context, id, partnerID string) (bool, error) {
	n, err := getOne[int](ctx, q, `SELECT COUNT(*) FROM object_reader WHERE object_id = ? AND partner_id = ?`, id, partnerID)
	return n > 0, err
}

// rememberReaders notes who got the objects of events, before the deliveries of these are removed.
func (tx *Tx) rememberReaders(ctx context.Context, events []string) error {
	w := whereIn(`o.owner_id`, events)
	w.add(`d.delivered_at IS NOT NULL`)
	return tx.rememberWhere(ctx, w)
}

func (tx *Tx) rememberWhere(ctx context.Context, w where) error {
	_, err := tx.exec(ctx, `INSERT INTO object_reader (object_id, partner_id) SELECT DISTINCT o.id, d.partner_id
		FROM object o JOIN delivery d ON d.event_id = o.owner_id`+w.sql()+` ON CONFLICT DO NOTHING`, w.args...)
	if err != nil {
		return fmt.Errorf("remember readers of objects: %w", err)
	}
	return nil
}

// ObjectReader reads the bytes of an object or a file, which are kept in pieces of [ObjectChunk]. It is for one goroutine.
type ObjectReader struct {
	ctx    context.Context
	q      *Queries
	pieces string // the query of a piece by id and number
	id     string
	keys   string // that the pieces are encrypted with
	size   int64
	at     int64
	number int64 // of the piece at hand, from 1; 0 for none
	piece  []byte
}

// OpenObject makes a reader of the bytes of an object; ctx bounds its life.
func (q *Queries) OpenObject(ctx context.Context, o Object) *ObjectReader {
	return &ObjectReader{ctx: ctx, q: q, id: o.ID, keys: o.DataKeys, size: o.Size, pieces: `SELECT data FROM object_chunk WHERE object_id = ? AND number = ?`}
}

// Read implements io.Reader. An object whose bytes were removed meanwhile is ErrNotFound.
func (r *ObjectReader) Read(p []byte) (int, error) {
	if r.at >= r.size {
		return 0, io.EOF
	}
	number := r.at / ObjectChunk
	if r.number != number+1 {
		var piece []byte
		if err := r.q.get(r.ctx, &piece, r.pieces, r.id, number); err != nil {
			return 0, fmt.Errorf("read object: %w", err)
		}
		piece, unread, err := r.q.openData(r.ctx, r.keys, objectPlace(r.id, number), piece)
		if err = errors.Join(unread, err); err != nil {
			return 0, fmt.Errorf("read object: %w", err)
		}
		r.piece, r.number = piece, number+1
	}
	offset := r.at - number*ObjectChunk
	if offset >= int64(len(r.piece)) {
		return 0, io.ErrUnexpectedEOF
	}
	n := copy(p, r.piece[offset:])
	r.at += int64(n)
	return n, nil
}

// Seek implements io.Seeker.
func (r *ObjectReader) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += r.at
	case io.SeekEnd:
		offset += r.size
	}
	if offset < 0 {
		return 0, errors.New("seek before the begin of an object")
	}
	r.at = offset
	return offset, nil
}

const (
	// orphanObject sets how long an object may be on its way in.
	orphanObject = time.Hour
	// pruneObjects bounds the objects that one step of pruning looks at.
	pruneObjects = 150
	// pruneChunks bounds the pieces that one step of pruning removes: more would keep others waiting.
	pruneChunks = 32
	// ObjectTombstone sets how long the removal of an object is remembered.
	ObjectTombstone = 90 * 24 * time.Hour
)

// PruneObjects removes, as of now, the bytes of objects whose event is gone, or that never came to belong to one; it looks
// at a few behind the cursor. The row of an object that was delivered stays for a while, to tell that it is gone.
func (tx *Tx) PruneObjects(ctx context.Context, now Time, cursor string, limit int) (Pruned, error) {
	page, err := listOf[Object](ctx, &tx.Queries, `SELECT * FROM object WHERE id > ? ORDER BY id LIMIT ?`, cursor, pruneObjects)
	if err != nil {
		return Pruned{}, fmt.Errorf("list objects: %w", err)
	}
	owned, err := tx.owners(ctx, page)
	if err != nil {
		return Pruned{}, err
	}
	if len(page) == 0 {
		return Pruned{Done: true}, nil // the next run begins anew
	}
	p := Pruned{Cursor: cursor}
	for _, o := range page {
		n, whole, err := tx.pruneObject(ctx, o, owned[o.OwnerID], now, min(limit, pruneChunks)-int(p.Rows))
		if err != nil {
			return Pruned{}, err
		}
		p.Rows += n
		if !whole {
			return p, nil
		}
		p.Cursor = o.ID
	}
	return p, nil
}

// owners returns which owners of objects are still there.
func (tx *Tx) owners(ctx context.Context, page []Object) (map[string]bool, error) {
	w := where{}
	var ids []string
	for _, o := range page {
		if o.OwnerID != "" && o.GoneAt.IsZero() {
			ids = append(ids, o.OwnerID)
		}
	}
	there := make(map[string]bool, len(ids))
	if len(ids) == 0 {
		return there, nil
	}
	w.in(`id`, ids)
	found, err := listOf[string](ctx, &tx.Queries, `SELECT id FROM event`+w.sql()+` UNION ALL SELECT id FROM quarantine`+w.sql(), append(w.args, w.args...)...)
	if err != nil {
		return nil, fmt.Errorf("find owners of objects: %w", err)
	}
	for _, id := range found {
		there[id] = true
	}
	return there, nil
}

// pruneObject removes what is over of an object, at most limit rows; whole is false when something is left to remove.
func (tx *Tx) pruneObject(ctx context.Context, o Object, owned bool, now Time, limit int) (rows int64, whole bool, err error) {
	orphan := o.OwnerID == ""
	switch {
	case !o.GoneAt.IsZero() && now.Sub(o.GoneAt.Time) < ObjectTombstone, orphan && now.Sub(o.CreatedAt.Time) < orphanObject, owned:
		return 0, true, nil
	case limit <= 0:
		return 0, false, nil
	}
	rows, err = tx.exec(ctx, `DELETE FROM object_chunk WHERE object_id = ? AND number IN
		(SELECT number FROM object_chunk WHERE object_id = ? ORDER BY number DESC LIMIT ?)`, o.ID, o.ID, limit)
	if err != nil || rows >= int64(limit) {
		return rows, false, wrapPrune(err)
	}
	if !orphan && o.GoneAt.IsZero() {
		_, err = tx.exec(ctx, `UPDATE object SET gone_at = ? WHERE id = ?`, now, o.ID)
		return rows, true, wrapPrune(err)
	}
	if _, err = tx.exec(ctx, `DELETE FROM object_reader WHERE object_id = ?`, o.ID); err == nil {
		_, err = tx.exec(ctx, `DELETE FROM object WHERE id = ?`, o.ID)
	}
	return rows + 1, true, wrapPrune(err)
}

func wrapPrune(err error) error {
	if err != nil {
		return fmt.Errorf("remove object: %w", err)
	}
	return nil
}
