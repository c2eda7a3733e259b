package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"schakel/templates/i18n"
)

// Streams holds the standard streams a command reads and writes.
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

// ExitError asks for an exit code of its own.
type ExitError struct {
	Code int
	Err  error
}

// Error implements error.
func (e *ExitError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *ExitError) Unwrap() error { return e.Err }

// FoundError ends a command that did its work and found something that must stop a pipeline. The command has printed what it
// found; the error gives the summary.
type FoundError string

// Error implements error.
func (e FoundError) Error() string { return string(e) }

// PipelineError gives an error of a command for pipelines its exit code: 1 for a FoundError, else 2.
func PipelineError(err error) error {
	if err == nil {
		return nil
	}
	if _, found := errors.AsType[FoundError](err); found {
		return &ExitError{Code: ExitFailed, Err: err}
	}
	return &ExitError{Code: ExitUsage, Err: err}
}

// Clock returns the time of the machine. The program takes it nowhere else.
func Clock() time.Time { return time.Now() }

// Pause waits for d, and reports whether the context still lives.
func Pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// Formats of printed findings.
const (
	FormatJSON   = "json"
	FormatGitHub = "github"
)

// PrintJSON prints a value as indented JSON.
func PrintJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}

// Plural writes a number with its noun, as the portal does.
func Plural(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return i18n.Count(context.Background(), int(n)) + " " + many
}
