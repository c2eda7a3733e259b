package replica

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"schakel/delivery/mutation/format"
)

// Copy holds the progress of a copy.
type Copy struct {
	Name         string    `json:"name"` // of the view that shows it
	Dataset      string    `json:"dataset"`
	Source       string    `json:"source"`
	Lineage      string    `json:"lineage,omitempty"`
	DeltaID      string    `json:"deltaId,omitempty"` // the last delta that is in it
	Number       int64     `json:"number,omitempty"`  // of that delta, where the source counts
	Generation   int64     `json:"-"`                 // of the table that is shown; 0: none yet
	UnderWay     *UnderWay `json:"underWay,omitempty"`
	OverlapUntil string    `json:"overlapUntil,omitempty"` // the last delta that the initial delivery may have had a part of
	Reinitialise string    `json:"reinitialise,omitempty"` // why it must be rebuilt
	Settings     Settings  `json:"settings"`
	UpdatedAt    time.Time `json:"updatedAt,omitzero"`

	version int64
	spaces  dictionary
}

// Settings holds the settings with which a copy was made and that it keeps.
type Settings struct {
	Match      string   `json:"match"`
	Fields     []string `json:"fields,omitempty"`
	Area       string   `json:"area,omitempty"`
	Tombstones bool     `json:"tombstones,omitempty"`
	Selection  string   `json:"selection,omitempty"` // what of the dataset the source was asked for; empty: not known
}

// UnderWay is a delivery of which a part is in the copy.
type UnderWay struct {
	ID         string              `json:"id"`
	Head       string              `json:"head,omitempty"` // of a file: SHA-256 of its first bytes
	Type       format.DeliveryType `json:"type"`
	Lineage    string              `json:"lineage,omitempty"`
	Generation int64               `json:"generation,omitempty"` // of the table that is filled with an initial delivery
	File       int                 `json:"file"`                 // of the last group that is in, from 1
	Group      int                 `json:"group"`                // in that file, from 1
	Hash       uint64              `json:"hash"`                 // of the delivery up to there
	Replay     bool                `json:"replay,omitempty"`     // what it does may have been done before
	Settings   *Settings           `json:"settings,omitempty"`   // of the copy that an initial delivery makes
	Counts     Counts              `json:"counts"`
}

func (u *UnderWay) fresh() bool { return u.File == 0 }

// is reports whether a delivery is the one under way. Those of before heads were remembered are known by their id alone.
func (u *UnderWay) is(d *Delivery) bool {
	return u.ID == d.ID && (u.Head == d.head() || u.Head == "" || d.head() == "")
}

const copyColumns = `name, dataset, source, settings, lineage, delta_id, delta_number, generation, under_way, overlap_until, reinitialise, version, updated_at`

// scanCopy reads a row of copyColumns.
func scanCopy(scan func(...any) error) (*Copy, error) {
	var c Copy
	var settings, underWay string
	var at int64
	err := scan(&c.Name, &c.Dataset, &c.Source, &settings, &c.Lineage, &c.DeltaID, &c.Number, &c.Generation, &underWay, &c.OverlapUntil, &c.Reinitialise, &c.version, &at)
	if err != nil {
		return nil, err
	}
	c.UpdatedAt = time.UnixMicro(at).UTC()
	if err := json.Unmarshal([]byte(settings), &c.Settings); err != nil {
		return nil, fmt.Errorf("read settings of copy: %w", err)
	}
	if underWay != "" {
		c.UnderWay = &UnderWay{}
		err = json.Unmarshal([]byte(underWay), c.UnderWay)
	}
	return &c, err
}

