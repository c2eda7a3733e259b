package brokertest

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Behaviour sets the outcome of messages sent to a queue of a scripted broker.
type Behaviour string

// The behaviours.
const (
	Accept  Behaviour = "accept"  // takes it, and hands it out to who receives
	Release Behaviour = "release" // outcome released
	Modify  Behaviour = "modify"  // outcome modified
	Reject  Behaviour = "reject"  // outcome rejected, amqp:precondition-failed
	Silent  Behaviour = "silent"  // no outcome
	Drop    Behaviour = "drop"    // the connection breaks in place of an outcome
	Close   Behaviour = "close"   // the connection breaks in place of the attach
	Detach  Behaviour = "detach"  // the link is detached in place of an outcome
	Stall   Behaviour = "stall"   // never gives credit
)

// Faults with an error condition; each lasts for so many times, and then the queue accepts. 0 is for ever.
var (
	// Rejects answers with the outcome rejected.
	Rejects = fault("rejected")
	// Detaches ends the link in place of an outcome.
	Detaches = fault("detached")
	// Refuses refuses the attach.
	Refuses = fault("refused")
	// Forces ends the connection in place of an outcome.
	Forces = fault("forced")
)

func fault(verb string) func(condition string, times int) Behaviour {
	return func(condition string, times int) Behaviour {
		if times == 0 {
			return Behaviour(verb + " " + condition)
		}
		return Behaviour(verb + " " + condition + " " + strconv.Itoa(times))
	}
}

// Event names an action of a scripted broker or its peer: attach, transfer, handed, accepted,
// released, modified, rejected.
type Event struct {
	Event   string `json:"event"`
	Role    string `json:"role"` // of an attach: sender or receiver, as we are
	Queue   string `json:"queue"`
	ID      any    `json:"id"` // messageId
	Count   int    `json:"count"`
	Durable bool   `json:"durable"`
	TTL     int    `json:"ttl"` // milliseconds
	Port    int    `json:"port"`
}

// Scripted is a broker that does as it is told and behaves like Service Bus: a queue's
// name is its address, and what is rejected or failed ten times goes to
// NAME/$DeadLetterQueue, where nobody can send to, with the reason among its application
// properties.
type Scripted struct {
	URL string

	process *os.Process

	mu     sync.Mutex
	events []Event
	news   chan struct{}
}

// StartScripted starts a scripted broker with these queues; it ends with the test.
func StartScripted(t testing.TB, queues map[string]Behaviour) *Scripted {
	t.Helper()
	script, err := json.Marshal(queues)
	if err != nil {
		t.Fatal(err)
	}
	command := nodeCommand(t, brokerScript, string(script))
	lifeline, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	s := &Scripted{process: command.Process, news: make(chan struct{})}
	go s.read(out)
	t.Cleanup(func() {
		_ = lifeline.Close()
		_ = command.Wait()
	})
	listening := s.Await(t, func(e Event) bool { return e.Event == "listening" })
	s.URL = "amqp://127.0.0.1:" + strconv.Itoa(listening.Port)
	return s
}

func (s *Scripted) read(out io.Reader) {
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var e Event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			continue
		}
		s.mu.Lock()
		s.events = append(s.events, e)
		close(s.news)
		s.news = make(chan struct{})
		s.mu.Unlock()
	}
}

// Stall stops the broker for as long as do takes, so that it reads at once all that is written meanwhile.
func (s *Scripted) Stall(t testing.TB, do func()) {
	t.Helper()
	if err := s.process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.process.Signal(syscall.SIGCONT) }()
	do()
}

// Events gives what happened so far, in order.
func (s *Scripted) Events() []Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Event(nil), s.events...)
}

// Await waits for the first event that matches.
func (s *Scripted) Await(t testing.TB, matches func(Event) bool) Event {
	t.Helper()
	expired := time.After(giveUp)
	for seen := 0; ; {
		s.mu.Lock()
		events, news := s.events, s.news
		s.mu.Unlock()
		for ; seen < len(events); seen++ {
			if matches(events[seen]) {
				return events[seen]
			}
		}
		select {
		case <-news:
		case <-expired:
			t.Fatalf("the scripted broker never told what was waited for; it told %v", events)
		}
	}
}
