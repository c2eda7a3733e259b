package replica

import (
	"context"
	"errors"
	"fmt"
	"io"

	"schakel/delivery/mutation/archive"
	"schakel/delivery/mutation/format"
)

// Delivery is one zip to apply, and what is known of it beside the zip.
type Delivery struct {
	ID        string              // of the delta at the source; default: the delivery id in its files
	Type      format.DeliveryType // empty: not known
	Number    int64               // of the delta; 0: not known
	Chained   bool                // Previous is known
	Previous  string              // the delta before it; empty with Chained: it is the first (MUT-35)
	Lineage   string              // empty: not known (MUT-38)
	Includes  string              // the last delta in an initial delivery (MUT-34); default: the delivery id in its files
	Overlap   bool                // what it does may be in the copy already (MUT-36)
	Rebuild   bool                // an initial delivery is applied also when it was before
	Until     string              // the last delta that an initial delivery may have a part of; empty: it is exact
	Manifest  *archive.Manifest   // nil: there is none
	Selection func() string       // gives the requested part of the dataset, once Open has succeeded; nil: it is not known
	Source    string              // where it comes from, as people know it
	Again     bool                // Open can be called again
	// Accept looks at the header of its first file before anything is done; nil takes any.
	Accept func(h format.Header) error
	// Open gives the zip from its first byte.
	Open func(ctx context.Context) (io.ReadCloser, error)

	file      string   // on disk
	passed    []string // files before it that are behind the initial delivery of the copy
	byContent bool     // its id does not tell it from others, its bytes do
	once      bool     // it can be read only once
	content   *content // of what is read; nil unless byContent
	other     bool     // it was read to its end, and is none that the copy has
}

// head is of the file that is read; empty when ids tell deliveries apart.
func (d *Delivery) head() string {
	if d.content == nil {
		return ""
	}
	return d.content.head
}

// name tells of a delivery of which the files are not seen yet.
func (d *Delivery) name() string {
	switch {
	case d.file != "":
		return "delivery " + d.file
	case d.ID == "" && d.Type == format.Initial:
		return "the initial delivery"
	case d.ID == "":
		return "delivery"
	}
	return fmt.Sprintf("delivery %.100s", d.ID)
}

// selection describes the request; empty when that is not known.
func (d *Delivery) selection() string {
	if d.Selection == nil {
		return ""
	}
	return d.Selection()
}

// tries limits the reads of a delivery that differs from its manifest.
const tries = 3

// Apply brings a delivery into the copy, or what is left of it when a part is in. A delivery that is in already does
// nothing. Whatever error comes, whole groups are in up to some group, and the copy knows up to which.
func (f *Follower) Apply(ctx context.Context, d Delivery, report *Report) error {
	for try := 1; ; try++ {
		err := f.applyOnce(ctx, &d, report)
		again := errors.Is(err, ErrChanged) || errors.Is(err, ErrManifest) || errors.Is(err, archive.ErrTruncated)
		if !again || !d.Again || try == tries || ctx.Err() != nil {
			return err
		}
		report.note(fmt.Sprintf("%s is read again: %v", d.name(), err))
		f.o.Log.WarnContext(ctx, "delivery is read again", "delivery", d.ID, "err", err)
	}
}

func (f *Follower) applyOnce(ctx context.Context, d *Delivery, report *Report) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	body, err := d.open(ctx)
	if err != nil {
		return fmt.Errorf("open %s: %w", d.name(), err)
	}
	defer body.Close()
	zip := archive.NewDeliveryReader(body, f.o.Archive, f.o.Format)
	h, err := zip.Header()
	if errors.Is(err, io.EOF) {
		err = fault(ErrRefused, "the zip has no files")
	}
	if err != nil {
		return fmt.Errorf("%s: %w", d.name(), err)
	}
	if d.ID == "" {
		d.ID = h.DeliveryID
	}
	skip, err := f.begin(ctx, h, d)
	switch {
	case errors.Is(err, errAgain) && d.once:
		return fault(ErrRefused, "%s begins as one that is in the copy and goes on otherwise, and can be read only once: give it as a file", d.name())
	case errors.Is(err, errAgain):
		d.other = true
		return f.applyOnce(ctx, d, report)
	case err != nil:
		return err
	case skip != "":
		report.skip(d, skip)
		return nil
	}
	for _, name := range d.passed {
		report.skip(&Delivery{file: name}, "it is behind the initial delivery")
	}
	d.passed = nil
	for _, odd := range h.Deviations {
		report.note(fmt.Sprintf("delivery %s, line %d: %s", d.ID, odd.Line, odd.What))
	}
	if f.copy.UnderWay.Replay {
		report.note(fmt.Sprintf("delta %s may be in for a part: what it does is done over that", d.ID))
	}
	r := &run{f: f, d: d, zip: zip, report: report, start: *f.copy.UnderWay}
	if r.area, err = f.areaOf(h, d); err != nil {
		return err
	}
	return r.all(ctx)
}

// open opens the zip, and looks at its head when its bytes tell it from others.
func (d *Delivery) open(ctx context.Context) (io.ReadCloser, error) {
	body, err := d.Open(ctx)
	if err != nil || !d.byContent {
		return body, err
	}
	if d.content, err = newContent(body); err != nil {
		return nil, errors.Join(err, body.Close())
	}
	return d.content, nil
}

