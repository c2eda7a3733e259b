package link

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"schakel/registry/sorted"
)

// Phase names a stage of a connection.
type Phase string

// The phases.
const (
	Connecting Phase = "connecting"
	Opened     Phase = "open"
	Waiting    Phase = "waiting" // it failed; it is tried again after a while
	Stopped    Phase = "stopped"
)

// State reports on a connection.
type State struct {
	Phase      Phase
	Since      time.Time // when the phase began
	Error      string    // why it is waiting, or was last; "" when all was well from the start
	Reconnects int       // how often it came back
	Receivers  []Receiver
}

// Receiver reports on receiving from one queue.
type Receiver struct {
	Queue      string
	Phase      Phase
	Since      time.Time
	Error      string
	Reconnects int
}

// board keeps the state of a connection and tells of changes.
type board struct {
	clock    func() time.Time
	onChange func(State)

	telling   sync.Mutex // keeps OnChange in order; taken before mu
	mu        sync.Mutex
	sending   Receiver
	receivers map[string]Receiver
}

func newBoard(cfg Config) *board {
	return &board{
		clock: cfg.Clock, onChange: cfg.OnChange,
		sending:   Receiver{Phase: Stopped, Since: cfg.Clock()},
		receivers: map[string]Receiver{},
	}
}

// State gives the state now, the receivers by the name of their queue.
func (b *board) State() State {
	b.mu.Lock()
	defer b.mu.Unlock()
	state := State{Phase: b.sending.Phase, Since: b.sending.Since, Error: b.sending.Error, Reconnects: b.sending.Reconnects}
	byQueue := func(x, y Receiver) int { return strings.Compare(x.Queue, y.Queue) }
	state.Receivers = slices.Collect(maps.Values(b.receivers))
	sorted.By(state.Receivers, byQueue)
	return state
}

// set puts the sending connection, or the receiver of a queue, in a phase. An error stays to be seen until the next one.
func (b *board) set(queue string, phase Phase, err error) {
	b.telling.Lock()
	defer b.telling.Unlock()
	b.mu.Lock()
	one := b.sending
	if queue != "" {
		one = b.receivers[queue]
		one.Queue = queue
	}
	if phase == Opened && one.Error != "" && one.Phase == Connecting {
		one.Reconnects++
	}
	if one.Phase != phase {
		one.Phase, one.Since = phase, b.clock()
	}
	if err != nil {
		one.Error = err.Error()
	}
	if queue != "" {
		b.receivers[queue] = one
	} else {
		b.sending = one
	}
	b.mu.Unlock()
	b.tell()
}

func (b *board) drop(queue string) {
	b.telling.Lock()
	defer b.telling.Unlock()
	b.mu.Lock()
	delete(b.receivers, queue)
	b.mu.Unlock()
	b.tell()
}

func (b *board) tell() {
	if b.onChange != nil {
		b.onChange(b.State())
	}
}
