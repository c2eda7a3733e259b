package services

import (
	"context"
	"slices"
	"testing"
	"time"

	"schakel/registry"
	"schakel/registry/contracts"
	"schakel/registry/identity"
	"schakel/store"
)

// Who fetched a version shows to who maintains it and before it is withdrawn: to an administrator with the partner, to
// another owner only its own readers, and to nobody else.
//
// Rules: EDU-06c, EDU-06e.
func TestDownloadsTellWhoUsesAVersion(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		p, actor, other, _ := w.twoPartners(t)
		w.catalogue(t)
		v, err := w.db.ContractVersion(ctx, "student-events", "1.0.0")
		must(t, err)
		about, err := w.db.Contract(ctx, "student-events")
		must(t, err)
		key, _, err := w.ReadKeys.Create(ctx, w.admin, other.ID, identity.NewReadKey{Name: "Renovate"})
		must(t, err)
		person := contracts.Downloader{Kind: store.DownloadAccount, ID: actor.ID, PartnerID: p.ID}
		robot := contracts.Downloader{Kind: store.DownloadReadKey, ID: key.ID, PartnerID: other.ID}
		gone := contracts.Downloader{Kind: store.DownloadClient, ID: "cli_gone", PartnerID: other.ID}
		see := func(reader registry.Reader) (names []string, use contracts.DownloadUse) {
			t.Helper()
			must(t, w.Downloads.Write(ctx))
			use, err := w.Contracts.DownloadsOf(ctx, reader, about, v)
			must(t, err)
			for _, f := range use.Readers {
				names = append(names, f.Partner.Name+" "+f.Name)
			}
			slices.Sort(names)
			return names, use
		}
		w.Downloads.Note(v, person)
		w.Downloads.Note(v, robot)
		w.Downloads.Note(v, gone)
		for range 3 {
			w.Downloads.Note(v, contracts.Downloader{})
		}
		draft := v
		draft.Status = store.VersionDraft
		w.Downloads.Note(draft, contracts.Downloader{})
		want := []string{p.Name + " " + actor.Name, other.Name + " Renovate", other.Name + " cli_gone"}
		slices.Sort(want)
		names, use := see(registry.Reader{Administrator: true})
		if !slices.Equal(names, want) || use.Anonymous != 3 || use.Hidden != 0 {
			t.Errorf("an administrator sees %v, %+v, want %v", names, use, want)
		}
		if names, use := see(registry.Reader{PartnerID: p.ID}); names != nil || use.Hidden != 0 || use.Anonymous != 0 {
			t.Errorf("a partner that does not own it sees %v, %+v", names, use)
		}
		about.OwnerPartnerID = p.ID
		if names, use := see(registry.Reader{PartnerID: p.ID}); !slices.Equal(names, []string{p.Name + " " + actor.Name}) || use.Hidden != 2 || use.Anonymous != 3 {
			t.Errorf("its owner sees %v, %+v", names, use)
		}
		effect, err := w.Contracts.WithdrawalEffect(ctx, w.admin, "student-events", "1.0.0")
		if err != nil || len(effect.Downloads.Readers) != 3 || effect.Downloads.Anonymous != 3 {
			t.Errorf("a withdrawal: %+v, %v", effect.Downloads, err)
		}
		first := use.Readers[0].LastAt
		w.clock.Advance(30 * time.Minute)
		w.Downloads.Note(v, person)
		if _, use := see(registry.Reader{Administrator: true}); !use.Readers[0].LastAt.Equal(first.Time) {
			t.Error("it is written again within the hour")
		}
		w.clock.Advance(time.Hour)
		w.Downloads.Note(v, person)
		if _, use := see(registry.Reader{Administrator: true}); use.Readers[0].ReaderID != actor.ID || !use.Readers[0].LastAt.Equal(w.clock.Now()) {
			t.Errorf("after the hour: %+v", use.Readers)
		}
	})
}

// What cannot be written waits for the next time, and no more is remembered than there is room for.
func TestDownloadsWaitAndAreBounded(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		w.catalogue(t)
		v, err := w.db.ContractVersion(t.Context(), "student-events", "1.0.0")
		must(t, err)
		w.Downloads.Note(v, contracts.Downloader{})
		w.Downloads.Note(v, contracts.Downloader{Kind: store.DownloadClient, ID: "cli_1", PartnerID: w.own.ID})
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := w.Downloads.Write(ended); err == nil {
			t.Fatal("written after the end")
		}
		w.Downloads.Note(v, contracts.Downloader{})
		must(t, w.Downloads.Write(t.Context()))
		must(t, w.Downloads.Write(t.Context())) // nothing is left
		rows, err := w.db.ContractDownloads(t.Context(), v.ID, "")
		must(t, err)
		n, err := w.db.AnonymousDownloads(t.Context(), v.ID, store.At(w.clock.Now()))
		if err != nil || n != 2 || len(rows) != 1 {
			t.Errorf("%d downloads and %v, %v", n, rows, err)
		}
	})
}
