package outbox

import (
	"context"
	"time"
)

// Every transaction costs the wait for the disk, and a new copy of the last page of each table and index. When events come one by
// one faster than that, small groups pay it over and over. So when the last transaction had some events and outcomes and few wait
// now, the next one waits a moment for more. One that comes alone goes at once.
const (
	// lingerFrom is the least number of events and outcomes in the last transaction that makes waiting pay.
	lingerFrom = 8
	// lingerTo waiting events and outcomes are written at once.
	lingerTo = 64
	// lingerTime bounds the wait. At less than 2,000 events a second so little comes meanwhile that the writer stops waiting.
	lingerTime = 2 * time.Millisecond
)

// linger waits for more to write, if that pays: lately is the number of events and outcomes written last, here the number for
// the next transaction.
func (e *Engine) linger(ctx context.Context, lately, here int) {
	if lately < lingerFrom || here >= lingerTo {
		return
	}
	select {
	case <-time.After(lingerTime):
	case <-ctx.Done():
	}
}
