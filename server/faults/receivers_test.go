package faults

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"schakel/server/demo"
	"schakel/server/trial"
)

// TestLostAnswers has the receiver take events and break the connection before it
// answers. They come again, as often as it takes, under the same id and the same
// Idempotency-Key, which the receiver notes at every offer.
//
// Rules: EDU-09, EDU-17
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	c := newChain(t, trial.SQLitePath(t))
	c.SetUp(t, func(d *demo.Chain) { // each first attempt fails, also that of a probe
		trial.Must(t, d.ChangeSettings(t.Context(), map[string]string{"sending.circuit_failures": "0"}))
	})
	var mu sync.Mutex
	lost := map[string]bool{}
	c.receiver.Behave(func(path, id string) int {
		mu.Lock()
		defer mu.Unlock()
		if lost[path+id] {
			return http.StatusAccepted
		}
		lost[path+id] = true
		return trial.LoseAnswer
	})
	c.Start(t)
	stop := c.publish(t)
	c.taken(t, 100)
	stop()
	c.settle(t)
	twice := 0
	for id := range lost {
		path := id[:len(id)-36]
		if got, _ := c.receiver.Got(path, id[len(path):]); got.Times > 1 {
			twice++
		}
	}
	if twice == 0 {
		t.Error("no event came a second time after its answer was lost")
	}
}

// TestHangingReceivers has one endpoint accept events and never answer, and another
// answer a byte a second without end. The others get everything meanwhile: when
// they have it, the hanging attempts are still under way. How long the others'
// events took with and without the two is printed, not judged.
//
// Rules: EDU-12
func TestHangingReceivers(t *testing.T) { // not in parallel, for the figures
	c := newChain(t, trial.SQLitePath(t))
	c.SetUp(t, func(d *demo.Chain) {
		for i, path := range []string{"/hole", "/drip"} {
			_, actor, err := d.Approved(t.Context(), trial.Organisation(path, fmt.Sprint(56789010+i)))
			trial.Must(t, err)
			sub := c.ask(t, d, actor, path, demo.TypeUnenrolled)
			trial.Must(t, d.Subscriptions.Approve(t.Context(), d.Admin, sub.ID))
		}
	})
	var times arrivals
	c.receiver.Behave(func(path, id string) int {
		switch path {
		case "/hole":
			return trial.Hang
		case "/drip":
			return trial.Drip
		}
		times.arrived(path, id)
		return http.StatusAccepted
	})
	c.Start(t)
	access := c.Token(t, c.creds, "events.publish")
	alone := c.measure(t, access, &times)
	for range 200 { // more than the two can hold at once
		_, body := trial.NewEvent(c.Own, demo.TypeUnenrolled)
		c.Publish(t, access, body)
	}
	trial.Eventually(t, "the hanging receivers have events", func() (bool, string) {
		return c.receiver.Offers("/hole") > 0 && c.receiver.Offers("/drip") > 0, ""
	})
	beside := c.measure(t, access, &times)
	t.Logf("from 202 to receipt: p50 %s, p99 %s alone; p50 %s, p99 %s beside hanging receivers",
		percentile(alone, 50), percentile(alone, 99), percentile(beside, 50), percentile(beside, 99))
	if n := c.receiver.TakenAt("/hole"); n > 0 {
		t.Errorf("the black hole answered %d events", n)
	}
	if n := trial.OpenDeliveries(t, c.Program); n == 0 {
		t.Error("nothing waits for the hanging receivers: they did not hang")
	}
	c.Kill(t) // what hangs would take its time
	c.check(t)
}

// measure publishes events one after the other and gives how long each took to
// reach the three receivers that work, once all have.
func (c *chain) measure(t *testing.T, access string, times *arrivals) (took []time.Duration) {
	t.Helper()
	sent := map[string]time.Time{}
	for range 300 {
		id, body := trial.NewEvent(c.Own, demo.TypeEnrolled)
		c.Publish(t, access, body)
		sent[id] = time.Now()
		c.ledger.Add([]string{id})
	}
	trial.Eventually(t, "the others have all", func() (bool, string) {
		took = times.since(sent)
		return len(took) == 3*len(sent), fmt.Sprintf("%d of %d", len(took), 3*len(sent))
	})
	return took
}

