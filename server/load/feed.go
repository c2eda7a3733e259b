package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// target locates where a feed publishes.
type target struct {
	addr string // host and port
	tls  *tls.Config
}

func (t target) dial(ctx context.Context) (*wire, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", t.addr)
	if err != nil {
		return nil, err
	}
	if t.tls != nil {
		conn = tls.Client(conn, t.tls)
	}
	return newWire(conn), nil
}

// feed publishes events over several connections, each waiting for its answer before it sends the next.
type feed struct {
	targets     []target // connections are spread over them
	connections int
	batch       int           // events in a request
	every       time.Duration // between the starts of requests, over all connections; 0 is no pause
	most        int           // events to publish; 0 is until the context ends
	request     func(t target) *request
	ledger      *ledger

	sent    atomic.Int64
	refused atomic.Int64 // answers 409, 429 and 503, after which the request is repeated
	broken  atomic.Int64 // connections that ended in the middle of a request
}

// wait between the repeats of a request.
const repeatWait = 10 * time.Millisecond

// run publishes until the context ends, all is published, or an answer says that it makes no sense. It gives the
// durations of the answers.
func (f *feed) run(ctx context.Context) (*histogram, error) {
	var all sync.WaitGroup
	answers := make([]histogram, f.connections)
	failed := make([]error, f.connections)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	began := time.Now()
	for i := range f.connections {
		all.Go(func() {
			if failed[i] = f.publish(ctx, f.targets[i%len(f.targets)], began, &answers[i]); failed[i] != nil {
				cancel()
			}
		})
	}
	all.Wait()
	var err error
	for i := range answers {
		if i > 0 {
			answers[0].merge(&answers[i])
		}
		if err == nil {
			err = failed[i]
		}
	}
	return &answers[0], err
}

// publish is the life of one connection.
func (f *feed) publish(ctx context.Context, to target, began time.Time, answers *histogram) error {
	request := f.request(to)
	var w *wire
	defer func() {
		if w != nil {
			_ = w.conn.Close()
		}
	}()
	for f.turn(ctx, began) {
		first, ok := f.ledger.take(f.batch)
		if !ok {
			return nil
		}
		request.fill(first, f.ledger.route)
		var err error
		if w, err = f.offer(ctx, w, to, request, answers); err != nil {
			return err
		}
		f.ledger.accept(first, f.batch)
	}
	return nil
}

// turn waits for the moment of the next request; false is that there is none.
func (f *feed) turn(ctx context.Context, began time.Time) bool {
	n := f.sent.Add(1) - 1
	if f.most > 0 && int(n)*f.batch >= f.most {
		return false
	}
	if f.every > 0 {
		rest(ctx, time.Until(began.Add(time.Duration(n)*f.every)))
	}
	return ctx.Err() == nil
}

// offer sends a request until it is accepted. What was begun is finished after the end of the context too: the event
// may already be on disk.
func (f *feed) offer(ctx context.Context, w *wire, to target, r *request, answers *histogram) (*wire, error) {
	for tries := 0; ; tries++ {
		if tries > 1000 {
			return w, fmt.Errorf("publish at %s: no answer 202 after %d tries", to.addr, tries)
		}
		if w == nil {
			fresh, err := to.dial(context.WithoutCancel(ctx))
			if err != nil {
				return w, fmt.Errorf("connect: %w", err)
			}
			w = fresh
		}
		began := time.Now()
		status, err := w.exchange(r.bytes)
		switch {
		case err != nil:
			f.broken.Add(1)
			_ = w.conn.Close()
			w = nil
		case status == http.StatusAccepted:
			answers.add(time.Since(began))
			return w, nil
		case status == http.StatusConflict, status == http.StatusTooManyRequests, status == http.StatusServiceUnavailable:
			f.refused.Add(1)
		default:
			return w, fmt.Errorf("publish at %s: answer %d: %s", to.addr, status, w.body[:min(len(w.body), 1000)])
		}
		rest(context.WithoutCancel(ctx), repeatWait)
	}
}

// rest pauses until the time or the context is over.
func rest(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
