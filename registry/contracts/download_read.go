package contracts

import (
	"context"
	"errors"
	"fmt"
	"time"

	"schakel/registry"
	"schakel/store"
)

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
