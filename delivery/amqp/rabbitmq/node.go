package rabbitmq

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"schakel/delivery/freeport"
)

//go:embed node.sh
var nodeScript string

// The user every node has, with all rights.
const (
	User     = "guest"
	Password = "guest"
)

// endWait limits the time in which the shell of a node ends it in order.
const endWait = 3 * time.Second

// Node is one private RabbitMQ and the shell that keeps it. It is safe for concurrent use.
type Node struct {
	URL    string // amqp://127.0.0.1:port
	TLSURL string // amqps://127.0.0.1:port, "" for a node without certificates
	API    string // http://127.0.0.1:port/api of the management plugin

	installation Installation
	tls          *Certificates
	ports        ports

	dir      string
	shell    *exec.Cmd
	lifeline io.WriteCloser
	answers  *bufio.Scanner
	mu       sync.Mutex // one command at a time
	ended    sync.Once
	ending   error
}

// New prepares a node with its files in a new folder inside dir, or inside /tmp of the installation's root when it has one, or
// inside the temporary folder when dir is empty. certificates may be nil for a node without TLS. The node runs after Start; End
// must be called either way.
func New(i Installation, dir string, certificates *Certificates) (*Node, error) {
	n := &Node{installation: i, tls: certificates}
	var err error
	if n.ports, err = newPorts(); err != nil {
		return nil, err
	}
	if n.dir, err = newFolder(i.Root, dir); err != nil {
		return nil, err
	}
	n.URL, n.API = "amqp://"+loopback(n.ports.amqp), "http://"+loopback(n.ports.management)+"/api"
	if certificates != nil {
		n.TLSURL = "amqps://" + loopback(n.ports.amqps)
	}
	if err = n.configure(strings.TrimPrefix(n.dir, i.Root)); err == nil {
		err = n.open()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("prepare RabbitMQ %s: %w", i.Version, err), n.End())
	}
	return n, nil
}

// Launch prepares a node and starts it. A port that someone else took in the meantime is met by a second try.
func Launch(i Installation, dir string, certificates *Certificates) (*Node, error) {
	for last := false; ; last = true {
		n, err := New(i, dir, certificates)
		if err == nil {
			err = n.Start()
		}
		if err == nil {
			return n, nil
		}
		if n != nil {
			err = errors.Join(err, n.End())
		}
		if last {
			return nil, err
		}
	}
}

