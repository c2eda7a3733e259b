package store_test

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"schakel/store"
)

// States are found by our id and by their publisher's, gone or not, and by their fields while they are there.
// Rules: MUT-12, MUT-13, MUT-15.
func TestFindStates(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.newDataset("panden")
		w.newDataset("wegen")
		w.publish("mpb_1", "panden", []change{{"", "a"}, {"", "b"}}, []change{{"a", "a2"}})
		w.publish("mpb_1", "wegen", []change{{"", "w"}})
		d := w.dataset("panden")
		found := func(rows []store.MutationState, err error) string {
			t.Helper()
			var ids []string
			for _, s := range rows {
				if s.DiedSeq > 0 {
					s.ID += "†"
				}
				if len(s.XML) > 0 || len(s.Digest) != 32 || s.Namespaces == "" {
					t.Errorf("found %+v", s)
				}
				ids = append(ids, s.ID)
			}
			same(t, err, nil, nil)
			slices.Sort(ids)
			return strings.Join(ids, " ")
		}
		same(t, found(w.db.StatesByID(w.ctx, d, []string{"a", "a2", "w", "none"})), nil, "a2 a†")
		same(t, found(w.db.StatesByID(w.ctx, d, nil)), nil, "")
		same(t, found(w.db.StatesBySource(w.ctx, d, []string{"bron b", `bron "'é`, "bron w", "bron a"})), nil, "a† b")
		same(t, found(w.db.LiveStatesOf(w.ctx, d, "Pand", []string{"1", "2"})), nil, "a2 b")
		same(t, found(w.db.LiveStatesOf(w.ctx, d, "Weg", []string{"1"})), nil, "")
		digest := state("", "", 0).Digest
		same(t, found(w.db.LiveStatesLike(w.ctx, d, "Pand", "1", digest, 5)), nil, "a2 b")
		one, err := w.db.LiveStatesLike(w.ctx, d, "Pand", "1", digest, 1)
		same(t, len(one), err, 1)
		same(t, found(w.db.LiveStatesLike(w.ctx, d, "Pand", "1", digest[:31], 5)), nil, "")
	})
}

// The queries that publishing and cutting do all the time use an index, in its order.
func TestMutationPlans(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		d := w.newDataset("panden")
		w.publish("mpb_1", "panden", []change{{"", "a"}})
		for name, q := range map[string]struct {
			index string
			run   func(tx *store.Tx) error
		}{
			"by id":     {"mutation_state", func(tx *store.Tx) error { _, err := tx.StatesByID(w.ctx, d, []string{"a", "b"}); return err }},
			"by source": {"mutation_state_source", func(tx *store.Tx) error { _, err := tx.StatesBySource(w.ctx, d, []string{"a", "b"}); return err }},
			"of object": {"mutation_state_object", func(tx *store.Tx) error { _, err := tx.LiveStatesOf(w.ctx, d, "Pand", []string{"1"}); return err }},
			"like":      {"mutation_state_object", func(tx *store.Tx) error { _, err := tx.LiveStatesLike(w.ctx, d, "Pand", "1", []byte{1}, 2); return err }},
			"any":       {"mutation_state_", func(tx *store.Tx) error { _, err := tx.HasStates(w.ctx, d); return err }},
			"alive":     {"mutation_state_born", func(tx *store.Tx) error { _, err := tx.OpenStates(d, 5).Next(w.ctx); return end(err) }},
			"groups":    {"mutation_state", func(tx *store.Tx) error { _, err := tx.OpenGroups("panden", 0, 5).Next(w.ctx); return end(err) }},
			"deaths":    {"mutation_state", func(tx *store.Tx) error { return w.append(tx, "mpb_1", "panden", [][]change{{{"a", ""}}}) }},
			"count":     {"mutation_state_died", func(tx *store.Tx) error { _, err := tx.CountStates(w.ctx, d, 5); return err }},
			"prune":     {"mutation_state_born", func(tx *store.Tx) error { _, err := tx.PruneMutations(w.ctx, tx.Now, "", 5); return err }},
			"published": {"mutation_state", func(tx *store.Tx) error {
				_, err := tx.PublishedStates(w.ctx, store.MutationPublication{DatasetID: "panden", FirstSeq: 1, LastSeq: 1}, 10)
				return err
			}},
		} {
			t.Run(name, func(t *testing.T) {
				var plan string
				w.fails(errStop, func(tx *store.Tx) error {
					recorder := tx.Record()
					if err := q.run(tx); err != nil {
						return err
					}
					plan = w.plan(tx, slices.DeleteFunc(recorder.Statements, func(s store.Statement) bool {
						return strings.Contains(s.Query, "INSERT") || strings.Contains(s.Query, "dataset ")
					}))
					return errStop
				})
				if !strings.Contains(plan, q.index) || strings.Contains(plan, "SCAN m") || strings.Contains(plan, "Seq Scan") ||
					strings.Contains(plan, "TEMP B-TREE") || (strings.Contains(plan, "Sort") && name != "published") {
					t.Errorf("want %s, no full scan and no sorting:\n%s", q.index, plan)
				}
			})
		}
	})
}

// end takes the end of a stream for none.
func end(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
