package trial

import (
	"bytes"
	"sync"
)

// Log keeps what a process writes; two streams write at once.
type Log struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write implements io.Writer.
func (b *Log) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

// String gives all that was written.
func (b *Log) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// Tail gives the end, which tells why something failed.
func (b *Log) Tail() string {
	all := b.String()
	return all[max(0, len(all)-6000):]
}
