package export

import (
	"context"
	"errors"
	"fmt"

	"schakel/store"
)

// Request asks for a part of a delta, or of the newest snapshot (MUT-51).
type Request struct {
	By          string   // the client or account that asks; it is needed
	ObjectTypes []string // none: all that the reader gets
	Geofilter   string   // WKT or GeoJSON, besides the area of the subscription; empty: none
	DeltaID     string   // empty: the newest snapshot
}

// Request keeps what a reader asks for, to be made in the background. When it has the bytes of what is there already, it is
// completed at once. It answers ErrGeofilter, ErrUnreadable, ErrObjectType, ErrDeltaUnknown, ErrNoSnapshot, ErrTooMany, a
// *[RoomError] or a *[GoneError].
func (e *Exporter) Request(ctx context.Context, v View, r Request) (store.MutationDownload, error) {
	if r.By == "" {
		return store.MutationDownload{}, errors.New("a download is asked for by nobody")
	}
	row := store.MutationDownload{DatasetID: v.Dataset.ID, PartnerID: v.PartnerID, RequestedBy: r.By}
	subscribed := []string(nil)
	if v.Follower != nil {
		row.SubscriptionID, row.AreaID, subscribed = v.Follower.SubscriptionID, v.Follower.AreaID, v.Follower.ObjectTypes
	}
	types, err := askedTypes(v.Dataset, subscribed, r.ObjectTypes)
	if err != nil {
		return row, err
	}
	row.ObjectTypes = types
	if r.Geofilter != "" {
		read, err := readGeofilter(v.Dataset, r.Geofilter)
		if err != nil {
			return row, err
		}
		row.Geofilter = read.WKT()
	}
	names, err := e.Names(ctx, v)
	if err != nil {
		return row, err
	}
	row.Mark = names.mark // it names deltas of the subscription, whatever the geofilter
	of, err := e.source(ctx, v, names, r.DeltaID)
	if err != nil {
		return row, err
	}
	row.DeltaID, row.SnapshotID = of.deltaID, of.snapshotID
	return e.storeRequest(ctx, v, of, row)
}

// source finds the delta or the snapshot that a request is about.
func (e *Exporter) source(ctx context.Context, v View, names Names, deltaID string) (whole, error) {
	if deltaID == "" {
		s, err := e.latest(ctx, v)
		return wholeSnapshot(s), err
	}
	d, err := e.there(ctx, v, names, deltaID)
	return wholeDelta(d), err
}

func (e *Exporter) storeRequest(ctx context.Context, v View, of whole, row store.MutationDownload) (store.MutationDownload, error) {
	wants, err := partOf(ctx, e.cfg.DB, v.Dataset, row.AreaID, row.Geofilter, row.ObjectTypes)
	if err != nil && unreadable(err) && !errors.Is(err, ErrGeofilter) {
		err = fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	if err != nil {
		return row, err
	}
	if row.Lineage, err = wants.lineage(of.lineage); err != nil {
		return row, err
	}
	if row.ID, err = newID(); err != nil {
		return row, err
	}
	if err = e.makeRoom(ctx, row.PartnerID); err == nil {
		err = e.insertRequest(ctx, of, wants, &row)
	}
	if err != nil {
		return row, fmt.Errorf("store request: %w", err)
	}
	return row, nil
}

func (e *Exporter) insertRequest(ctx context.Context, of whole, wants part, row *store.MutationDownload) error {
	return e.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		there, err := findSame(ctx, tx, of, wants, row)
		if err != nil {
			return err
		}
		if there {
			row.Status, row.Progress, row.FinishedAt = store.MutationCompleted, 100, tx.Now
		} else if err := mayWait(ctx, tx, row.PartnerID); err != nil {
			return err
		}
		return tx.InsertMutationDownload(ctx, row)
	})
}

// Custom finds a download that a reader asked for, waiting, failed or completed. Of others, and of those that nobody asked
// for, it answers store.ErrNotFound; a *[GoneError] when it is over.
func (e *Exporter) Custom(ctx context.Context, v View, id string) (store.MutationDownload, error) {
	row, err := e.cfg.DB.MutationDownload(ctx, id)
	switch {
	case err != nil:
		return row, err
	case row.DatasetID != v.Dataset.ID || row.PartnerID != v.PartnerID || row.RequestedBy == "":
		return store.MutationDownload{}, store.ErrNotFound
	case !row.GoneAt.IsZero() || row.Status == store.MutationCompleted && e.cfg.Now().After(row.FinishedAt.Add(KeepCustom)):
		gone := row.FinishedAt.Add(KeepCustom)
		if !row.GoneAt.IsZero() && row.GoneAt.Before(gone) {
			gone = row.GoneAt.Time
		}
		return row, &GoneError{Kind: ErrDownloadGone, DeltaID: row.DeltaID, Lineage: v.Dataset.Lineage, ExpiredAt: gone}
	}
	return row, nil
}

// mayWait wants few downloads of a partner that wait.
func mayWait(ctx context.Context, tx *store.Tx, partnerID string) error {
	waiting, err := tx.WaitingMutationDownloads(ctx, partnerID)
	if err == nil && waiting >= MostWaiting {
		err = ErrTooMany
	}
	return err
}

// makeRoom ends what was ready first of what a partner asked for, until less is stored than the limit. What is fresh stays, so
// that nobody loses what it is about to fetch: then it answers a *[RoomError].
func (e *Exporter) makeRoom(ctx context.Context, partnerID string) error {
	for {
		kept, err := e.cfg.DB.KeptMutationDownloads(ctx, partnerID)
		if err != nil || kept < e.cfg.MostCustomBytes {
			return err
		}
		d, err := e.cfg.DB.OldestKeptMutationDownload(ctx, partnerID)
		if errors.Is(err, store.ErrNotFound) {
			continue // another node was faster
		}
		if err != nil {
			return fmt.Errorf("find oldest download: %w", err)
		}
		if until := d.FinishedAt.Add(FreshCustom); e.cfg.Now().Before(until) {
			return &RoomError{Most: e.cfg.MostCustomBytes, Until: until}
		}
		if _, err := e.end(ctx, d.FileID, d.DeltaID, d.SnapshotID, func(tx *store.Tx) error { return tx.ExpireMutationDownload(ctx, d.ID) }); err != nil {
			return fmt.Errorf("end download: %w", err)
		}
	}
}

// boundDownloads makes room where downloads that were ready later than they were asked for took more than they may.
func (e *Exporter) boundDownloads(ctx context.Context) error {
	partners, err := e.cfg.DB.PartnersKeepingDownloads(ctx, e.cfg.MostCustomBytes)
	for _, id := range partners {
		failure := e.makeRoom(ctx, id)
		if _, full := errors.AsType[*RoomError](failure); !full {
			err = errors.Join(err, failure)
		}
	}
	return err
}
