// Package replica keeps an exact copy of somebody's dataset in a database of one's own, by the deliveries of its changes
// (MUT-01).
//
// A copy is made of an initial delivery and kept up with deltas. Deliveries are streamed: nothing waits for a whole zip,
// and memory does not grow with it (MUT-28). Many groups go into one transaction, a group never into two (MUT-22), and
// how far the copy is stands in the same transaction (MUT-37). So whatever happens - a cut line, a killed program, a
// machine without power - the copy equals the dataset after some group, and the next run goes on behind that one. Losing the
// last transactions at a power cut is allowed for: they are done again.
//
// An initial delivery goes into a table of its own while the view of the copy still shows the old one; they are swapped in
// one transaction at the end. Nothing that is shown has the ids of states in it (MUT-18).
//
// Nothing here knows what the objects are or how their history works (MUT-03, MUT-04).
package replica

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"strings"
	"time"

	"schakel/delivery/mutation/archive"
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
			if err := t.exec(`SELECT pg_advisory_xact_lock(7311207240)`); err != nil {
				return err
			}
		}
		for query := range strings.SplitSeq(tables, ";") {
			if err := t.exec(query); err != nil {
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

// Area decides what belongs to the copy of who keeps a part of a dataset.
type Area interface {
	// Inside reports whether a state lies in the area.
	Inside(s *format.State) (bool, error)
}

// Verify sets the treatment of a WAS whose fields differ from those of the copy (MUT-17).
type Verify string

// The ways to verify.
const (
	VerifyOff    Verify = "off"    // it is not looked at
	VerifyWarn   Verify = "warn"   // it is reported; the WORDT takes its place as always
	VerifyRepair Verify = "repair" // as warn, and a WAS that the copy has lost is no error either
	VerifyStop   Verify = "stop"   // it is an error
)

// Reenter sets the treatment of an object that left the area and comes back (MUT-46).
type Reenter string

// The ways to take an object that comes back. Its versions of the time outside are missing.
const (
	ReenterAccept  Reenter = "accept"          // it is tracked again
	ReenterFlag    Reenter = "flag"            // it is tracked again, and its tombstone stays with the time it came back
	ReenterInitial Reenter = "request-initial" // it is tracked again, and the copy is to be rebuilt after this delivery
)

// Options configures a copy. The zero value keeps every state whole and finds it by its id.
type Options struct {
	Name       string   // of the copy, and of the view that shows it; default: the dataset
	Match      Match    // how a WAS is found
	Fields     []string // keep only the texts of these elements; default: the whole XML (MUT-14)
	Verify     Verify   // default: off
	Area       Area     // keep only what lies in it; default: everything
	AreaName   string   // tells one area from another: a copy keeps one and the same
	Tombstones bool     // remember what left the area
	Reenter    Reenter  // needs Tombstones; default: accept

	// AreaOf reads the area of a manifest, and what places objects in it, when the manifest has them. Area counts beside it.
	// Nil refuses deliveries of a part.
	AreaOf func(text string, by *archive.Located) (Area, error)

	Archive archive.Limits // of zips
	Format  format.Limits  // of XML
	// Mutations and Bytes of XML that go into one transaction, unless one group is larger; default 4000 and 4 MiB.
	Mutations, Bytes int

	Now      func() time.Time                                 // default: time.Now
	Wait     func(ctx context.Context, d time.Duration) error // default: a timer
	Log      *slog.Logger                                     // default: none
	Progress func(Progress)                                   // called after each transaction
}

func (o Options) filled() Options {
	or := func(n *int, value int) {
		if *n <= 0 {
			*n = value
		}
	}
	o.Archive.Others = true
	or(&o.Mutations, 4000)
	or(&o.Bytes, 4<<20)
	o.Verify = cmp.Or(o.Verify, VerifyOff)
	o.Reenter = cmp.Or(o.Reenter, ReenterAccept)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Wait == nil {
		o.Wait = waitFor
	}
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.Progress == nil {
		o.Progress = func(Progress) {}
	}
	return o
}

func waitFor(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// What a caller may want to tell apart.
var (
	// ErrGap is met when a delta is not the one after the last that is in the copy (MUT-35).
	ErrGap = errors.New("a delivery is missing in between")
	// ErrReinitialise is met when the copy cannot go on and must start from a new initial delivery (MUT-33, MUT-38).
	ErrReinitialise = errors.New("the copy must be made anew from an initial delivery")
	// ErrNoCopy is met when a delta comes and there is no copy yet.
	ErrNoCopy = errors.New("there is no copy yet: it starts with an initial delivery")
	// ErrUnknown is met when a WAS refers to a state that is not in the copy (MUT-45).
	ErrUnknown = errors.New("the WAS is not in the copy")
	// ErrMismatch is met when a WAS has other fields than the state it refers to, and that stops the work (MUT-17).
	ErrMismatch = errors.New("the WAS has other fields than the copy")
	// ErrAmbiguous is met when the elements of a key fit several states (MUT-16).
	ErrAmbiguous = errors.New("the key of the WAS fits several states")
	// ErrNoID is met when states have no id and are to be found by it (MUT-19).
	ErrNoID = errors.New("a state without an id")
	// ErrTwice is met when an id is given to a second state (MUT-10, MUT-13).
	ErrTwice = errors.New("the id was given before")
	// ErrRefused is met when a delivery is not what it should be.
	ErrRefused = errors.New("the delivery is refused")
	// ErrManifest is met when a delivery is not what its manifest says; what it did is done again (MUT-65).
	ErrManifest = errors.New("the delivery is not what its manifest says")
	// ErrChanged is met when the source has other bytes than those that were read before the line was cut, or none any more.
	ErrChanged = errors.New("the source changed while it was read")
	// ErrAccess is met when there will be no access token, however often it is asked for.
	ErrAccess = errors.New("there is no access")
	// ErrBusy is met when another program follows into the same copy.
	ErrBusy = errors.New("another program follows into this copy")
	// ErrUpToDate is answered by a source when the copy has all it has.
	ErrUpToDate = errors.New("the copy is up to date")
	// ErrSettings is met when a copy was made with settings that cannot be changed without rebuilding it.
	ErrSettings = errors.New("the copy was made with other settings")
)

// GroupError says at which group of a delivery the work ended; the groups before it are in the copy.
type GroupError struct {
	Delivery string
	File     string
	Line     int // of the mutation, or of the group; from 1
	Group    int // in the file, from 1
	Err      error
}

// Error names the place first.
func (e *GroupError) Error() string {
	return fmt.Sprintf("delivery %s, %s, line %d, group %d: %v", e.Delivery, e.File, e.Line, e.Group, e.Err)
}

// Unwrap gives the kind of the error.
func (e *GroupError) Unwrap() error { return e.Err }

func fault(kind error, what string, args ...any) error {
	return fmt.Errorf("%w: %s", kind, fmt.Sprintf(what, args...))
}

// short bounds what of a payload stands in a message.
func short(text string) string {
	const most = 300
	if text = strings.ToValidUTF8(text, "?"); len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

// notEnd makes sure that an error on the way is not taken for the end of what is read.
func notEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("%w (%v)", io.ErrUnexpectedEOF, err) //nolint:errorlint // so that it is no io.EOF
	}
	return err
}
