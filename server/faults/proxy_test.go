package faults

import (
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"schakel/server/trial"
)

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
