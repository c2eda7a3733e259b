package brokertest

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

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

// The peers. Proton shows the type of every value; rhea shows values alone, and can send
// a body of several sections or none.
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

// Receive lets the peer take so many messages from an address of a broker; it accepts
// them.
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
	if err != nil {
		t.Fatal(err)
	}
	port, _ := strconv.Atoi(target.Port())
	job["host"], job["port"], job["user"], job["password"] = target.Hostname(), port, User, Password
	job["url"] = "amqp://" + User + ":" + Password + "@" + target.Host
	input, err := json.Marshal(job)
	if err != nil {
		t.Fatal(err)
	}
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
