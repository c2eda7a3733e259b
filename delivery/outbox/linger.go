package outbox

import (
	"context"
	"time"
)

// Every transaction costs the wait for the disk, and a new copy of the last page of each table and index. When events come one by
// one faster than that, small groups pay it over and over. So while much comes, and few wait now, the next transaction waits a
// moment for more. What comes alone goes at once; and where waiting brought nothing, as with events that go one after the other
// because of their order, it is left for a while.
const (
	// lingerRate is the least number of events and outcomes a second that makes waiting pay.
	lingerRate = 500
	// lingerTo waiting events and outcomes are written at once.
	lingerTo = 64
	// lingerTime bounds the wait, and with it what it adds to the time of a 202; after each lingerStep the writer looks whether
	// lingerTo wait.
	lingerTime = 4 * time.Millisecond
	lingerStep = time.Millisecond
	// lingerGain is the least number that must come during a wait, on average, for the next wait to be worth it.
	lingerGain = 2
	// lingerOff is the number of transactions that do not wait after waiting brought too little; it doubles each time up to
	// lingerOffMost, so that events that go one after the other are not slowed down by the attempts.
	lingerOff     = 100
	lingerOffMost = 64 * lingerOff
	// lingerMemory transactions make up what rate and gain are averaged over, the latest counting most.
	lingerMemory = 8
)

// linger decides before each transaction of one writer whether it waits for more to write.
type linger struct {
	rate, gain float64 // events and outcomes a second; those that came during a wait
	off        int     // transactions that still do not wait
	rest       int     // what off was set to last
	last       time.Time
}

// wait waits for more to write, if that pays; here returns the number of events and outcomes for the next transaction.
func (l *linger) wait(ctx context.Context, here func() int) {
	before := here()
	switch {
	case l.off > 0:
		l.off--
		return
	case before >= lingerTo || l.rate < lingerRate:
		return
	}
	now := before
	for waited := time.Duration(0); now < lingerTo && waited < lingerTime; waited += lingerStep {
		select {
		case <-time.After(lingerStep):
		case <-ctx.Done():
			return
		}
		now = here()
	}
	l.gain += (float64(now-before) - l.gain) / lingerMemory
	if l.gain >= lingerGain {
		l.rest = 0
		return
	}
	l.rest = min(max(lingerOff, 2*l.rest), lingerOffMost)
	l.off, l.gain = l.rest, lingerGain
}

// wrote counts what a transaction is about to write.
func (l *linger) wrote(now time.Time, rows int) {
	if since := now.Sub(l.last).Seconds(); since > 0 {
		// A pause says more than the transactions before it.
		share := max(1.0/lingerMemory, min(1, since))
		l.rate += (float64(rows)/since - l.rate) * share
	}
	l.last = now
}
