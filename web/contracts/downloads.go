package contracts

import (
	"context"
	"time"

	"schakel/registry"
	"schakel/registry/contracts"
	"schakel/store"
	view "schakel/templates/contracts"
	"schakel/web/site"
)

// downloadsView shows who fetched a version to who maintains it.
func downloadsView(use contracts.DownloadUse, reader registry.Reader, now time.Time) *view.DownloadsView {
	v := &view.DownloadsView{Named: reader.Administrator, Others: use.Hidden, Anonymous: int(use.Anonymous), Now: now}
	for _, f := range use.Readers {
		row := view.DownloadRow{Reader: f.Name, Kind: downloaderKind(f.ReaderKind), Last: f.LastAt.Time}
		if row.Partner = f.Partner.Name; !f.Partner.Own {
			row.PartnerHref = site.PartnerHref(f.PartnerID)
		}
		v.Rows = append(v.Rows, row)
	}
	return v
}

// readingDownloads lists the downloaders of a version for its maintainer, and nothing for anybody else (guarantee G7).
func (p *pages) readingDownloads(ctx context.Context, reader registry.Reader, about store.Contract, v store.ContractVersion) (*view.DownloadsView, error) {
	if !reader.Maintains(about) || v.Status == store.VersionDraft {
		return nil, nil
	}
	use, err := p.Registry.Contracts.DownloadsOf(ctx, reader, about, v)
	if err != nil {
		return nil, err
	}
	return downloadsView(use, reader, p.Cfg.Now()), nil
}

func downloaderKind(kind string) string {
	switch kind {
	case store.DownloadClient:
		return "Client"
	case store.DownloadReadKey:
		return "Read-only key"
	}
	return "Person"
}
