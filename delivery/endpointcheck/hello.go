package endpointcheck

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"schakel/delivery/outbound"
)

// Versions of TLS on the wire, SSL 3.0 first: the standard library knows the later ones alone.
const (
	ssl3  = 0x0300
	tls10 = 0x0301
	tls11 = 0x0302
	tls12 = 0x0303
	tls13 = 0x0304
)

// hello is the first message of a client, made by hand: the standard library does not offer what a good server must refuse.
type hello struct {
	version uint16
	suites  []uint16
	groups  []uint16
}

// serverAnswer holds what a server chose.
type serverAnswer struct {
	version     uint16
	suite       uint16
	group       uint16 // of TLS 1.3, or of ServerKeyExchange; 0 when none was seen
	primeBits   int    // of a finite field in ServerKeyExchange
	compression bool
	master      bool // extended master secret (RFC 7627)
	renegotiate bool // secure renegotiation (RFC 5746)
}

// errRefused: the server ended the handshake with an alert, or without a word.
var errRefused = errors.New("the server refuses the handshake")

// probeTimeout bounds one handshake.
const probeTimeout = 5 * time.Second

// probe sends a hello to a host over a connection of its own and reads what the server chose. No key is agreed and nothing else is sent.
func probe(ctx context.Context, client *outbound.Client, url string, h hello) (serverAnswer, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	conn, name, err := client.Dial(ctx, url)
	if err != nil {
		return serverAnswer{}, err
	}
	defer func() { _ = conn.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	if _, err := conn.Write(h.record(name)); err != nil {
		return serverAnswer{}, fmt.Errorf("send hello: %w", err)
	}
	a, err := readAnswer(conn)
	if err != nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	return a, err
}

// record encodes the hello as one record.
func (h hello) record(name string) []byte {
	legacy := min(h.version, tls12)
	body := binary.BigEndian.AppendUint16(nil, legacy)
	body = append(body, make([]byte, 32)...) // the random is never used for a key
	body = append(body, 32)
	body = append(body, make([]byte, 32)...) // a session id, as TLS 1.3 sends through middleboxes
	body = append(body, vector16(uint16s(h.suites))...)
	if h.version == tls13 {
		body = append(body, 1, 0)
	} else {
		body = append(body, 2, 1, 0) // DEFLATE, which a server must not choose
	}
	if h.version > ssl3 {
		body = append(body, vector16(h.extensions(name))...)
	}
	message := append([]byte{1, 0, byte(len(body) >> 8), byte(len(body))}, body...)
	record := []byte{22, byte(min(legacy, tls10) >> 8), byte(min(legacy, tls10))}
	return append(record, vector16(message)...)
}

func (h hello) extensions(name string) []byte {
	var all []byte
	add := func(kind uint16, body []byte) {
		all = binary.BigEndian.AppendUint16(all, kind)
		all = append(all, vector16(body)...)
	}
	if net.ParseIP(name) == nil {
		add(0, vector16(append([]byte{0}, vector16([]byte(name))...)))
	}
	add(10, vector16(uint16s(h.groups)))
	add(11, []byte{1, 0})
	if h.version >= tls12 {
		add(13, vector16(uint16s([]uint16{0x0403, 0x0503, 0x0603, 0x0807, 0x0804, 0x0805, 0x0806, 0x0401, 0x0501, 0x0601, 0x0203, 0x0201})))
	}
	add(23, nil)
	add(0xff01, []byte{0})
	if h.version == tls13 {
		add(43, []byte{2, 3, 4})
		add(51, []byte{0, 0}) // no share: the server names the group that it wants
		add(45, []byte{1, 1})
	}
	return all
}

func uint16s(values []uint16) []byte {
	var b []byte
	for _, v := range values {
		b = binary.BigEndian.AppendUint16(b, v)
	}
	return b
}

func vector16(body []byte) []byte {
	return append(binary.BigEndian.AppendUint16(nil, uint16(len(body))), body...)
}

// mostHandshake bounds what is read of a handshake, in bytes.
const mostHandshake = 128 << 10

// readAnswer reads handshake messages up to the one that holds the group of TLS 1.2, or until the server waits for us.
func readAnswer(r io.Reader) (serverAnswer, error) {
	var a serverAnswer
	var pending []byte
	seen := false
	for total := 0; total < mostHandshake; {
		header := make([]byte, 5)
		if _, err := io.ReadFull(r, header); err != nil {
			return a, after(seen, err)
		}
		size := int(binary.BigEndian.Uint16(header[3:]))
		fragment := make([]byte, size)
		if _, err := io.ReadFull(r, fragment); err != nil {
			return a, after(seen, err)
		}
		total += size
		if header[0] == 21 {
			return a, after(seen, errRefused)
		}
		if header[0] != 22 {
			if seen {
				return a, nil
			}
			return a, errors.New("the server does not speak TLS")
		}
		pending = append(pending, fragment...)
		for len(pending) >= 4 {
			length := int(pending[1])<<16 | int(pending[2])<<8 | int(pending[3])
			if len(pending) < 4+length {
				break
			}
			message := pending[4 : 4+length]
			kind := pending[0]
			pending = pending[4+length:]
			switch kind {
			case 2: // ServerHello
				if !a.readHello(message) {
					return a, errors.New("the ServerHello cannot be read")
				}
				if seen = true; a.version == tls13 || !ephemeral(a.suite) {
					return a, nil
				}
			case 12: // ServerKeyExchange
				a.readKeyExchange(message)
				return a, nil
			case 14: // ServerHelloDone
				return a, nil
			}
		}
	}
	return a, nil
}

// after returns nil once the server has chosen: how it ends a handshake that we break off is of no matter.
func after(seen bool, err error) error {
	switch {
	case seen:
		return nil
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errRefused
	}
	var op *net.OpError
	if errors.As(err, &op) && !op.Timeout() {
		return errRefused // a reset
	}
	return err
}

// readHello reads a ServerHello, or the HelloRetryRequest of TLS 1.3 that has its form.
func (a *serverAnswer) readHello(m []byte) bool {
	if len(m) < 38 {
		return false
	}
	a.version = binary.BigEndian.Uint16(m)
	rest := m[34:]
	id := int(rest[0])
	if len(rest) < 1+id+3 {
		return false
	}
	rest = rest[1+id:]
	a.suite, a.compression = binary.BigEndian.Uint16(rest), rest[2] != 0
	rest = rest[3:]
	if len(rest) < 2 {
		return true
	}
	rest = rest[2:]
	for len(rest) >= 4 {
		kind, size := binary.BigEndian.Uint16(rest), int(binary.BigEndian.Uint16(rest[2:]))
		if len(rest) < 4+size {
			return false
		}
		body := rest[4 : 4+size]
		rest = rest[4+size:]
		switch {
		case kind == 43 && size == 2:
			a.version = binary.BigEndian.Uint16(body)
		case kind == 51 && size >= 2:
			a.group = binary.BigEndian.Uint16(body)
		case kind == 23:
			a.master = true
		case kind == 0xff01:
			a.renegotiate = true
		}
	}
	return true
}

// readKeyExchange reads the named curve, or the length of the prime, of TLS 1.2 and older.
func (a *serverAnswer) readKeyExchange(m []byte) {
	switch {
	case finiteField(a.suite) && len(m) >= 2:
		a.primeBits = int(binary.BigEndian.Uint16(m)) * 8
	case len(m) >= 3 && m[0] == 3:
		a.group = binary.BigEndian.Uint16(m[1:])
	}
}
