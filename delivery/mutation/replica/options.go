package replica

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"schakel/delivery/mutation/archive"
	"schakel/delivery/mutation/format"
)

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
