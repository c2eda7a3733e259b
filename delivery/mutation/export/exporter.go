package export

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"schakel/store"
)

const (
	// Retention is how long a delta can be fetched after the end of its window, that moment included (MUT-33).
	Retention = 31 * 24 * time.Hour
	// KeepCustom is how long a download that was asked for can be fetched after it was ready.
	KeepCustom = 7 * 24 * time.Hour
	// KeepReplaced is how long the bytes stay of what was replaced: of snapshots that are older than the newest two, after a
	// newer one came, and of an old lineage.
	KeepReplaced = 24 * time.Hour
	// MostWaiting is how many downloads a partner may have asked for that are not ready yet.
	MostWaiting = 20
	// MostCustomBytes is how many bytes are kept, unless a Config says otherwise, of the downloads that a partner asked for.
	MostCustomBytes = 20 << 30
	// FreshCustom is for how long a download that was asked for makes no room for others after it was ready.
	FreshCustom = time.Hour
	// keepSnapshots is how many snapshots stay, however old.
	keepSnapshots = 2
)

// Config is what an Exporter is made of. Only DB is needed.
type Config struct {
	DB  *store.DB
	Now func() time.Time // default time.Now
	Log *slog.Logger
	// Node is under which name downloads are claimed; each process has its own.
	Node string
	// Lease is how long a node may be silent before another makes its download again; default a minute.
	Lease time.Duration
	// MostCustomBytes bounds the bytes that are kept of what a partner asked for besides its subscriptions, as
	// [store.Queries.KeptMutationDownloads] counts them; default [MostCustomBytes].
	MostCustomBytes int64
}

// Exporter makes deliveries and tells what there is. It is for any number of goroutines.
type Exporter struct{ cfg Config }

// New makes an Exporter.
func New(cfg Config) *Exporter {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	if cfg.Node == "" {
		cfg.Node = cfg.DB.NewID("node")
	}
	if cfg.Lease == 0 {
		cfg.Lease = time.Minute
	}
	if cfg.MostCustomBytes == 0 {
		cfg.MostCustomBytes = MostCustomBytes
	}
	return &Exporter{cfg: cfg}
}

// newID makes the UUID of a delivery.
func newID() (string, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return "", fmt.Errorf("make id of a delivery: %w", err)
	}
	return id.String(), nil
}