// areaOf is the area that the copy is bounded to; nil is everything. What the source keeps to counts beside an area of one's
// own: what leaves that is not heard of again.
func (f *Follower) areaOf(h format.Header, d *Delivery) (Area, error) {
	if d.Manifest == nil || d.Manifest.Area == "" {
		return f.o.Area, nil
	}
	if f.o.AreaOf == nil {
		return nil, fault(ErrRefused, "it is bounded to an area, which must be given to tell what leaves it")
	}
	area, err := f.o.AreaOf(d.Manifest.Area, d.Manifest.Located)
	if err != nil {
		return nil, fault(ErrRefused, "the area of dataset %.60q cannot be read: %v", h.Dataset, err)
	}
	if f.o.Area != nil {
		return both{f.o.Area, area}, nil
	}
	return area, nil
}

// both is the intersection of two areas.
type both [2]Area

func (b both) Inside(s *format.State) (bool, error) {
	in, err := b[0].Inside(s)
	if err != nil || !in {
		return in, err
	}
	return b[1].Inside(s)
}

// Counts sums the changes to the copy.
type Counts struct {
	archive.Counts
	Entered   int64 `json:"entered"`   // came into the area as a change (MUT-44)
	Left      int64 `json:"left"`      // went out of the area (MUT-45)
	Reentered int64 `json:"reentered"` // came back into it (MUT-46)
	Outside   int64 `json:"outside"`   // sent, but not in the area (MUT-48)
	Again     int64 `json:"again"`     // were in the copy already (MUT-36)
	Verified  int64 `json:"verified"`  // WAS whose fields were compared (MUT-17)
	Wrong     int64 `json:"wrong"`     // of those, with other fields than the copy
	Repaired  int64 `json:"repaired"`  // WAS that the copy had lost
}

func (c *Counts) plus(o Counts) {
	c.Groups, c.Adds, c.Changes, c.Deletes = c.Groups+o.Groups, c.Adds+o.Adds, c.Changes+o.Changes, c.Deletes+o.Deletes
	c.Entered, c.Left, c.Reentered, c.Outside = c.Entered+o.Entered, c.Left+o.Left, c.Reentered+o.Reentered, c.Outside+o.Outside
	c.Again, c.Verified, c.Wrong, c.Repaired = c.Again+o.Again, c.Verified+o.Verified, c.Wrong+o.Wrong, c.Repaired+o.Repaired
}

// Mismatch is a WAS whose fields are not those of the copy. The id is for who mends the copy, not for its users (MUT-18).
type Mismatch struct {
	ID         string `json:"id"`
	ObjectType string `json:"objectType"`
	ObjectID   string `json:"objectId"`
	Expected   string `json:"expected"` // what the delivery says it was
	Found      string `json:"found"`    // what the copy has; empty: nothing
}

// mostMismatches bounds the mismatches in a report; all are counted.
const mostMismatches = 100

// Progress reports the position after a transaction.
type Progress struct {
	Delivery string
	Type     format.DeliveryType
	At       archive.Position // the last group that is in
	Groups   int64            // of this delivery
	Counts   Counts           // of this run
}

// Applied reports one delivery.
type Applied struct {
	ID      string              `json:"id"`
	Type    format.DeliveryType `json:"type"`
	Skipped bool                `json:"skipped,omitempty"` // it was in the copy
	Why     string              `json:"why,omitempty"`     // it was skipped
	Resumed int64               `json:"resumed,omitempty"` // groups that were in from a run before
	Counts  Counts              `json:"counts"`
}

// Report sums up a run.
type Report struct {
	Copy       string     `json:"copy"`
	Dataset    string     `json:"dataset"`
	Lineage    string     `json:"lineage,omitempty"`
	DeltaID    string     `json:"deltaId,omitempty"` // the last delta that is in the copy
	Deliveries []Applied  `json:"deliveries"`
	Counts     Counts     `json:"counts"`
	Seconds    float64    `json:"seconds"`
	PerSecond  float64    `json:"groupsPerSecond"`
	Mismatches []Mismatch `json:"mismatches,omitempty"`
	Notes      []string   `json:"notes,omitempty"`
	Ended      *Ended     `json:"ended,omitempty"` // the dataset has ended, and the copy is complete
	Rebuilt    bool       `json:"-"`               // an initial delivery came in whole: the copy was made, or rebuilt
}

// skip tells that a delivery was passed over, and why.
func (r *Report) skip(d *Delivery, why string) {
	r.Deliveries = append(r.Deliveries, Applied{ID: d.ID, Type: d.Type, Skipped: true, Why: why})
	r.note(d.name() + " is skipped: " + why)
}

// Skipped counts the deliveries that were passed over.
func (r *Report) Skipped() (n int) {
	for _, d := range r.Deliveries {
		if d.Skipped {
			n++
		}
	}
	return n
}

func (r *Report) note(text string) {
	if len(r.Notes) < mostMismatches {
		r.Notes = append(r.Notes, text)
	}
}
