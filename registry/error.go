package registry

import (
	"slices"
	"strings"
)

// Codes of an Error: what kind of refusal it is.
const (
	CodeInvalid   = "invalid"   // the input is wrong; Fields names the fields
	CodeForbidden = "forbidden" // the asker may not do this
	CodeConflict  = "conflict"  // the state it is in does not allow this
	CodeNotFound  = "not-found" // there is no such thing, or it is not the asker's

	CodeGone = "version-withdrawn" // the version was published, and is withdrawn

	CodeDigestMissing = "digest-missing" // the request does not name the bytes that it is about
	CodeDraftChanged  = "draft-changed"  // the draft holds other bytes than the request names
)

// Error is a refusal with a text that may be shown to whoever asked. Anything
// that is not an Error is a failure of ours, and is not shown.
type Error struct {
	Code    string
	Message string
	// Fields maps the name of a field of the form or request to its problem.
	Fields map[string]string
}

// Error implements error.
func (e *Error) Error() string {
	if len(e.Fields) == 0 {
		return e.Code + ": " + e.Message
	}
	names := make([]string, 0, len(e.Fields))
	for name := range e.Fields {
		names = append(names, name)
	}
	slices.Sort(names)
	return e.Code + ": " + e.Message + " (" + strings.Join(names, ", ") + ")"
}
