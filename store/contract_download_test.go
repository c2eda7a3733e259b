package store_test

import (
	"testing"
	"time"

	"schakel/store"
)

// One row a reader and version, written again after an hour; of anonymous readers only a number a day.
//
// Rules: EDU-22.
func TestContractDownloads(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.newContract("oke-api", store.VisibilityPublic)
		one, two := w.newVersion("oke-api", "1.0.0", "1", store.VersionPublished), w.newVersion("oke-api", "2.0.0", "2", store.VersionPublished)
		begin := w.now()
		fetch := func(rows ...store.ContractDownload) {
			for i := range rows {
				rows[i].LastAt = w.now()
			}
			w.write(func(tx *store.Tx) error { return tx.AddContractDownloads(w.ctx, rows) })
		}
		client := store.ContractDownload{VersionID: one.ID, ReaderKind: store.DownloadClient, ReaderID: "cli_1", PartnerID: "ptn_1"}
		key := store.ContractDownload{VersionID: one.ID, ReaderKind: store.DownloadReadKey, ReaderID: "rdk_1", PartnerID: "ptn_2"}
		other := store.ContractDownload{VersionID: two.ID, ReaderKind: store.DownloadAccount, ReaderID: "acc_1", PartnerID: "ptn_1"}
		fetch(client, key, other)
		client.LastAt, key.LastAt, other.LastAt = begin, begin, begin
		got, err := w.db.ContractDownloads(w.ctx, one.ID, "")
		same(t, got, err, []store.ContractDownload{client, key})
		w.clock.Advance(59 * time.Minute)
		fetch(client)
		got, err = w.db.ContractDownloads(w.ctx, one.ID, "")
		same(t, got, err, []store.ContractDownload{client, key})
		w.clock.Advance(time.Minute)
		fetch(key)
		key.LastAt = w.now()
		got, err = w.db.ContractDownloads(w.ctx, one.ID, "")
		same(t, got, err, []store.ContractDownload{key, client})
		got, err = w.db.ContractDownloads(w.ctx, one.ID, "ptn_1")
		same(t, got, err, []store.ContractDownload{client})

		count := func(n int64) {
			w.write(func(tx *store.Tx) error { return tx.AddAnonymousDownloads(w.ctx, one.ID, w.now(), n) })
		}
		count(2)
		count(3)
		w.clock.Advance(24 * time.Hour)
		count(1)
		all, err := w.db.AnonymousDownloads(w.ctx, one.ID, begin)
		same(t, all, err, 6)
		today, err := w.db.AnonymousDownloads(w.ctx, one.ID, w.now())
		same(t, today, err, 1)
		none, err := w.db.AnonymousDownloads(w.ctx, two.ID, begin)
		same(t, none, err, 0)

		w.write(func(tx *store.Tx) error {
			p, err := tx.PruneDownloads(w.ctx, key.LastAt, "", 10)
			same(t, p, err, store.Pruned{Rows: 2, Done: true})
			p, err = tx.PruneDownloads(w.ctx, w.now(), "", 1)
			same(t, p, err, store.Pruned{Rows: 2})
			return nil
		})
		got, err = w.db.ContractDownloads(w.ctx, one.ID, "")
		same(t, len(got), err, 0)
		all, err = w.db.AnonymousDownloads(w.ctx, one.ID, begin)
		same(t, all, err, 1)
	})
}
