package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
)

// maxBody bounds what is read of one message.
const maxBody = 64 << 20

// wire is one side of an HTTP/1.1 connection. It knows just enough of HTTP for requests and answers of programs that
// keep to it, and reuses its memory.
type wire struct {
	conn  net.Conn
	read  *bufio.Reader
	first []byte // request line or status line
	token []byte // value of Authorization
	body  []byte

	length  int // -1: the message did not say
	chunked bool
	closing bool
}

func newWire(conn net.Conn) *wire {
	return &wire{conn: conn, read: bufio.NewReaderSize(conn, 16<<10)}
}

func (w *wire) exchange(request []byte) (status int, err error) {
	if _, err := w.conn.Write(request); err != nil {
		return 0, err
	}
	if err := w.next(); err != nil {
		return 0, err
	}
	if len(w.first) < 12 || !bytes.HasPrefix(w.first, []byte("HTTP/1.1 ")) {
		return 0, fmt.Errorf("no status line: %q", w.first)
	}
	return strconv.Atoi(string(w.first[9:12]))
}

// next reads a whole message.
func (w *wire) next() error {
	w.token, w.body, w.length, w.chunked, w.closing = w.token[:0], w.body[:0], -1, false, false
	line, err := w.line()
	if err != nil {
		return err
	}
	w.first = append(w.first[:0], line...)
	for {
		if line, err = w.line(); err != nil {
			return unexpected(err)
		}
		if len(line) == 0 {
			return unexpected(w.readBody())
		}
		if err := w.header(line); err != nil {
			return err
		}
	}
}

// line reads a line without its end. It is valid until the next read.
func (w *wire) line() ([]byte, error) {
	line, err := w.read.ReadSlice('\n')
	return bytes.TrimRight(line, "\r\n"), err
}

func (w *wire) header(line []byte) (err error) {
	name, value, ok := bytes.Cut(line, []byte(":"))
	if !ok {
		return fmt.Errorf("no header: %q", line)
	}
	value = bytes.TrimSpace(value)
	switch {
	case is(name, "Content-Length"):
		if w.length, err = strconv.Atoi(string(value)); err != nil || w.length < 0 || w.length > maxBody {
			return fmt.Errorf("length of the body: %q", value)
		}
	case is(name, "Transfer-Encoding"):
		w.chunked = is(value, "chunked")
	case is(name, "Connection"):
		w.closing = is(value, "close")
	case is(name, "Authorization"):
		w.token = append(w.token[:0], value...)
	}
	return nil
}

// is compares without regard to case, and without taking memory.
func is(a []byte, b string) bool {
	return len(a) == len(b) && bytes.EqualFold(a, []byte(b))
}

func (w *wire) readBody() error {
	if !w.chunked {
		return w.readBytes(max(0, w.length))
	}
	for {
		line, err := w.line()
		if err != nil {
			return err
		}
		size, err := strconv.ParseUint(string(line), 16, 31)
		if err != nil || size > maxBody {
			return fmt.Errorf("size of a chunk: %q", line)
		}
		if err := w.readBytes(int(size)); err != nil {
			return err
		}
		if line, err = w.line(); err != nil || len(line) > 0 {
			return errors.Join(err, fmt.Errorf("after a chunk: %q", line))
		}
		if size == 0 {
			return nil
		}
	}
}

func (w *wire) readBytes(n int) error {
	at := len(w.body)
	if at+n > maxBody {
		return errors.New("the body is too large")
	}
	w.body = append(w.body, make([]byte, n)...) // the compiler makes no slice for this
	_, err := io.ReadFull(w.read, w.body[at:])
	return err
}

// unexpected is an end in the middle of a message; between messages it is no error of the other side.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
