package outbox

import (
	"context"
	"time"
)

// A transaction has a price whatever is in it: the wait for the disk, and the last page of each table and index, which is written
// anew each time. When events come one by one faster than that, small groups pay it over and over. So when the last
// transaction had some events and outcomes and few wait now, the next one waits a moment for more. One that comes alone goes
// at once.
const (
	// lingerFrom is how many events and outcomes the last transaction had at least.
	lingerFrom = 8
	// lingerTo is how many are enough to go at once.
	lingerTo = 64
	// lingerTime is how long the writer waits. At less than 2,000 events a second so little comes meanwhile that it stops waiting.
	lingerTime = 2 * time.Millisecond
)

// linger waits for more to write, if that pays. lately is how many events and outcomes were written last, here how many there are
// for the next.
func (e *Engine) linger(ctx context.Context, lately, here int) {
	if lately < lingerFrom || here >= lingerTo {
		return
	}
	select {
	case <-time.After(lingerTime):
	case <-ctx.Done():
	}
}
