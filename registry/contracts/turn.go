package contracts

import (
	"context"
	"fmt"
	"runtime"
)

// turns bounds the documents that are read or compared at the same time: one of 2 MB can take 130 MB of memory and a second,
// so many at once would end the process.
type turns chan struct{}

func newTurns() turns { return make(turns, max(2, runtime.NumCPU())) }

// take waits for a turn; leave must be called when it is over.
func (t turns) take(ctx context.Context) (leave func(), err error) {
	select {
	case t <- struct{}{}:
		return func() { <-t }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("wait to read a document: %w", context.Cause(ctx))
	}
}
