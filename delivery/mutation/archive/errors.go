package archive

import (
	"errors"
	"fmt"
)

// What a caller may want to tell apart.
var (
	// ErrZip is met when the stream is no zip, or a broken one.
	ErrZip = errors.New("the zip is broken")
	// ErrTruncated is met when the stream ends before the zip does; whole entries before that are whole (MUT-29).
	ErrTruncated = errors.New("the zip ends in the middle")
	// ErrLimit is met when a zip exceeds a bound, such as a zip bomb does (MUT-30).
	ErrLimit = errors.New("the zip exceeds a limit")
	// ErrName is met when a name in the zip may not stand there.
	ErrName = errors.New("a name in the zip is not accepted")
	// ErrOrder is met when the names are not in the order of the files (MUT-27).
	ErrOrder = errors.New("the files in the zip are not in the order of their names")
	// ErrMixed is met when a file in the zip belongs to another delivery than the first one (MUT-21).
	ErrMixed = errors.New("the files in the zip are not of one delivery")
	// ErrManifest is met when a manifest does not fit its zip (MUT-65).
	ErrManifest = errors.New("the manifest is not right")
	// ErrUnsupported is met at encryption, and at ways of compression other than deflate.
	ErrUnsupported = errors.New("the zip uses what is not supported here")
)

// Error says in which entry of a zip something went wrong.
type Error struct {
	Entry string // empty: outside entries
	Index int    // of the entry, from 1
	Err   error
}

// Error names the entry first.
func (e *Error) Error() string {
	if e.Entry == "" {
		return e.Err.Error()
	}
	return fmt.Sprintf("file %d (%s): %v", e.Index, e.Entry, e.Err)
}

// Unwrap gives the kind of the error.
func (e *Error) Unwrap() error { return e.Err }

func fault(kind error, what string, args ...any) error {
	return fmt.Errorf("%w: %s", kind, fmt.Sprintf(what, args...))
}
