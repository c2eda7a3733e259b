package export

import (
	"cmp"
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

// newID makes the UUID of a delivery.
func newID() (string, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return "", fmt.Errorf("make id of a delivery: %w", err)
	}
	return id.String(), nil
}
