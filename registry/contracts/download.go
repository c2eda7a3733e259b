package contracts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"schakel/registry"
	"schakel/registry/sorted"
	"schakel/store"
)

// Bounds of what is remembered of downloads until it is written.
const (
	downloadAgain = time.Hour // the same reader of the same version is not written more often
	maxDownloads  = 20_000    // that wait to be written; more are not remembered
)

// Downloader identifies the reader that downloads a version of a contract; the zero Downloader is anonymous.
type Downloader struct {
	Kind      string // store.DownloadClient, DownloadReadKey or DownloadAccount
	ID        string
	PartnerID string
}

// Downloads remembers who fetched which version of a contract, so that who withdraws one knows whom to tell. A download
// never waits for it: what is noted is written later by Write. A crash in between forgets some seconds of it.
type Downloads struct {
	cfg registry.Config

	mu        sync.Mutex
	waiting   []store.ContractDownload
	lately    map[downloaded]time.Time // what was noted in the last hour
	anonymous map[anonymousDay]int64
}

type downloaded struct{ versionID, kind, id string }

type anonymousDay struct{ versionID, day string }

// NewDownloads makes the service.
func NewDownloads(cfg registry.Config) *Downloads {
	return &Downloads{cfg: cfg, lately: map[downloaded]time.Time{}, anonymous: map[anonymousDay]int64{}}
}

// Note remembers that somebody fetched a version that is not a draft.
func (d *Downloads) Note(v store.ContractVersion, who Downloader) {
	if v.Status == store.VersionDraft {
		return
	}
	now := d.cfg.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	if who.ID == "" {
		day := anonymousDay{v.ID, now.UTC().Format(time.DateOnly)}
		if _, there := d.anonymous[day]; there || len(d.anonymous) < maxDownloads {
			d.anonymous[day]++
		}
		return
	}
	key := downloaded{v.ID, who.Kind, who.ID}
	if now.Sub(d.lately[key]) < downloadAgain || len(d.waiting) >= maxDownloads {
		return
	}
	d.lately[key] = now
	d.waiting = append(d.waiting, store.ContractDownload{VersionID: v.ID, ReaderKind: who.Kind, ReaderID: who.ID, PartnerID: who.PartnerID, LastAt: store.At(now)})
}

// Write writes what was noted since the last time. What cannot be written now waits for the next time.
func (d *Downloads) Write(ctx context.Context) error {
	rows, counts := d.take()
	if len(rows)+len(counts) == 0 {
		return nil
	}
	// All nodes in the same order, so that none waits for another in a circle.
	sorted.By(rows, func(a, b store.ContractDownload) int {
		return cmp.Or(cmp.Compare(a.VersionID, b.VersionID), cmp.Compare(a.ReaderKind, b.ReaderKind), cmp.Compare(a.ReaderID, b.ReaderID))
	})
	days := slices.Collect(maps.Keys(counts))
	sorted.By(days, func(a, b anonymousDay) int {
		return cmp.Or(cmp.Compare(a.versionID, b.versionID), cmp.Compare(a.day, b.day))
	})
	err := d.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		if err := tx.AddContractDownloads(ctx, rows); err != nil {
			return err
		}
		for _, day := range days {
			at, err := time.Parse(time.DateOnly, day.day)
			if err != nil {
				return err
			}
			if err := tx.AddAnonymousDownloads(ctx, day.versionID, store.At(at), counts[day]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		d.putBack(rows, counts)
		return fmt.Errorf("write downloads: %w", err)
	}
	return nil
}

// take takes what waits, and forgets who was noted over an hour ago.
func (d *Downloads) take() ([]store.ContractDownload, map[anonymousDay]int64) {
	now := d.cfg.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	rows, counts := d.waiting, d.anonymous
	d.waiting, d.anonymous = nil, map[anonymousDay]int64{}
	maps.DeleteFunc(d.lately, func(_ downloaded, at time.Time) bool { return now.Sub(at) >= downloadAgain })
	return rows, counts
}

func (d *Downloads) putBack(rows []store.ContractDownload, counts map[anonymousDay]int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.waiting = append(rows, d.waiting...)
	for day, n := range counts {
		d.anonymous[day] += n
	}
}

// anonymousSpan is the period over which anonymous downloads are counted together.
const anonymousSpan = 30 * 24 * time.Hour

// Fetched is a reader that fetched a version.
type Fetched struct {
	store.ContractDownload
	Name    string        // of the client, key or person; its id when it is not known any more
	Partner store.Partner // whose it is
}

// DownloadUse lists who downloaded a version, besides the subscribers to what it describes.
type DownloadUse struct {
	Readers []Fetched // the last one first
	// Hidden counts the readers of others, for a reader that may not see their names.
	Hidden int
	// Anonymous counts the anonymous downloads of the last 30 days.
	Anonymous int64
}

// DownloadsOf lists who downloaded a version: an administrator sees all, another maintainer its own readers and the
// number of others (guarantee G7). Anybody else gets the zero DownloadUse.
func (c *Contracts) DownloadsOf(ctx context.Context, reader registry.Reader, about store.Contract, v store.ContractVersion) (DownloadUse, error) {
	var use DownloadUse
	if !reader.Maintains(about) {
		return use, nil
	}
	rows, err := c.cfg.DB.ContractDownloads(ctx, v.ID, "")
	if err != nil {
		return use, fmt.Errorf("list downloads: %w", err)
	}
	for _, row := range rows {
		if !reader.Administrator && row.PartnerID != reader.PartnerID {
			use.Hidden++
			continue
		}
		f := Fetched{ContractDownload: row}
		if f.Partner, err = c.cfg.DB.Partner(ctx, row.PartnerID); err != nil {
			return use, registry.Found("partner", err)
		}
		if f.Name, err = c.readerName(ctx, row); err != nil {
			return use, err
		}
		use.Readers = append(use.Readers, f)
	}
	use.Anonymous, err = c.cfg.DB.AnonymousDownloads(ctx, v.ID, store.At(c.cfg.Now().Add(-anonymousSpan)))
	return use, registry.Wrap("count downloads", err)
}

func (c *Contracts) readerName(ctx context.Context, row store.ContractDownload) (name string, err error) {
	switch row.ReaderKind {
	case store.DownloadClient:
		var client store.Client
		client, err = c.cfg.DB.Client(ctx, row.ReaderID)
		name = client.Name
	case store.DownloadReadKey:
		var key store.ReadKey
		key, err = c.cfg.DB.ReadKey(ctx, row.ReaderID)
		name = key.Name
	default:
		var account store.Account
		account, err = c.cfg.DB.Account(ctx, row.ReaderID)
		name = account.Name
	}
	if errors.Is(err, store.ErrNotFound) {
		return row.ReaderID, nil
	}
	return name, registry.Wrap("find who downloaded", err)
}
