package brokertest

import (
	"bufio"
	"bytes"
	_ "embed"
	"encoding/json"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"schakel/store/needs"
)

var (
	//go:embed peer/proton.py
	protonScript string
	//go:embed peer/rhea.js
	rheaScript string
	//go:embed peer/broker.js
	brokerScript string
)

// Value is one AMQP value with the name of its type, such as string, symbol, uuid,
// binary (its text in hexadecimal), ulong, int, boolean or timestamp (in milliseconds).
type Value struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// Text is a value of type string.
func Text(text string) Value { return Value{Type: "string", Text: text} }

// Sections is a message as it is on the wire. Header and properties have the
// names of the standard, such as "message-id"; what is not set is absent.
type Sections struct {
	Header              map[string]Value `json:"header,omitempty"`
	DeliveryAnnotations map[string]Value `json:"deliveryAnnotations,omitempty"`
	Annotations         map[string]Value `json:"annotations,omitempty"`
	Properties          map[string]Value `json:"properties,omitempty"`
	Application         map[string]Value `json:"application,omitempty"`
	Body                []Section        `json:"body,omitempty"`
	Footer              map[string]Value `json:"footer,omitempty"`
}

// Section is one section of a body: data, value or sequence.
type Section struct {
	Kind  string `json:"kind"`
	Value Value  `json:"value"`
}

// Peer is a foreign AMQP implementation.
type Peer string

// The peers. Proton shows the type of every value; rhea shows values alone, and can send a body of several sections or none.
const (
	Proton Peer = "qpid-proton"
	Rhea   Peer = "rhea"
)

// Peers lists both.
func Peers() []Peer { return []Peer{Proton, Rhea} }

// Send lets the peer send messages to an address of a broker and gives their outcomes.
func (p Peer) Send(t testing.TB, brokerURL, address string, messages ...Sections) []string {
	t.Helper()
	var outcomes []string
	for line := range bytes.Lines(p.run(t, brokerURL, map[string]any{"do": "send", "address": address, "messages": messages})) {
		var outcome string
		decode(t, line, &outcome)
		outcomes = append(outcomes, outcome)
	}
	return outcomes
}

// Receive lets the peer take so many messages from an address of a broker; it accepts them.
func (p Peer) Receive(t testing.TB, brokerURL, address string, count int) []Sections {
	t.Helper()
	var all []Sections
	for line := range bytes.Lines(p.run(t, brokerURL, map[string]any{"do": "receive", "address": address, "count": count})) {
		var one Sections
		decode(t, line, &one)
		all = append(all, one)
	}
	if len(all) != count {
		t.Fatalf("%s received %d messages, want %d", p, len(all), count)
	}
	return all
}

func (p Peer) run(t testing.TB, brokerURL string, job map[string]any) []byte {
	t.Helper()
	target, err := url.Parse(brokerURL)
	must(t, err)
	port, _ := strconv.Atoi(target.Port())
	job["host"], job["port"], job["user"], job["password"] = target.Hostname(), port, User, Password
	job["url"] = "amqp://" + User + ":" + Password + "@" + target.Host
	input, err := json.Marshal(job)
	must(t, err)
	command := p.command(t)
	command.Stdin = bytes.NewReader(input)
	var trouble bytes.Buffer
	command.Stderr = &trouble
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%s: %v: %s", p, err, trouble.String())
	}
	return out
}

func (p Peer) command(t testing.TB) *exec.Cmd {
	t.Helper()
	if p == Rhea {
		return nodeCommand(t, rheaScript)
	}
	const python = "/usr/bin/python3"
	if exec.Command(python, "-c", "import proton").Run() != nil {
		needs.Installed(t, "python3-qpid-proton", false)
	}
	return exec.CommandContext(t.Context(), python, "-c", protonScript)
}

// nodeCommand runs a script with rhea at hand.
func nodeCommand(t testing.TB, script string, arguments ...string) *exec.Cmd {
	t.Helper()
	needs.Full(t, "a foreign AMQP peer")
	node := needs.Program(t, "node")
	modules := filepath.Join(needs.Repository(), ".cache", "e2e", "node_modules")
	_, err := os.Stat(filepath.Join(modules, "rhea"))
	needs.Installed(t, "the JavaScript package rhea", err == nil)
	command := exec.CommandContext(t.Context(), node, append([]string{"-e", script, "--", "-"}, arguments...)...)
	command.Env = append(os.Environ(), "NODE_PATH="+modules)
	return command
}

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

// Event names an action of a scripted broker or its peer: attach, transfer, handed, accepted, released, modified, rejected.
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

// Scripted is a broker that does as it is told and behaves like Service Bus: a queue's name is its address, and what is rejected
// or failed ten times goes to NAME/$DeadLetterQueue, where nobody can send to, with the reason among its application properties.
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
	must(t, err)
	command := nodeCommand(t, brokerScript, string(script))
	lifeline, err := command.StdinPipe()
	must(t, err)
	out, err := command.StdoutPipe()
	must(t, err)
	must(t, command.Start())
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
	must(t, s.process.Signal(syscall.SIGSTOP))
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
