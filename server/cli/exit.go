package cli

import (
	"errors"
	"io"
)

// Streams are the standard streams a command reads and writes.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Exit codes of the program.
const (
	ExitOK      = 0 // done
	ExitFailed  = 1 // could not be done; the message says why
	ExitUsage   = 2 // wrong flags or arguments
	ExitRefused = 3 // publish: the other side refused the event; sending it again will not help
	ExitGaveUp  = 4 // publish: still no answer that settles it when the time was up; run again with the same key
	ExitSkipped = 3 // mutations follow: done, and some of the zips were left out
)

// ExitError is an error that asks for an exit code of its own.
type ExitError struct {
	Code int
	Err  error
}

// Error implements error.
func (e *ExitError) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *ExitError) Unwrap() error { return e.Err }

// errFound ends a command that did its work and found what should stop a pipeline;
// what that is, was printed.
type FoundError string

// Error says it in a line.
func (e FoundError) Error() string { return string(e) }

// PipelineError gives an error of a contract command its exit code.
func PipelineError(err error) error {
	if err == nil {
		return nil
	}
	if _, found := errors.AsType[FoundError](err); found {
		return &ExitError{Code: ExitFailed, Err: err}
	}
	return &ExitError{Code: ExitUsage, Err: err}
}
