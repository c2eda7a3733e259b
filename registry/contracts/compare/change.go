package compare

import (
	"cmp"
	"slices"
	"strings"
)

// Level ranks a change.
type Level string

// The levels: Breaking makes others adapt, Warning may do so, Info does not.
const (
	Breaking Level = "breaking"
	Warning  Level = "warning"
	Info     Level = "info"
)

// The sides that a change can bind.
const (
	SideConsumer = "consumer"
	SideProducer = "producer"
	SideBoth     = "both"
)

// The directions of a change, as those see it who are bound by the contract.
const (
	DirectionSent = "sent"
	DirectionRead = "read"
)

// Change is one difference between two versions of a contract.
type Change struct {
	Level Level
	// Code names the kind of change for machines, such as response-required-property-removed.
	Code string
	// Pointer is the JSON Pointer of the change: in the new document, or in the old one for what was removed.
	Pointer string
	// Removed is set when Pointer is one in the old document.
	Removed bool
	// OldPointer and NewPointer are the JSON Pointers of the place in either document; one is empty for what is absent there.
	OldPointer, NewPointer string
	// Direction is DirectionSent for what those who are bound send, DirectionRead for what they read, else empty.
	Direction string
	// Side names the party that may have to adapt: SideConsumer, SideProducer or SideBoth.
	Side string
	// Subject names the object of the change, such as "GET /students" or "message StudentEnrolled"; with more than one, the
	// first and how many more.
	Subject string
	// Subjects are all of them, sorted.
	Subjects []string
	// Text describes the change, Why its meaning and for whom.
	Text, Why string
	// Cause is the JSON Pointer of the part that changed, such as a shared schema. Changes with the same cause belong together.
	Cause string
	// EventTypes are the CloudEvents types that an AsyncAPI change touches, sorted.
	EventTypes []string
}

// was reports whether what changed was there before.
func (c *Change) was() bool {
	return !strings.Contains(c.Code, "added") && !strings.HasPrefix(c.Code, "new-")
}

// Worst gives the highest level among changes, empty without any.
func Worst(changes []Change) Level {
	var worst Level
	for _, c := range changes {
		if rank(c.Level) < rank(worst) {
			worst = c.Level
		}
	}
	return worst
}

func rank(l Level) int {
	switch l {
	case Breaking:
		return 0
	case Warning:
		return 1
	case Info:
		return 2
	}
	return 3
}

// order sorts: breaking first, then by cause and place.
func order(changes []Change) {
	slices.SortStableFunc(changes, func(a, b Change) int {
		return cmp.Or(
			cmp.Compare(rank(a.Level), rank(b.Level)),
			cmp.Compare(a.Cause, b.Cause), cmp.Compare(a.Pointer, b.Pointer),
			cmp.Compare(a.Code, b.Code), cmp.Compare(a.Side, b.Side), cmp.Compare(a.Text, b.Text),
			slices.Compare(a.Subjects, b.Subjects),
		)
	})
}
