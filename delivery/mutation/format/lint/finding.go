package lint

import "fmt"

// Severity grades a finding.
type Severity string

// The severities. An error makes a consumer's copy wrong, or makes it refuse the delivery; a warning may be meant so.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// Rule names what is looked at.
type Rule string

// The rules, with the requirement each stands for.
const (
	Unreadable    Rule = "unreadable"     // the file or the zip cannot be read to its end (MUT-05, MUT-27, MUT-29, MUT-30)
	Schema        Rule = "schema"         // the header is not as the schema asks (MUT-61, MUT-63)
	OldNamespace  Rule = "old-namespace"  // the namespace is 1.0 (MUT-60)
	Mixed         Rule = "mixed"          // a file belongs to another delivery than the first one of its zip (MUT-21)
	InitialWas    Rule = "initial-was"    // an initial state holds a WAS (MUT-31)
	EmptyGroup    Rule = "empty-group"    // a group has no mutations (MUT-22)
	UnknownType   Rule = "unknown-type"   // an object type that the header does not name (MUT-21)
	NoID          Rule = "no-id"          // a state has no id (MUT-19)
	SameID        Rule = "same-id"        // the states before and after a change have one id (MUT-13)
	IDTwice       Rule = "id-twice"       // a WORDT has an id that was given before (MUT-10, MUT-11)
	WasTwice      Rule = "was-twice"      // a WAS refers to a state that is gone already (MUT-13)
	Forward       Rule = "forward"        // a WAS refers to a state that arises later (MUT-26)
	WasUnknown    Rule = "was-unknown"    // a WAS refers to a state that never was, in a history that starts at its beginning (MUT-12)
	WasDiffers    Rule = "was-differs"    // a WAS has other fields than the state it refers to (MUT-17)
	ObjectDiffers Rule = "object-differs" // a WAS is of another object than the state it refers to
	Geometry      Rule = "geometry"       // the geometry of a state cannot be read, so that it lies in every area (MUT-42)
	NoGeometry    Rule = "no-geometry"    // a state has no geometry that is known, and others of its type do, so that it lies in no area (MUT-42)
	Dates         Rule = "dates"          // a version ends before it begins, or its dates cannot be read (MUT-02)
)

// Finding is one thing that is wrong.
type Finding struct {
	Rule     Rule     `json:"rule"`
	Severity Severity `json:"severity"`
	File     string   `json:"file"`
	Line     int      `json:"line,omitempty"`  // from 1
	Group    int      `json:"group,omitempty"` // in the file, from 1
	ID       string   `json:"id,omitempty"`    // of the state
	What     string   `json:"what"`

	order int // of the file
}

// String puts the place first, as compilers do.
func (f Finding) String() string {
	s := f.File
	if f.Line > 0 {
		s += fmt.Sprintf(":%d", f.Line)
	}
	s += fmt.Sprintf(": %s: ", f.Severity)
	if f.Group > 0 {
		s += fmt.Sprintf("group %d: ", f.Group)
	}
	s += f.What
	if f.ID != "" {
		s += fmt.Sprintf(" (id %s)", f.ID)
	}
	return s + fmt.Sprintf(" [%s]", f.Rule)
}

// Report is the outcome.
type Report struct {
	Files     int       `json:"files"`
	Groups    int64     `json:"groups"`
	Mutations int64     `json:"mutations"`
	Errors    int64     `json:"errors"`
	Warnings  int64     `json:"warnings"`
	Findings  []Finding `json:"findings"` // by file and line; no more than asked for
}
