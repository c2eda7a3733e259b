// Package export makes what followers of a dataset fetch: deltas, snapshots, and the parts of those that one of them wants.
//
// A delta is the groups behind the delta before it, up to the last group that was there when it was begun; a snapshot is
// every state that was there at the end of a delta (MUT-31, MUT-32), which it names (MUT-34). Both are written as a stream
// from the store into a zip in the store, while the dataset goes on to change, and are stored by the one transaction that
// finishes their zip, only if they still fit: so that two nodes, a crash or a replaced history leave no gap, no overlap and
// no double. What is broken off leaves an unfinished file, which is pruned.
//
// A delta can be fetched until 31 times 24 hours after the end of its window, that moment included (MUT-33); afterwards it is
// known that it was there, so that a follower that asks is answered to rebuild from a snapshot. Of snapshots the newest two
// stay, and any other for a day after a newer one came. Downloads that were asked for stay seven days, those of a subscription
// as long as their delta or snapshot. What an old lineage had can be fetched no more, and its bytes go after a day.
//
// A part is made from the finished zip: mutations pass byte for byte. It has a lineage of its own, which follows from the
// dataset's and the filter, so that another area is another lineage (MUT-38, MUT-49). Parts with the same bytes are made once.
package export

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"schakel/store"
)

const (
	// Retention lets a delta be fetched until so long after the end of its window, that moment included (MUT-33).
	Retention = 31 * 24 * time.Hour
	// KeepCustom lets a requested download be fetched until so long after it was ready.
	KeepCustom = 7 * 24 * time.Hour
	// KeepReplaced keeps replaced bytes for so long: of snapshots that are older than the newest two, after a
	// newer one came, and of an old lineage.
	KeepReplaced = 24 * time.Hour
	// MostWaiting limits the requested downloads of a partner that are not ready yet.
	MostWaiting = 20
	// MostCustomBytes limits the bytes stored of the downloads that a partner requested, unless a Config says otherwise.
	MostCustomBytes = 20 << 30
	// FreshCustom is for how long a download that was asked for makes no room for others after it was ready.
	FreshCustom = time.Hour
	// keepSnapshots counts the snapshots that stay, however old.
	keepSnapshots = 2
)

// Config holds the dependencies and limits of an Exporter. Only DB is required.
type Config struct {
	DB  *store.DB
	Now func() time.Time // default time.Now
	Log *slog.Logger
	// Node names this process in claims of downloads; each process has its own.
	Node string
	// Lease lets a node be silent for so long before another makes its download again; default a minute.
	Lease time.Duration
	// MostCustomBytes bounds the bytes stored of what a partner requested besides its subscriptions, as
	// [store.Queries.KeptMutationDownloads] counts them; default [MostCustomBytes].
	MostCustomBytes int64
}

// Exporter makes deliveries and offers them to readers. It is safe for concurrent use.
type Exporter struct{ cfg Config }

// New makes an Exporter.
func New(cfg Config) *Exporter {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	cfg.Log = cmp.Or(cfg.Log, slog.Default())
	if cfg.Node == "" {
		cfg.Node = cfg.DB.NewID("node")
	}
	cfg.Lease = cmp.Or(cfg.Lease, time.Minute)
	cfg.MostCustomBytes = cmp.Or(cfg.MostCustomBytes, MostCustomBytes)
	return &Exporter{cfg: cfg}
}

func newID() (string, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return "", fmt.Errorf("make id of a delivery: %w", err)
	}
	return id.String(), nil
}

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
