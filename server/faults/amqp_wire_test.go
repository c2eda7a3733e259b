package faults

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/url"
	"sync"
	"testing"

	"schakel/server/trial"
)

// wire stands between a program and a broker and reads the frames of AMQP 1.0 that pass. It can stop at one: then somebody is
// killed at exactly that step.
type wire struct {
	listener net.Listener
	broker   string // host:port

	mu    sync.Mutex
	stop  *stopPoint // nil while everything passes
	conns map[net.Conn]bool
}

// Performatives of AMQP 1.0 that matter here.
const (
	transferFrame    = 0x14 // a message
	dispositionFrame = 0x15 // what became of one
)

// frame is a kind of frame in one direction.
type frame struct {
	name         string
	toBroker     bool
	performative byte
}

// stopPoint is the next frame of a kind. Before it arrives, or when it has been passed on, reached is closed.
type stopPoint struct {
	frame
	passed  bool // the frame is passed on first
	reached chan struct{}
}

func newWire(t *testing.T, broker string) (*wire, string) {
	t.Helper()
	target, err := url.Parse(broker)
	trial.Must(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	trial.Must(t, err)
	w := &wire{listener: l, broker: target.Host, conns: map[net.Conn]bool{}}
	var serving sync.WaitGroup
	serving.Go(func() { w.serve(&serving) })
	t.Cleanup(func() {
		_ = l.Close()
		w.cut()
		serving.Wait()
	})
	return w, "amqp://" + l.Addr().String()
}

func (w *wire) serve(serving *sync.WaitGroup) {
	for {
		program, err := w.listener.Accept()
		if err != nil {
			return
		}
		broker, err := net.Dial("tcp", w.broker)
		if err != nil {
			_ = program.Close() // the broker is not there now
			continue
		}
		w.mu.Lock()
		w.conns[program], w.conns[broker] = true, true
		w.mu.Unlock()
		serving.Go(func() { w.carry(program, broker, true) })
		serving.Go(func() { w.carry(broker, program, false) })
	}
}

// cut ends all connections, and with them what a stop held back.
func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.conns {
		_ = c.Close()
	}
	clear(w.conns)
	w.stop = nil
}

// arm has the wire stop at the next frame of a kind.
func (w *wire) arm(f frame, passed bool) (reached <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stop = &stopPoint{f, passed, make(chan struct{})}
	return w.stop.reached
}

// meets tells that a frame is the one to stop at; nothing else stops then.
func (w *wire) meets(toBroker bool, performative byte) *stopPoint {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.stop
	if s == nil || s.toBroker != toBroker || s.performative != performative {
		return nil
	}
	w.stop = nil
	return s
}

// carry passes frames on in one direction until a side is gone, or a stop is met: then what it holds is gone with the
// connection.
func (w *wire) carry(from, to net.Conn, toBroker bool) {
	defer func() {
		_ = from.Close()
		_ = to.Close()
	}()
	for {
		raw, performative, err := readFrame(from)
		if err != nil {
			return
		}
		stop := w.meets(toBroker, performative)
		if stop == nil || stop.passed {
			if _, err := to.Write(raw); err != nil {
				return
			}
		}
		if stop != nil {
			close(stop.reached)
			_, _ = io.Copy(io.Discard, from) // until somebody dies
			return
		}
	}
}

// readFrame reads a frame or a protocol header, whose performative is 0.
func readFrame(r io.Reader) (raw []byte, performative byte, err error) {
	raw = make([]byte, 8)
	if _, err := io.ReadFull(r, raw); err != nil {
		return nil, 0, err
	}
	if bytes.HasPrefix(raw, []byte("AMQP")) {
		return raw, 0, nil
	}
	size := binary.BigEndian.Uint32(raw)
	if size < 8 || size > 1<<24 {
		return nil, 0, errors.New("not a frame")
	}
	raw = append(raw, make([]byte, size-8)...)
	if _, err := io.ReadFull(r, raw[8:]); err != nil {
		return nil, 0, err
	}
	const typeAMQP = 0
	if at := int(raw[4]) * 4; raw[5] == typeAMQP && len(raw) > at+2 && raw[at] == 0 && raw[at+1] == 0x53 {
		performative = raw[at+2]
	}
	return raw, performative, nil
}
