package replica

import (
	"cmp"
	"context"
	"slices"

	"schakel/delivery/mutation/format"
)

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
	_, err := t.exec(`INSERT INTO follow_delivery (copy, id, delivery_id, head, type, groups, at) VALUES (?,?,?,?,?,?,?) ON CONFLICT (copy, id) DO NOTHING`,
		c.Name, id, u.ID, r.d.head(), string(u.Type), u.Counts.Groups, r.f.o.Now().UnixMicro())
	return err
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
		if _, err := t.exec(`DELETE FROM `+table+` WHERE copy = ?`, c.Name); err != nil {
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
		_, err := t.exec(`DROP TABLE IF EXISTS ` + c.table(c.Generation-1))
		return err
	})
}
