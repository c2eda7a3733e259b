package outbound

import (
	"errors"
	"io"
	"net"
	"syscall"
)

// rawConn is the TCP connection under a connection. It can be read without waiting, and follows the framing of TLS to know
// whether part of a record has arrived.
type rawConn struct {
	net.Conn
	sys         syscall.RawConn
	nonBlocking bool // a read returns errWouldBlock instead of waiting
	tls         bool
	head        []byte // of the TLS record that is arriving, as far as it came
	left        int    // bytes of it that have not arrived
}

func newRawConn(conn net.Conn) (*rawConn, error) {
	r := &rawConn{Conn: conn}
	s, ok := conn.(syscall.Conn)
	if !ok {
		return nil, errors.New("the connection is not one of the operating system")
	}
	var err error
	r.sys, err = s.SyscallConn()
	return r, err
}

// wouldBlockError is the error of a read that would have to wait. It is temporary, so that crypto/tls does not remember it.
type wouldBlockError struct{}

func (wouldBlockError) Error() string   { return "nothing has arrived" }
func (wouldBlockError) Timeout() bool   { return true }
func (wouldBlockError) Temporary() bool { return true }

var errWouldBlock error = wouldBlockError{}

// Read implements net.Conn.
func (r *rawConn) Read(p []byte) (int, error) {
	if !r.nonBlocking {
		n, err := r.Conn.Read(p)
		r.count(p[:n])
		return n, err
	}
	if len(p) == 0 {
		return 0, nil
	}
	var n int
	var failed error
	err := r.sys.Read(func(fd uintptr) bool {
		for {
			if n, failed = syscall.Read(int(fd), p); failed != syscall.EINTR {
				return true
			}
		}
	})
	switch {
	case err != nil:
		return 0, err
	case failed == syscall.EAGAIN:
		return 0, errWouldBlock
	case failed != nil:
		return 0, failed
	case n == 0:
		return 0, io.EOF
	}
	r.count(p[:n])
	return n, nil
}

// tlsHeader is the length of the header of a TLS record; its last two bytes are the length of the rest.
const tlsHeader = 5

// count follows the framing of TLS through the bytes read.
func (r *rawConn) count(p []byte) {
	for r.tls && len(p) > 0 {
		if r.left > 0 {
			n := min(r.left, len(p))
			r.left, p = r.left-n, p[n:]
			continue
		}
		n := min(tlsHeader-len(r.head), len(p))
		r.head, p = append(r.head, p[:n]...), p[n:]
		if len(r.head) == tlsHeader {
			r.left, r.head = int(r.head[3])<<8|int(r.head[4]), r.head[:0]
		}
	}
}

// between reports whether no part of a TLS record has arrived without the rest.
func (r *rawConn) between() bool { return r.left == 0 && len(r.head) == 0 }
