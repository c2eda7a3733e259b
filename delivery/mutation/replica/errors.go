package replica

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// What a caller may want to tell apart.
var (
	// ErrGap is met when a delta is not the one after the last that is in the copy (MUT-35).
	ErrGap = errors.New("a delivery is missing in between")
	// ErrReinitialise is met when the copy cannot go on and must start from a new initial delivery (MUT-33, MUT-38).
	ErrReinitialise = errors.New("the copy must be made anew from an initial delivery")
	// ErrNoCopy is met when a delta comes and there is no copy yet.
	ErrNoCopy = errors.New("there is no copy yet: it starts with an initial delivery")
	// ErrUnknown is met when a WAS refers to a state that is not in the copy (MUT-45).
	ErrUnknown = errors.New("the WAS is not in the copy")
	// ErrMismatch is met when a WAS has other fields than the state it refers to, and that stops the work (MUT-17).
	ErrMismatch = errors.New("the WAS has other fields than the copy")
	// ErrAmbiguous is met when the elements of a key fit several states (MUT-16).
	ErrAmbiguous = errors.New("the key of the WAS fits several states")
	// ErrNoID is met when states have no id and are to be found by it (MUT-19).
	ErrNoID = errors.New("a state without an id")
	// ErrTwice is met when an id is given to a second state (MUT-10, MUT-13).
	ErrTwice = errors.New("the id was given before")
	// ErrRefused is met when a delivery is not what it should be.
	ErrRefused = errors.New("the delivery is refused")
	// ErrManifest is met when a delivery is not what its manifest says; what it did is done again (MUT-65).
	ErrManifest = errors.New("the delivery is not what its manifest says")
	// ErrChanged is met when the source has other bytes than those that were read before the line was cut, or none any more.
	ErrChanged = errors.New("the source changed while it was read")
	// ErrAccess is met when there will be no access token, however often it is asked for.
	ErrAccess = errors.New("there is no access")
	// ErrBusy is met when another program follows into the same copy.
	ErrBusy = errors.New("another program follows into this copy")
	// ErrUpToDate is answered by a source when the copy has all it has.
	ErrUpToDate = errors.New("the copy is up to date")
	// ErrSettings is met when a copy was made with settings that cannot be changed without rebuilding it.
	ErrSettings = errors.New("the copy was made with other settings")
)

// GroupError says at which group of a delivery the work ended; the groups before it are in the copy.
type GroupError struct {
	Delivery string
	File     string
	Line     int // of the mutation, or of the group; from 1
	Group    int // in the file, from 1
	Err      error
}

// Error names the place first.
func (e *GroupError) Error() string {
	return fmt.Sprintf("delivery %s, %s, line %d, group %d: %v", e.Delivery, e.File, e.Line, e.Group, e.Err)
}

// Unwrap gives the kind of the error.
func (e *GroupError) Unwrap() error { return e.Err }

func fault(kind error, what string, args ...any) error {
	return fmt.Errorf("%w: %s", kind, fmt.Sprintf(what, args...))
}

// short bounds what of a payload stands in a message.
func short(text string) string {
	const most = 300
	if text = strings.ToValidUTF8(text, "?"); len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

// notEnd makes sure that an error on the way is not taken for the end of what is read.
func notEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("%w (%v)", io.ErrUnexpectedEOF, err) //nolint:errorlint // so that it is no io.EOF
	}
	return err
}
