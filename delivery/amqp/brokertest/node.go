package brokertest

import (
	"bufio"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

//go:embed node.sh
var nodeScript string

// Certificates are what a node shows on its TLS port, as PEM; clients must show one of
// the authority's to log in by SASL EXTERNAL, by its common name.
type Certificates struct {
	Authority, Certificate, Key []byte
}

// node is one private RabbitMQ and the shell that keeps it.
type node struct {
	version Version
	tls     *Certificates
	ports   ports

	dir      string
	shell    *exec.Cmd
	lifeline io.WriteCloser
	answers  *bufio.Scanner
	mu       sync.Mutex // one command at a time
}

type ports struct{ amqp, amqps, management, distribution, epmd int }

func newPorts() (ports, error) {
	var p ports
	var held []net.Listener
	defer func() {
		for _, l := range held {
			_ = l.Close()
		}
	}()
	for _, port := range []*int{&p.amqp, &p.amqps, &p.management, &p.distribution, &p.epmd} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return p, err
		}
		held = append(held, l)
		*port = l.Addr().(*net.TCPAddr).Port
	}
	return p, nil
}

// launch makes a node in a new folder and starts it. A port that someone else took in
// the meantime is met by a second try.
func launch(v Version, certificates *Certificates) (*node, error) {
	n, err := launchOnce(v, certificates)
	if err != nil {
		n, err = launchOnce(v, certificates)
	}
	return n, err
}

func launchOnce(v Version, certificates *Certificates) (*node, error) {
	root, programs, _ := v.find()
	n := &node{version: v, tls: certificates}
	var err error
	if n.ports, err = newPorts(); err != nil {
		return nil, err
	}
	if n.dir, err = os.MkdirTemp(filepath.Join(root, os.TempDir()), "schakel-rabbit-"); err != nil {
		return nil, err
	}
	if err = n.configure(strings.TrimPrefix(n.dir, root)); err == nil {
		err = n.open(programs, root)
	}
	if err == nil {
		err = n.command("start", "ready")
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start RabbitMQ %s: %w", v, err), n.end(), os.RemoveAll(n.dir))
	}
	return n, nil
}

func (n *node) open(programs, root string) error {
	n.shell = exec.Command("/bin/sh", "-c", nodeScript, "sh", n.dir, programs, root)
	// A process group of its own, so that an interrupt at the terminal reaches the test first.
	n.shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	n.shell.Dir = "/"
	n.shell.Env = []string{
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"ERL_EPMD_PORT=" + strconv.Itoa(n.ports.epmd), "ERL_EPMD_ADDRESS=127.0.0.1",
		"RABBITMQ_NODENAME=" + filepath.Base(n.dir) + "@localhost",
		"RABBITMQ_DIST_PORT=" + strconv.Itoa(n.ports.distribution),
	}
	var err error
	if n.lifeline, err = n.shell.StdinPipe(); err != nil {
		return err
	}
	out, err := n.shell.StdoutPipe()
	if err != nil {
		return err
	}
	n.answers = bufio.NewScanner(out)
	return n.shell.Start()
}

// command gives the shell a command and waits for the answer.
func (n *node) command(command, want string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, err := io.WriteString(n.lifeline, command+"\n"); err != nil {
		return err
	}
	if !n.answers.Scan() {
		return errors.New("the shell of the node ended")
	}
	if got := n.answers.Text(); got != want {
		return fmt.Errorf("%s: %s", command, got)
	}
	return nil
}

// end ends the node for good and removes its folder.
func (n *node) end() error {
	if n.shell == nil || n.shell.Process == nil {
		return nil
	}
	return errors.Join(n.lifeline.Close(), n.shell.Wait())
}

// configure writes the files a node reads; inner is the folder as the node sees it.
func (n *node) configure(inner string) error {
	files := map[string][]byte{"rabbitmq.conf": []byte(n.config(inner)), "enabled_plugins": []byte(n.version.plugins())}
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

func (n *node) config(inner string) string {
	lines := []string{
		"listeners.tcp.1 = 127.0.0.1:" + strconv.Itoa(n.ports.amqp),
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
			"listeners.ssl.1 = 127.0.0.1:"+strconv.Itoa(n.ports.amqps),
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
