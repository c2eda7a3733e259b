package format

import (
	"errors"
	"fmt"
	"strings"

	"schakel/delivery/mutation/format/xmlscan"
)

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
