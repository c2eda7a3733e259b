package export

import (
	"errors"
	"fmt"
	"time"
)

// What a caller branches on.
var (
	// ErrNothingNew: all groups are in deltas already.
	ErrNothingNew = errors.New("all changes are in deltas already")
	// ErrDeltaUnknown: the dataset never had this delta.
	ErrDeltaUnknown = errors.New("the dataset never had this delta")
	// ErrNoSnapshot: the dataset has no snapshot of its lineage yet, or never had the one asked for.
	ErrNoSnapshot = errors.New("there is no such snapshot")
	// ErrDeltaExpired: the delta, or the one that comes right after it, is over (MUT-33).
	ErrDeltaExpired = errors.New("the delta can be fetched no more")
	// ErrLineageChanged: the delta or snapshot is of a history that was replaced (MUT-38).
	ErrLineageChanged = errors.New("the history of the dataset was replaced")
	// ErrDownloadGone: the download is over.
	ErrDownloadGone = errors.New("the download can be fetched no more")
	// ErrGeofilter: the geofilter cannot be used; the error behind it gives the place.
	ErrGeofilter = errors.New("the geofilter cannot be used")
	// ErrTooMany: the partner waits for as many downloads as it may.
	ErrTooMany = errors.New("too many downloads are waiting")
	// ErrUnreadable: what bounds the subscription cannot be read, so it is not known what it gets.
	ErrUnreadable = errors.New("the area of the subscription cannot be read")
	// ErrObjectType: an object type is not one of the dataset's, or of the subscription's.
	ErrObjectType = errors.New("the object type is not there")
)

// RoomError reports that the stored downloads of a partner reach their limit, and that none of them makes room yet.
type RoomError struct {
	Most  int64     // bytes
	Until time.Time // when the oldest makes room
}

// Error names the limit that is reached.
func (e *RoomError) Error() string {
	return fmt.Sprintf("%d bytes of downloads are kept for this partner, and none makes room before %s", e.Most, e.Until.UTC().Format(time.RFC3339))
}

// GoneError says that what was asked for was there, and how to go on: with the newest snapshot, and the deltas behind the
// one that it includes.
type GoneError struct {
	Kind      error // ErrDeltaExpired, ErrLineageChanged or ErrDownloadGone
	DeltaID   string
	Lineage   string    // of the dataset now
	Reason    string    // why the lineage changed
	ExpiredAt time.Time // the last moment at which it could be fetched; zero with ErrLineageChanged
}

// Error names what is gone.
func (e *GoneError) Error() string {
	if e.Reason != "" {
		return fmt.Sprintf("%v: %s", e.Kind, e.Reason)
	}
	return e.Kind.Error()
}

// Unwrap gives the kind.
func (e *GoneError) Unwrap() error { return e.Kind }
