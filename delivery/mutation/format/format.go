// Package format reads and writes files of the mutation delivery format, a group at a time.
//
// A file belongs to a delivery of a dataset and holds groups of mutations. A mutation is on a version of an object: it
// adds one (a WORDT), changes one (a WAS and a WORDT) or deletes one (a WAS); see MUT-05. Nothing here knows what is
// in the objects: their XML passes byte for byte (MUT-25), with the namespaces that were declared around it, so that
// it can be cut out and stand alone.
//
// Reading takes namespace 1.0 and 2.0, writing gives 2.0 (MUT-60). Memory does not grow with the file. The package
// xmlscan underneath refuses entities and bounds every size (MUT-30); lint finds what neither it nor the schema can.
package format

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"schakel/delivery/mutation/format/xmlscan"
)

// The namespaces of the format.
const (
	Namespace1 = "http://www.kadaster.nl/schemas/mutatielevering-generiek/1.0"
	Namespace2 = "http://www.kadaster.nl/schemas/mutatielevering-generiek/2.0"
)

// Namespace binds a prefix, empty for the default, to a namespace.
type Namespace = xmlscan.Namespace

// DeliveryType tells deliveries of all states from deliveries of changes.
type DeliveryType string

// The types of deliveries. Files of namespace 1.0 do not say theirs.
const (
	Delta   DeliveryType = "delta"
	Initial DeliveryType = "initial"
)

// Name is the name of an element. The prefix is only how it is written.
type Name struct{ Prefix, Space, Local string }

// Header says to which delivery a file belongs (MUT-21).
type Header struct {
	Root        Name         // the element around the message; zero: none
	Version     string       // the namespace of the format: Namespace1 or Namespace2; a writer writes Namespace2
	Dataset     string       // such as "bgt"
	Type        DeliveryType // empty when the file does not say
	Area        string       // what the delivery is bounded to, such as a WKT polygon
	DeliveryID  string       // the same in every file of a delivery
	ObjectTypes []string     // the kinds of objects that may follow
	Namespaces  []Namespace  // declared on the outer elements, the format's own included when it was read
	Object      string       // for a writer: the element to put around objects that stand in none of the dataset; empty: none
	Deviations  []Deviation  // where the header was read although it is not as the schema asks
}

// BAG2 reports whether the file is one of BAG 2.0: of namespace 1.0 with content of its own. It names no object types, has an
// element bagInfo before the message, and its states have no ids (MUT-61). Files are judged by the namespace of their root.
func (h *Header) BAG2() bool {
	return h.Version != Namespace2 && h.Root.Local == "bagMutaties" &&
		strings.HasPrefix(h.Root.Space, "http://www.kadaster.nl/schemas/lvbag/extract-deelbestand-mutaties-lvc/")
}

// Deviation is a way in which a file that could be read is not as the schema asks (MUT-61).
type Deviation struct {
	Line int
	What string
}

// Kind names the effect of a mutation on a version.
type Kind uint8

// The kinds of mutations (MUT-05).
const (
	Add    Kind = iota + 1 // WORDT only
	Change                 // WAS and WORDT
	Delete                 // WAS only
)

// String is an English name.
func (k Kind) String() string {
	switch k {
	case Add:
		return "add"
	case Change:
		return "change"
	case Delete:
		return "delete"
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// element is the name in the schema.
func (k Kind) element() string {
	switch k {
	case Add:
		return "toevoeging"
	case Change:
		return "wijziging"
	}
	return "verwijdering"
}

// Group is a number of mutations that belong together and are processed in one go (MUT-22).
type Group struct {
	Index     int // in the file, from 1
	Line      int // where it starts in the file, from 1
	Mutations []Mutation
}

// Mutation is a change of one version of an object.
type Mutation struct {
	ObjectType string // the attribute, empty when the file has none; see Type
	ObjectID   string // the attribute, empty when the file has none
	Was        *State // what the version was, nil when it is added
	Wordt      *State // what it becomes, nil when it is deleted
	Line       int    // where it starts in the file, from 1
}

// Kind follows from which states are there; 0 when neither is.
func (m *Mutation) Kind() Kind {
	switch {
	case m.Was == nil && m.Wordt == nil:
		return 0
	case m.Was == nil:
		return Add
	case m.Wordt == nil:
		return Delete
	}
	return Change
}

// Type is the type of the object: the attribute, or else the name of the payload's object element (MUT-23).
func (m *Mutation) Type() string {
	switch {
	case m.ObjectType != "":
		return m.ObjectType
	case m.Wordt != nil:
		return m.Wordt.Object
	case m.Was != nil:
		return m.Was.Object
	}
	return ""
}

// FoldType makes the first letter of an object type small: Perceel and perceel are the same (MUT-63).
func FoldType(name string) string {
	first, size := utf8.DecodeRuneInString(name)
	if !unicode.IsUpper(first) {
		return name
	}
	return string(unicode.ToLower(first)) + name[size:]
}

// HasType reports whether a list of object types has one, in either case of its first letter.
func HasType(types []string, name string) bool {
	return slices.ContainsFunc(types, func(t string) bool { return FoldType(t) == FoldType(name) })
}

// State is a version of an object at one moment.
type State struct {
	// ID tells this state from all others; a later WAS names it (MUT-10, MUT-12). It may be empty in what is read
	// (MUT-19). It is an aid to process deliveries and no data of the source (MUT-18).
	ID string
	// XML is one element as it stood in the file, byte for byte.
	XML []byte
	// Namespaces are the declarations outside that element that hold for it, sorted by prefix, as far as it may need them.
	Namespaces []Namespace
	// Object is the name of the object's own element without prefix, such as "Woonplaats": the first one from the
	// outside in that begins with a capital, as types do in GML, or else the first inside the outermost.
	Object string
	// Line counts the lines of the file up to the start of XML, from 1.
	Line int

	outer      Name // its outermost element, without a prefix
	ownDefault bool // its element declares the default namespace itself
	sound      bool // this package has read XML, so a writer need not check it
	room       room // what it asks of a reader
}

// What a caller may want to tell apart, besides the errors of xmlscan.
var (
	// ErrFormat is met when XML is well-formed but no mutation delivery.
	ErrFormat = errors.New("this is not the mutation delivery format")
	// ErrLimit is met when a file exceeds a bound.
	ErrLimit = xmlscan.ErrLimit
	// ErrTruncated is met when a file ends in the middle; the groups before that are whole (MUT-29).
	ErrTruncated = xmlscan.ErrTruncated
	// ErrInvalid is met by a writer when what it is to write breaks a rule of the format.
	ErrInvalid = errors.New("this cannot be written in the mutation delivery format")
)

// Error gives the place of a problem in a file.
type Error struct {
	File         string
	Line, Column int // from 1
	Group        int // the group it happened in, from 1; 0 is outside
	Err          error
}

// Error names the place first.
func (e *Error) Error() string {
	var b strings.Builder
	if e.File != "" {
		fmt.Fprintf(&b, "%s, ", e.File)
	}
	fmt.Fprintf(&b, "line %d, column %d", e.Line, e.Column)
	if e.Group > 0 {
		fmt.Fprintf(&b, ", group %d", e.Group)
	}
	return b.String() + ": " + e.Err.Error()
}

// Unwrap gives the kind of the error.
func (e *Error) Unwrap() error { return e.Err }

func malformed(what string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrFormat, fmt.Sprintf(what, args...))
}

func invalid(what string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrInvalid, fmt.Sprintf(what, args...))
}
