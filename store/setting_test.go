package store_test

import (
	"errors"
	"testing"

	"schakel/store"
)

func TestSwapSetting(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		swap := func(before, after string) error {
			return w.db.Write(w.ctx, func(tx *store.Tx) error { return tx.SwapSetting(w.ctx, "swapped", before, after) })
		}
		for i, step := range []struct {
			before, after string
			want          error
		}{
			{"absent", "1", store.ErrConflict}, {"", "1", nil}, {"", "2", store.ErrConflict}, {"1", "2", nil}, {"1", "3", store.ErrConflict}, {"2", "3", nil},
		} {
			if err := swap(step.before, step.after); !errors.Is(err, step.want) {
				t.Errorf("step %d: %v", i, err)
			}
		}
		got, err := w.db.Setting(w.ctx, "swapped")
		if err != nil || got != "3" {
			t.Errorf("got %q, %v", got, err)
		}
	})
}