// arrivals are when events arrived first, by path and id.
type arrivals struct {
	mu sync.Mutex
	at map[string]time.Time
}

func (a *arrivals) arrived(path, id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.at == nil {
		a.at = map[string]time.Time{}
	}
	if _, again := a.at[path+id]; !again {
		a.at[path+id] = time.Now()
	}
}

// since gives how long after they were sent events arrived, for those that did.
func (a *arrivals) since(sent map[string]time.Time) (took []time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for key, at := range a.at {
		if was, ok := sent[key[len(key)-36:]]; ok {
			took = append(took, max(0, at.Sub(was)))
		}
	}
	return took
}

func percentile(took []time.Duration, p int) time.Duration {
	slices.Sort(took)
	return took[(len(took)-1)*p/100].Round(100 * time.Microsecond)
}

// proxy stands between a program and a server, and can cut them off.
type proxy struct {
	listener net.Listener

	mu     sync.Mutex
	target string
	conns  map[net.Conn]struct{}
	delay  time.Duration // of everything that passes
	refuse bool          // closes new connections at once
	hole   chan struct{} // while not nil, nothing passes until it is closed
}

func newProxy(t *testing.T, target string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	trial.Must(t, err)
	p := &proxy{listener: l, target: target, conns: map[net.Conn]struct{}{}}
	go p.serve()
	t.Cleanup(func() {
		_ = l.Close()
		p.set(0, true)
		p.open()
	})
	return p
}

func (p *proxy) addr() string { return p.listener.Addr().String() }

func (p *proxy) serve() {
	for {
		in, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		refuse, target := p.refuse, p.target
		p.mu.Unlock()
		if refuse {
			reset(in)
			continue
		}
		out, err := net.Dial("tcp", target)
		if err != nil {
			reset(in)
			continue
		}
		p.mu.Lock()
		p.conns[in], p.conns[out] = struct{}{}, struct{}{}
		p.mu.Unlock()
		go p.pipe(in, out)
		go p.pipe(out, in)
	}
}

// pipe passes on what comes, late or not at all as the proxy is set.
func (p *proxy) pipe(from, to net.Conn) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		p.mu.Lock()
		hole, delay := p.hole, p.delay
		p.mu.Unlock()
		if hole != nil {
			<-hole
		}
		if delay > 0 {
			trial.Pause(delay)
		}
		if n > 0 {
			if _, writeErr := to.Write(buffer[:n]); writeErr != nil {
				err = errors.Join(err, writeErr)
			}
		}
		if err != nil {
			reset(from)
			if errors.Is(err, io.EOF) {
				_ = to.Close()
			} else {
				reset(to)
			}
			p.mu.Lock()
			delete(p.conns, from)
			p.mu.Unlock()
			return
		}
	}
}

// set has everything pass late, or breaks all connections and refuses new ones.
func (p *proxy) set(delay time.Duration, refuse bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay, p.refuse = delay, refuse
	if refuse {
		p.breakAll()
	}
}

// aim breaks all connections, and has new ones go elsewhere.
func (p *proxy) aim(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
	p.breakAll()
}

// close lets nothing pass: what is sent is taken and goes nowhere.
func (p *proxy) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hole = make(chan struct{})
}

// open ends close. The connections of that time are broken: nobody knows them any more.
func (p *proxy) open() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.breakAll()
	if p.hole != nil {
		close(p.hole)
		p.hole = nil
	}
}

func (p *proxy) breakAll() {
	for c := range p.conns {
		reset(c)
	}
}

func reset(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // close sends a reset
	}
	_ = c.Close()
}
