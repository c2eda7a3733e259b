package store_test

import (
	"errors"
	"regexp"
	"testing"

	"schakel/store"
)

// mutationQueries lists the queries on deltas and downloads that run every few seconds, and the index each must use: the rows of
// deltas stay for ever.
var mutationQueries = map[string]planned{
	"last delta": {"mutation_delta", func(w *world, tx *store.Tx) error { _, err := tx.LastMutationDelta(w.ctx, "bgt"); return err }},
	"untold deltas": {"mutation_delta_untold", func(w *world, tx *store.Tx) error {
		_, err := tx.MutationDeltasToTell(w.ctx, "bgt", 9)
		return err
	}},
	"deltas that are over": {"mutation_delta_there", func(w *world, tx *store.Tx) error {
		_, err := tx.MutationDeltasOver(w.ctx, w.now(), w.now(), 9)
		return err
	}},
	"untold parts": {"mutation_download_", func(w *world, tx *store.Tx) error {
		_, err := tx.MutationDownloadsToTell(w.ctx, "bgt", 9)
		return err
	}},
	"downloads that are over": {"mutation_download_there", func(w *world, tx *store.Tx) error {
		_, err := tx.MutationDownloadsOver(w.ctx, w.now(), 9)
		return err
	}},
	"part of a subscription": {"mutation_download_delta", func(w *world, tx *store.Tx) error {
		_, err := tx.SubscribedDownload(w.ctx, store.MutationDownloadKey{DeltaID: "one", Lineage: "filtered", Mark: "of_a_part"}, "sub_1")
		return err
	}},
	"who shares a file": {"mutation_download_", func(w *world, tx *store.Tx) error {
		_, err := tx.MutationFileInUse(w.ctx, "file", "one", "")
		return err
	}},
	"downloads that a partner waits for": {"mutation_download_", func(w *world, tx *store.Tx) error {
		_, err := tx.WaitingMutationDownloads(w.ctx, "ptn_1")
		return err
	}},
	"bytes that a partner keeps": {"mutation_download_", func(w *world, tx *store.Tx) error {
		_, err := tx.KeptMutationDownloads(w.ctx, "ptn_1")
		return err
	}},
	"oldest that a partner keeps": {"mutation_download_", func(w *world, tx *store.Tx) error {
		_, err := tx.OldestKeptMutationDownload(w.ctx, "ptn_1")
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		return err
	}},
	"partners that keep much": {"mutation_download_", func(w *world, tx *store.Tx) error {
		_, err := tx.PartnersKeepingDownloads(w.ctx, 9)
		return err
	}},
	"waiting downloads": {"mutation_download_waiting", func(w *world, tx *store.Tx) error {
		_, err := tx.ClaimMutationDownload(w.ctx, "north", w.now())
		return err
	}},
}

// wholeMutations finds a table read from end to end; a scan of a partial index is none.
var wholeMutations = regexp.MustCompile(`SCAN [dst](\n|$)|SCAN mutation_\w+(\n|$)|Seq Scan on mutation_`)

func TestDeltaPlans(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.history("bgt", 5)
		w.cut("bgt", "one")
		w.wanted("d1", "one", "sub_1", "")
		usesIndexes(t, w, mutationQueries, wholeMutations)
	})
}
