package store_test

import (
	"context"
	"fmt"
	"testing"
)

// TestNextDeltaWhileOthersCut: what comes next never ends before it begins, also when another node cuts at that moment.
//
// Rules: MUT-35.
func TestNextDeltaWhileOthersCut(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.history("bgt", 0)
		ctx, stop := context.WithCancel(w.ctx)
		over := make(chan struct{})
		go func() {
			defer close(over)
			defer stop()
			for n := int64(1); n <= 300; n++ {
				w.extend("bgt", "first", n, 0)
				w.cut("bgt", fmt.Sprint("delta ", n))
			}
		}()
		for ctx.Err() == nil {
			next, err := w.db.NextMutationDelta(w.ctx, "bgt")
			if err != nil || next.ToSeq < next.FromSeq {
				t.Errorf("from %d to %d, %v", next.FromSeq, next.ToSeq, err)
				break
			}
		}
		<-over
	})
}
