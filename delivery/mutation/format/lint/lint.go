// Package lint finds what is wrong in mutation deliveries and no schema can see (MUT-64).
//
// Files and zips are read once, in the order in which they would be processed, whatever their size. What a state's id
// went through can only be judged when everything was read: each use of an id is noted in a record of a fixed size, the
// records are sorted by id and then by order of processing, and each id's uses are judged one after the other. Records
// that do not fit in the memory given are sorted in pieces, kept in temporary files, and merged at the end. So memory
// stays flat, nothing is left out, and a finding about ids comes with the report and not before.
package lint

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"

	"schakel/delivery/mutation/archive"
	"schakel/delivery/mutation/format"
)

// Options sets what a Linter checks and keeps. A zero field takes its default.
type Options struct {
	Complete bool           // the history starts at its beginning; so it does when the first file is an initial state
	Periods  []Period       // default Periods()
	Most     int            // findings to keep; default 1000. All are counted
	Memory   int            // bytes for uses of ids, before temporary files are used; default 64 MiB
	Dir      string         // of the temporary files; default the system's
	Zip      archive.Limits // of zips
	Limits   format.Limits  // of files
}

// Linter looks at files in the order they are given. It is not safe for concurrent use; Report ends it.
type Linter struct {
	options  Options
	report   Report
	files    []string
	records  records
	seq      uint64
	shapes   geometries
	started  bool
	complete bool
	broken   bool // something could not be read, so that what came after it may refer to it
}

// New makes a linter.
func New(o Options) *Linter {
	if o.Periods == nil {
		o.Periods = Periods()
	}
	o.Most = cmp.Or(o.Most, 1000)
	o.Memory = cmp.Or(o.Memory, 64<<20)
	most := max(1000, o.Memory/(recordSize+4))
	return &Linter{options: o, complete: o.Complete, shapes: newGeometries(), records: records{most: most, dir: o.Dir}}
}

// File looks at one XML file. What is wrong with it is a finding; an error is only what keeps the linter from its work.
func (l *Linter) File(name string, r io.Reader) error {
	_, err := l.file(name, r)
	return err
}

func (l *Linter) file(name string, r io.Reader) (format.Header, error) {
	l.files = append(l.files, name)
	l.report.Files++
	start := bufio.NewReader(r)
	if mark, err := start.Peek(2); err == nil && string(mark) == "\x1f\x8b" {
		l.unreadable(errors.New("the file is packed with gzip; unpack it first"))
		return format.Header{}, nil
	}
	in := format.NewReader(name, start, l.options.Limits)
	h, err := in.Header()
	if err != nil && !errors.Is(err, io.EOF) {
		l.unreadable(err)
		return h, nil
	}
	l.header(h)
	for {
		g, err := in.Next()
		if errors.Is(err, io.EOF) {
			return h, nil
		}
		if err != nil {
			l.unreadable(err)
			return h, nil
		}
		if err := l.group(h, g); err != nil {
			return h, err
		}
	}
}

func (l *Linter) add(f Finding) {
	if f.Severity == Error {
		l.report.Errors++
	} else {
		l.report.Warnings++
	}
	if len(l.report.Findings) < l.options.Most {
		l.report.Findings = append(l.report.Findings, f)
	}
}

// here is a finding in the current file.
func (l *Linter) here(rule Rule, severity Severity, line, group int, id, what string) {
	at := len(l.files) - 1
	l.add(Finding{Rule: rule, Severity: severity, File: l.files[at], Line: line, Group: group, ID: id, What: what, order: at})
}

func (l *Linter) unreadable(err error) {
	l.broken = true
	var place *format.Error
	if errors.As(err, &place) {
		l.here(Unreadable, Error, place.Line, place.Group, "", place.Err.Error())
		return
	}
	l.here(Unreadable, Error, 0, 0, "", err.Error())
}

func (l *Linter) header(h format.Header) {
	if !l.started && h.Type == format.Initial {
		l.complete = true
	}
	l.started = true
	for _, d := range h.Deviations {
		l.here(Schema, Error, d.Line, 0, "", d.What)
	}
	if h.Version == format.Namespace1 && !h.BAG2() {
		l.here(OldNamespace, Warning, 0, 0, "", "the file is of namespace 1.0")
	}
}

func (l *Linter) group(h format.Header, g *format.Group) error {
	l.report.Groups++
	l.report.Mutations += int64(len(g.Mutations))
	if len(g.Mutations) == 0 {
		l.here(EmptyGroup, Error, g.Line, g.Index, "", "the group has no mutations")
	}
	for i := range g.Mutations {
		if err := l.mutation(h, g, &g.Mutations[i]); err != nil {
			return err
		}
	}
	return nil
}

func (l *Linter) mutation(h format.Header, g *format.Group, m *format.Mutation) error {
	if m.Was != nil && h.Type == format.Initial {
		l.here(InitialWas, Error, m.Line, g.Index, m.Was.ID, "an initial state only adds")
	}
	if m.ObjectType != "" && len(h.ObjectTypes) > 0 && !slices.Contains(h.ObjectTypes, m.ObjectType) {
		l.here(UnknownType, Warning, m.Line, g.Index, "", "the header does not name the object type "+m.ObjectType)
	}
	same := m.Kind() == format.Change && m.Was.ID != "" && m.Was.ID == m.Wordt.ID
	if same {
		l.here(SameID, Error, m.Line, g.Index, m.Was.ID, "the states before and after have the same id")
	}
	l.seq += 2
	if err := l.state(h, g, m, m.Was, l.seq); err != nil {
		return err
	}
	if m.Wordt != nil {
		l.dates(g, m.Wordt)
	}
	if same { // reported already
		return nil
	}
	return l.state(h, g, m, m.Wordt, l.seq+1)
}

func (l *Linter) dates(g *format.Group, s *format.State) {
	for _, p := range l.options.Periods {
		if what := p.check(s); what != "" {
			l.here(Dates, Warning, s.Line, g.Index, s.ID, what)
		}
	}
}

// state notes one use of an id.
func (l *Linter) state(h format.Header, g *format.Group, m *format.Mutation, s *format.State, seq uint64) error {
	if s == nil {
		return nil
	}
	l.geometry(g, m, s)
	if s.ID == "" && h.BAG2() {
		return nil // BAG 2.0 has none: its states are found by their fields
	}
	if s.ID == "" {
		l.here(NoID, Warning, s.Line, g.Index, "", "the state has no id, so it can be found by its fields only")
		return nil
	}
	r := record{key: keyOf(s.ID), seq: seq, file: uint32(len(l.files) - 1), line: uint32(m.Line), group: uint32(g.Index)}
	if m.ObjectType != "" || m.ObjectID != "" {
		r.object = mark(sha256.Sum256([]byte(m.ObjectType + "\x00" + m.ObjectID)))
	}
	sum, err := s.Digest()
	if err != nil {
		return err
	}
	r.fields = mark(sum)
	return l.records.add(r)
}

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
