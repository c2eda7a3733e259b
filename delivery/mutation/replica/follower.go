package replica

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"schakel/delivery/mutation/format"
)

// Follower keeps one copy. It is not safe for concurrent use.
type Follower struct {
	o    Options
	db   *database
	copy *Copy // nil: not made yet
}

// fieldName matches the name of an element to keep.
var fieldName = regexp.MustCompile(`^[\pL_][\pL\pN_.-]*(/[\pL_][\pL\pN_.-]*)*$`)

// Open opens the database of a copy, "sqlite:PATH" or "postgres://…", and makes what it needs there.
func Open(ctx context.Context, name string, o Options) (*Follower, error) {
	if o.Name != "" {
		if err := CheckName(o.Name); err != nil {
			return nil, err
		}
	}
	for _, field := range append(append([]string{}, o.Fields...), o.Match.Key...) {
		if !fieldName.MatchString(field) {
			return nil, fmt.Errorf("%.60q is no name of an element", field)
		}
	}
	if o.Reenter != "" && o.Reenter != ReenterAccept && !o.Tombstones {
		return nil, errors.New("what comes back into the area is only seen with tombstones")
	}
	db, err := openDatabase(ctx, name, true)
	if err != nil {
		return nil, err
	}
	f := &Follower{o: o.filled(), db: db}
	if err := f.prepare(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return f, nil
}

// prepare makes the tables that all copies share, and finds the copy when its name is known.
func (f *Follower) prepare(ctx context.Context) error {
	err := f.db.inTx(ctx, func(t *transaction) error {
		if t.db.postgres { // two programs that make tables at once would stumble over each other
			if _, err := t.exec(`SELECT pg_advisory_xact_lock(7311207240)`); err != nil {
				return err
			}
		}
		for query := range strings.SplitSeq(tables, ";") {
			if _, err := t.exec(query); err != nil {
				return err
			}
		}
		return f.upgrade(t)
	})
	if err != nil {
		return err
	}
	if err := f.reload(ctx); err != nil {
		return err
	}
	return f.sweep(ctx)
}

func (f *Follower) reload(ctx context.Context) (err error) {
	if f.o.Name == "" {
		return nil
	}
	before := f.copy
	if f.copy, err = loadCopy(ctx, f.db, f.o.Name); err == nil && before != nil && f.copy != nil && before.version == f.copy.version {
		f.copy.spaces = before.spaces
	}
	return err
}

// Close closes the database.
func (f *Follower) Close() error { return f.db.Close() }

func (f *Follower) settings(selection string) Settings {
	return Settings{Match: f.o.Match.String(), Fields: f.o.Fields, Area: f.o.AreaName, Tombstones: f.o.Tombstones, Selection: selection}
}

// forDataset finds or makes the copy of a dataset.
func (f *Follower) forDataset(ctx context.Context, dataset, source string) error {
	if f.o.Name == "" {
		f.o.Name = nameOf(dataset)
		if err := CheckName(f.o.Name); err != nil {
			return fmt.Errorf("%w; give the copy a name of your own", err)
		}
		if err := f.reload(ctx); err != nil {
			return err
		}
	}
	if f.copy == nil {
		c := &Copy{Name: f.o.Name, Dataset: dataset, Source: source, Settings: f.settings("")}
		if err := createCopy(ctx, f.db, c, f.o.Now()); err != nil {
			return err
		}
		return f.reload(ctx)
	}
	if f.copy.Dataset != dataset {
		return fault(ErrRefused, "it is of dataset %.60q, and the copy %s is of %.60q", dataset, f.copy.Name, f.copy.Dataset)
	}
	return nil
}

// kindOf gives the type of a delivery. Files of namespace 1.0 do not name it; then the source may, or else a copy starts with an
// initial delivery and goes on with deltas.
func (f *Follower) kindOf(h format.Header, d *Delivery) (format.DeliveryType, error) {
	if h.Type != "" && d.Type != "" && h.Type != d.Type {
		return "", fault(ErrRefused, "it is of type %s, and the source calls it %s", h.Type, d.Type)
	}
	switch {
	case h.Type != "":
		return h.Type, nil
	case d.Type != "":
		return d.Type, nil
	case f.copy.Generation == 0:
		return format.Initial, nil
	}
	return format.Delta, nil
}
