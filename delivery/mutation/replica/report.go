package replica

import (
	"schakel/delivery/mutation/archive"
	"schakel/delivery/mutation/format"
)

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
