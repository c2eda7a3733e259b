package replica

import (
	"cmp"
	"context"
	"reflect"
	"slices"

	"schakel/delivery/mutation/format"
)

// begin holds a delivery against the copy, and takes note that it is under way. skip tells why it is passed over; empty: it is not.
func (f *Follower) begin(ctx context.Context, h format.Header, d *Delivery) (skip string, err error) {
	if m := d.Manifest; m != nil && (m.Dataset != h.Dataset || m.DeliveryID != h.DeliveryID) {
		return "", fault(ErrRefused, "its files are of delivery %.60q of %.60q, and its manifest of %.60q of %.60q", h.DeliveryID, h.Dataset, m.DeliveryID, m.Dataset)
	}
	if d.Accept != nil {
		if err := d.Accept(h); err != nil {
			return "", err
		}
	}
	if err := f.reload(ctx); err != nil { // somebody else may have followed
		return "", err
	}
	if err := f.forDataset(ctx, h.Dataset, d.Source); err != nil {
		return "", err
	}
	if d.Type, err = f.kindOf(h, d); err != nil {
		return "", err
	}
	if !d.Rebuild {
		if why, err := f.applied(ctx, d); why != "" || err != nil {
			return why, err
		}
	}
	if d.Type == format.Initial {
		return "", f.beginInitial(ctx, d)
	}
	return "", f.beginDelta(ctx, d)
}

// beginInitial makes the table that an initial delivery fills, or goes on with the one it was filling.
func (f *Follower) beginInitial(ctx context.Context, d *Delivery) error {
	settings := f.settings(d.selection())
	u := f.copy.UnderWay
	if u != nil && u.is(d) && u.Type == d.Type && u.Lineage == d.Lineage && reflect.DeepEqual(u.Settings, &settings) {
		return nil
	}
	return f.change(ctx, func(t *transaction, c *Copy) error {
		if u != nil && u.Type == format.Delta && !u.fresh() {
			c.Reinitialise = "delta " + u.ID + " was in for a part when the copy began to be made anew"
		}
		c.UnderWay = &UnderWay{ID: d.ID, Head: d.head(), Type: format.Initial, Lineage: d.Lineage, Generation: c.Generation + 1, Settings: &settings}
		return c.emptyTable(t, c.UnderWay.Generation)
	})
}

// emptyTable makes the table of a generation, in place of one that there may be.
func (c *Copy) emptyTable(t *transaction, generation int64) error {
	if err := t.exec(`DROP TABLE IF EXISTS ` + c.table(generation)); err != nil {
		return err
	}
	return c.createTable(t, generation)
}

// beginDelta makes sure that a delta is the one that comes next.
func (f *Follower) beginDelta(ctx context.Context, d *Delivery) error {
	c, u := f.copy, f.copy.UnderWay
	resumes := u != nil && u.Type == format.Delta && u.is(d)
	switch {
	case c.Generation == 0:
		return ErrNoCopy
	case c.Reinitialise != "" && !resumes:
		return fault(ErrReinitialise, "%s", c.Reinitialise)
	case d.Lineage != "" && c.Lineage != "" && d.Lineage != c.Lineage:
		return fault(ErrReinitialise, "its history was replaced: lineage %.60s, and the copy has %.60s", d.Lineage, c.Lineage)
	case d.Chained && d.Previous != c.DeltaID:
		return fault(ErrGap, "delta %s comes behind %q, and the last in the copy is %q", d.ID, d.Previous, c.DeltaID)
	case u != nil && u.Type == format.Delta && !resumes && !u.fresh():
		return fault(ErrGap, "delta %s is in for a part and must be finished before %s", u.ID, d.ID)
	}
	if err := c.checkSettings(f.settings(d.selection())); err != nil || resumes {
		return err
	}
	return f.change(ctx, func(t *transaction, c *Copy) error {
		c.Settings.Selection = cmp.Or(c.Settings.Selection, d.selection())
		c.UnderWay = &UnderWay{ID: d.ID, Head: d.head(), Type: format.Delta, Lineage: d.Lineage, Replay: d.Overlap}
		return nil
	})
}

// restart makes the delivery under way be read from its start: an initial one into an empty table, a delta on top of what
// it did, which brings each of its states to where it left it (MUT-36).
func (f *Follower) restart(ctx context.Context) error {
	return f.change(ctx, func(t *transaction, c *Copy) error {
		u := c.UnderWay
		u.Replay = u.Replay || !u.fresh() && u.Type == format.Delta
		u.File, u.Group, u.Hash, u.Counts = 0, 0, 0, Counts{}
		if u.Type == format.Initial {
			return c.emptyTable(t, u.Generation)
		}
		return nil
	})
}

// finish is in the last transaction of a delivery.
func (r *run) finish(t *transaction, c *Copy) error {
	u := c.UnderWay
	c.UnderWay = nil
	if r.d.Source != "" {
		c.Source = r.d.Source
	}
	if c.Lineage == "" || u.Type == format.Initial {
		c.Lineage = r.d.Lineage
	}
	if u.Type == format.Initial {
		if err := r.swap(t, c, u); err != nil {
			return err
		}
	} else {
		c.DeltaID, c.Number = u.ID, r.d.Number
		if r.d.Until != "" {
			c.OverlapUntil = r.d.Until
		}
		if c.OverlapUntil == u.ID {
			c.OverlapUntil = ""
		}
		if u.Replay && c.OverlapUntil == "" && c.Reinitialise == "" {
			if err := c.settleDoubts(t, u.ID); err != nil {
				return err
			}
		}
	}
	id := u.ID
	if r.sum != "" {
		id = contentID(r.sum)
	}
	return t.exec(`INSERT INTO follow_delivery (copy, id, delivery_id, head, type, groups, at) VALUES (?,?,?,?,?,?,?) ON CONFLICT (copy, id) DO NOTHING`,
		c.Name, id, u.ID, r.d.head(), string(u.Type), u.Counts.Groups, r.f.o.Now().UnixMicro())
}

// swap makes the table that was filled the copy.
func (r *run) swap(t *transaction, c *Copy, u *UnderWay) error {
	same := c.Generation > 0 && slices.Equal(c.Settings.Fields, u.Settings.Fields)
	c.Settings = *u.Settings
	if err := c.createIndex(t, u.Generation, r.f.o.Match); err != nil {
		return err
	}
	if err := c.showTable(t, u.Generation, same); err != nil {
		return err
	}
	for _, table := range []string{"follow_delivery", "follow_tombstone", "follow_doubt"} {
		if err := t.exec(`DELETE FROM `+table+` WHERE copy = ?`, c.Name); err != nil {
			return err
		}
	}
	c.Generation, c.Reinitialise, c.OverlapUntil = u.Generation, "", r.d.Until
	c.DeltaID, c.Number = r.includes(), r.d.Number
	return nil
}

// includes is the last delta that an initial delivery has in it. Who follows PDOK finds it as the delivery id in the files.
func (r *run) includes() string {
	if m := r.d.Manifest; m != nil {
		return cmp.Or(r.d.Includes, m.Includes)
	}
	return cmp.Or(r.d.Includes, r.zip.Seen().DeliveryID)
}

// sweep drops the table that was shown before. A program that is killed before it gets here leaves that to the next one.
func (f *Follower) sweep(ctx context.Context) error {
	c := f.copy
	if c == nil || c.Generation == 0 {
		return nil
	}
	return f.db.inTx(ctx, func(t *transaction) error {
		return t.exec(`DROP TABLE IF EXISTS ` + c.table(c.Generation-1))
	})
}