// loadCopy gives nil when there is none of that name.
func loadCopy(ctx context.Context, db *database, name string) (*Copy, error) {
	row := db.QueryRowContext(ctx, db.rebind(`SELECT `+copyColumns+` FROM follow_copy WHERE name = ?`), name)
	c, err := scanCopy(row.Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return c, inDatabase("read how far the copy is", err)
}

// lock comes first in a transaction that changes a copy: ErrBusy when somebody else changed it since it was loaded, so that
// two programs cannot go on side by side.
func (c *Copy) lock(t *transaction) error {
	n, err := t.changed(`UPDATE follow_copy SET version = version + 1 WHERE name = ? AND version = ?`, c.Name, c.version)
	if err == nil && n == 0 {
		err = ErrBusy
	}
	return err
}

func (c *Copy) save(t *transaction, now time.Time) error {
	settings, err := json.Marshal(c.Settings)
	if err != nil {
		return err
	}
	underWay := []byte{}
	if c.UnderWay != nil {
		if underWay, err = json.Marshal(c.UnderWay); err != nil {
			return err
		}
	}
	c.UpdatedAt = now.UTC()
	err = t.exec(`UPDATE follow_copy SET dataset = ?, source = ?, settings = ?, lineage = ?, delta_id = ?, delta_number = ?, generation = ?,
		under_way = ?, overlap_until = ?, reinitialise = ?, updated_at = ? WHERE name = ?`,
		c.Dataset, c.Source, string(settings), c.Lineage, c.DeltaID, c.Number, c.Generation, string(underWay), c.OverlapUntil, c.Reinitialise,
		now.UnixMicro(), c.Name)
	return err
}

// change runs do on a copy of the follower's record in a transaction, and keeps what do made of it when that is in.
func (f *Follower) change(ctx context.Context, do func(t *transaction, c *Copy) error) error {
	next := *f.copy
	if next.UnderWay != nil {
		underWay := *next.UnderWay
		next.UnderWay = &underWay
	}
	err := f.db.inTx(ctx, func(t *transaction) error {
		if err := next.lock(t); err != nil {
			return err
		}
		if err := do(t, &next); err != nil {
			return err
		}
		return next.save(t, f.o.Now())
	})
	if err != nil {
		f.copy.spaces.loaded = false // what was added to it may not be there
		return err
	}
	next.version++
	f.copy = &next
	return nil
}

func createCopy(ctx context.Context, db *database, c *Copy, now time.Time) error {
	settings, err := json.Marshal(c.Settings)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, db.rebind(`INSERT INTO follow_copy (`+copyColumns+`) VALUES (?,?,?,?,'','',0,0,'','','',0,?)`),
		c.Name, c.Dataset, c.Source, string(settings), now.UnixMicro())
	return inDatabase("write", err)
}

// Copies lists the copies in a database. A database that is not there holds none.
func Copies(ctx context.Context, name string) ([]Copy, error) {
	db, err := openDatabase(ctx, name, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer db.Close()
	var out []Copy
	err = db.inTx(ctx, func(t *transaction) error {
		if there, err := t.hasTables(); !there {
			return err
		}
		return t.each(`SELECT `+copyColumns+` FROM follow_copy ORDER BY name`, nil, func(rows *sql.Rows) error {
			c, err := scanCopy(rows.Scan)
			if err == nil {
				out = append(out, *c)
			}
			return err
		})
	})
	return out, err
}

func (t *transaction) hasTables() (bool, error) {
	query := `SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'follow_copy'`
	if t.db.postgres {
		query = `SELECT 1 WHERE to_regclass('follow_copy') IS NOT NULL`
	}
	var one int
	return t.get(query, nil, &one)
}

// checkSettings refuses to go on with other settings than the copy was made with.
func (c *Copy) checkSettings(want Settings) error {
	has, all := c.Settings, func(text string) string { return cmp.Or(text, "none") }
	for _, s := range []struct{ what, has, want string }{
		{"match", has.Match, want.Match},
		{"fields", strings.Join(has.Fields, ","), strings.Join(want.Fields, ",")},
		{"area", has.Area, want.Area},
		{"tombstones", strconv.FormatBool(has.Tombstones), strconv.FormatBool(want.Tombstones)},
	} {
		if s.has != s.want {
			return fault(ErrSettings, "its setting %s is %s, and %s is asked; it must be made anew to change that", s.what, short(all(s.has)), short(all(s.want)))
		}
	}
	return c.checkSelection(want.Selection)
}

// checkSelection is as checkSettings. Of a selection that is not known nothing can be said.
func (c *Copy) checkSelection(want string) error {
	if has := c.Settings.Selection; has != "" && want != "" && has != want {
		return fault(ErrSettings, "of the source it has %s, and %s is asked; it must be made anew to change that", short(has), short(want))
	}
	return nil
}
