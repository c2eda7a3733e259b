package mutationcmd

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// groupBody is a file on its way in one request. The HTTP client may read on, in another goroutine, after its answer is there:
// what can be read only once must not be lost to a request that is over.
type groupBody struct {
	in     *groupInput
	from   io.Reader
	moving func() // called at each read
	mu     sync.Mutex
	closed bool
}

// body is the file from its beginning, as the body of a request.
func (in *groupInput) body(moving func()) io.ReadCloser {
	in.at.Store(0)
	if in.size == 0 {
		return http.NoBody
	}
	b := &groupBody{in: in, moving: moving}
	if b.from = in.once; in.once == nil {
		b.from = io.NewSectionReader(in.file, 0, in.size)
	}
	return b
}

// Read implements io.Reader.
func (b *groupBody) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return 0, errors.New("the request is over")
	}
	b.in.taken.Store(true)
	n, err := b.from.Read(p)
	b.in.at.Add(int64(n))
	b.moving()
	return n, err
}

// Close implements io.Closer. It does not wait for a read that waits for its input.
func (b *groupBody) Close() error {
	if b.mu.TryLock() {
		b.closed = true
		b.mu.Unlock()
	}
	return nil
}

// tell writes each second how many bytes of the file were sent, until it is stopped.
func (in *groupInput) tell(to io.Writer) (stop func()) {
	end, ended := make(chan struct{}), make(chan struct{})
	tick := time.NewTicker(time.Second)
	go func() {
		defer close(ended)
		defer tick.Stop()
		for {
			select {
			case <-end:
				return
			case <-tick.C:
				fmt.Fprintln(to, in.progress())
			}
		}
	}()
	return func() { close(end); <-ended }
}

// progress describes how much of the file this try has sent.
func (in *groupInput) progress() string {
	at := in.at.Load()
	if in.size <= 0 {
		return fmt.Sprintf("%s: %d bytes sent", in.name, at)
	}
	return fmt.Sprintf("%s: %d of %d bytes sent (%d%%)", in.name, at, in.size, int64(float64(at)/float64(in.size)*100))
}

// toldStream lets several goroutines write lines.
type toldStream struct {
	mu sync.Mutex
	to io.Writer
}

// Write implements io.Writer.
func (s *toldStream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.to.Write(p)
}
