package xmlscan

import (
	"errors"
	"fmt"
)

// What a caller may want to tell apart.
var (
	// ErrLimit is met when a document exceeds one of the Limits.
	ErrLimit = errors.New("the document exceeds a limit")
	// ErrDoctype is met at a document type declaration, which is never read (MUT-30).
	ErrDoctype = errors.New("a document type declaration is not accepted")
	// ErrTruncated is met when the document ends before its root element does.
	ErrTruncated = errors.New("the document ends in the middle")
	// ErrMalformed is met when the document is not well-formed XML in UTF-8.
	ErrMalformed = errors.New("the document is not well-formed")
)

// SyntaxError gives the place of a problem in a document.
type SyntaxError struct {
	Line, Column int    // both from 1; the column counts bytes
	What         string // empty when Err says it all
	Err          error  // one of the errors of this package, or what the reader below answered
}

// Error names the place first.
func (e *SyntaxError) Error() string {
	if e.What == "" {
		return fmt.Sprintf("line %d, column %d: %v", e.Line, e.Column, e.Err)
	}
	return fmt.Sprintf("line %d, column %d: %v: %s", e.Line, e.Column, e.Err, e.What)
}

// Unwrap gives the kind of the error.
func (e *SyntaxError) Unwrap() error { return e.Err }

func malformed(what string, args ...any) error {
	return &SyntaxError{What: fmt.Sprintf(what, args...), Err: ErrMalformed}
}

// NewLimit is an ErrLimit that says which one.
func NewLimit(what string, args ...any) error {
	return &SyntaxError{What: fmt.Sprintf(what, args...), Err: ErrLimit}
}

// Bare is the error without its place.
func (e *SyntaxError) Bare() error {
	if e.What == "" {
		return e.Err
	}
	return fmt.Errorf("%w: %s", e.Err, e.What)
}