func newFolder(root, dir string) (string, error) {
	switch {
	case root != "":
		dir = filepath.Join(root, "tmp") // where TMPDIR points is outside it
	case dir == "":
		dir = os.TempDir()
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return os.MkdirTemp(dir, "schakel-rabbit-")
}

func loopback(port int) string { return "127.0.0.1:" + strconv.Itoa(port) }

func (n *Node) open() error {
	// #nosec G204 -- the script is ours, the folders were found and made here
	shell := exec.Command("/bin/sh", "-c", nodeScript, "sh", n.dir, n.installation.Programs, n.installation.Root)
	// A process group of its own, so that an interrupt at the terminal reaches its owner first.
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	shell.Dir = "/"
	shell.Env = []string{
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"ERL_EPMD_PORT=" + strconv.Itoa(n.ports.epmd), "ERL_EPMD_ADDRESS=127.0.0.1",
		"RABBITMQ_NODENAME=" + filepath.Base(n.dir) + "@localhost",
		"RABBITMQ_DIST_PORT=" + strconv.Itoa(n.ports.distribution),
	}
	var err error
	if n.lifeline, err = shell.StdinPipe(); err != nil {
		return err
	}
	out, err := shell.StdoutPipe()
	if err != nil {
		return err
	}
	n.answers = bufio.NewScanner(out)
	if err := shell.Start(); err != nil {
		return err
	}
	n.shell = shell
	return nil
}

// Start starts the node, for the first time or after Kill or Stop on the same ports, and returns when it takes connections.
func (n *Node) Start() error { return n.command("start", "ready") }

// Kill ends the node as a power cut would: what it did not write is gone.
func (n *Node) Kill() error { return n.command("kill", "killed") }

// Stop ends the node in order; its queues stay.
func (n *Node) Stop() error { return n.command("stop", "stopped") }

// command gives the shell a command and waits for the answer.
func (n *Node) command(command, want string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, err := io.WriteString(n.lifeline, command+"\n"); err != nil {
		return fmt.Errorf("%s RabbitMQ %s: %w", command, n.installation.Version, err)
	}
	if !n.answers.Scan() {
		return fmt.Errorf("%s RabbitMQ %s: the shell of the node ended", command, n.installation.Version)
	}
	if got := n.answers.Text(); got != want {
		return fmt.Errorf("%s RabbitMQ %s: %s", command, n.installation.Version, got)
	}
	return nil
}

// End ends the node for good and removes its folder, also while it starts.
func (n *Node) End() error {
	n.ended.Do(func() { n.ending = errors.Join(n.endShell(), os.RemoveAll(n.dir)) })
	return n.ending
}

func (n *Node) endShell() error {
	if n.shell == nil {
		return nil
	}
	_ = n.lifeline.Close() // one that is closed is as good
	done := make(chan error, 1)
	go func() { done <- n.shell.Wait() }()
	select {
	case err := <-done:
		return err
	case <-time.After(endWait):
	}
	// It is starting, and the shell does not read. All of its group go, as asked.
	_ = syscall.Kill(-n.shell.Process.Pid, syscall.SIGKILL)
	<-done
	return nil
}

// Certificates identify a node on its TLS port, as PEM; clients must show one of
// the authority's to log in by SASL EXTERNAL, by its common name.
type Certificates struct {
	Authority, Certificate, Key []byte
}

type ports struct{ amqp, amqps, management, distribution, epmd int }

// newPorts finds free ports. Another may take one before the node does.
func newPorts() (ports, error) {
	found, err := freeport.Find(5)
	if err != nil {
		return ports{}, err
	}
	return ports{amqp: found[0], amqps: found[1], management: found[2], distribution: found[3], epmd: found[4]}, nil
}

// configure writes the files a node reads; inner is the folder as the node sees it.
func (n *Node) configure(inner string) error {
	files := map[string][]byte{
		"rabbitmq.conf": []byte(n.config(inner)), "enabled_plugins": []byte(n.installation.Version.plugins()),
	}
	if n.tls != nil {
		files["ca.pem"], files["cert.pem"], files["key.pem"] = n.tls.Authority, n.tls.Certificate, n.tls.Key
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(n.dir, name), content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func (n *Node) config(inner string) string {
	lines := []string{
		"listeners.tcp.1 = " + loopback(n.ports.amqp),
		"management.tcp.ip = 127.0.0.1",
		"management.tcp.port = " + strconv.Itoa(n.ports.management),
		"collect_statistics_interval = 500",
		"log.console = true",
		"log.console.level = warning",
		"disk_free_limit.absolute = 50MB",
		"raft.wal_max_size_bytes = 32000000",
	}
	if n.tls != nil {
		lines = append(lines,
			"listeners.ssl.1 = "+loopback(n.ports.amqps),
			"ssl_options.cacertfile = "+inner+"/ca.pem",
			"ssl_options.certfile = "+inner+"/cert.pem",
			"ssl_options.keyfile = "+inner+"/key.pem",
			"ssl_options.verify = verify_peer",
			"ssl_options.fail_if_no_peer_cert = false",
			"auth_mechanisms.1 = EXTERNAL", "auth_mechanisms.2 = PLAIN", "auth_mechanisms.3 = AMQPLAIN",
			"ssl_cert_login_from = common_name")
	}
	return strings.Join(lines, "\n") + "\n"
}

// Party is a party of the exchange with its queues, as the exchange makes them (AMQP-46).
type Party struct {
	HerID                          int
	Async, Sync, Error, DeadLetter string
}

// Party makes the queues of a HER-id: async, a quorum queue that gives up after ten deliveries (AMQP-45), sync with a time to
// live of 15 s (AMQP-43), error and the dead letters, which async and error messages go to.
func (n *Node) Party(ctx context.Context, herID int) (Party, error) {
	id := strconv.Itoa(herID)
	p := Party{HerID: herID, Async: id + "_async", Sync: id + "_sync", Error: id + "_error", DeadLetter: id + "_dl"}
	toDeadLetter := map[string]any{
		"x-queue-type": "quorum", "x-delivery-limit": 9,
		"x-dead-letter-exchange": "", "x-dead-letter-routing-key": p.DeadLetter,
	}
	for _, q := range []struct {
		name      string
		arguments map[string]any
	}{
		{p.DeadLetter, map[string]any{"x-queue-type": "quorum"}},
		{p.Async, toDeadLetter},
		{p.Error, toDeadLetter},
		{p.Sync, map[string]any{"x-queue-type": "classic", "x-message-ttl": 15000}},
	} {
		if err := n.Queue(ctx, q.name, q.arguments); err != nil {
			return p, err
		}
	}
	return p, nil
}

// Queue makes a durable queue.
func (n *Node) Queue(ctx context.Context, name string, arguments map[string]any) error {
	if arguments == nil {
		arguments = map[string]any{}
	}
	_, err := n.Call(ctx, http.MethodPut, QueuePath(name), map[string]any{"durable": true, "arguments": arguments})
	return err
}

// QueuePath gives the path of a queue in the management API.
func QueuePath(name string) string { return "/queues/%2F/" + url.PathEscape(name) }

// Call asks the management API and gives its answer. Removing what is not there is no error.
func (n *Node) Call(ctx context.Context, method, path string, body any) ([]byte, error) {
	encoded, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, method, n.API+path, bytes.NewReader(encoded))
	if err != nil {
		return nil, err
	}
	req.SetBasicAuth(User, Password)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode >= 300 && (method != http.MethodDelete || resp.StatusCode != http.StatusNotFound) {
		err = fmt.Errorf("%s %s: %s %s", method, path, resp.Status, answer)
	}
	return answer, err
}
