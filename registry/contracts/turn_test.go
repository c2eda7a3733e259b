package contracts

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

func TestTurnsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns()
		var leave func()
		for range cap(turns) {
			var err error
			if leave, err = turns.take(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		refused := make(chan error, 1)
		go func() {
			_, err := turns.take(ctx)
			refused <- err
		}()
		synctest.Wait()
		select {
		case err := <-refused:
			t.Fatalf("one more got a turn: %v", err)
		default:
		}
		cancel()
		if err := <-refused; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		leave()
		if _, err := turns.take(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
