package e2e

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"schakel/server/demo"
)

// stopBound is how long SIGTERM may take (api.md: exits 0 within 10 s), with
// something on top for the machine that runs the tests.
const stopBound = 15 * time.Second

// program is a Schakel in a process of its own, on ports of its own.
type program struct {
	*pki
	own      demo.Organisation
	database string // as the flag
	keyFile  string
	base     string // https://localhost:port
	admin    string // http://127.0.0.1:port
	args     []string

	cmd    *exec.Cmd
	ended  chan struct{} // closed when the process is gone
	output *logBuffer
}

// newProgram makes a program that is not started: over TLS, with its data in
// database, allowed to deliver to this machine, and giving up quickly.
func newProgram(t testing.TB, p *pki, own demo.Organisation, database string, more ...string) *program {
	t.Helper()
	port, adminPort := freePort(t), freePort(t)
	s := &program{
		pki: p, own: own, database: database, keyFile: filepath.Join(t.TempDir(), "schakel.key"),
		base: "https://localhost:" + port, admin: "http://127.0.0.1:" + adminPort, output: &logBuffer{},
	}
	s.args = append([]string{
		"serve", "--addr", "127.0.0.1:" + port, "--admin-addr", "127.0.0.1:" + adminPort, "--base-url", s.base,
		"--database", database, "--secret-key-file", s.keyFile, "--organisation", own.Name, "--oin", own.OIN(),
		"--tls-cert", p.certFile, "--tls-key", p.keyFile, "--ca-file", p.caFile,
		"--allow-outbound", "127.0.0.0/8", "--allow-outbound", "::1/128",
		"--retry-waits", "100ms,200ms", "--retry-attempts", "4",
	}, more...)
	t.Cleanup(func() { s.cleanup(t) })
	return s
}

func sqlitePath(t testing.TB) string { return "sqlite:" + filepath.Join(t.TempDir(), "schakel.db") }

// start starts the process and returns when it is ready.
func (s *program) start(t testing.TB) {
	t.Helper()
	s.cmd = exec.Command(programPath(t), s.args...)
	s.cmd.Stdout, s.cmd.Stderr = s.output, s.output
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s.ended = make(chan struct{})
	go func() { _ = s.cmd.Wait(); close(s.ended) }()
	eventually(t, "the program is ready", func() (bool, string) {
		select {
		case <-s.ended:
			t.Fatalf("the program ended with %s:\n%s", s.cmd.ProcessState, s.output.tail())
		default:
		}
		status, body, err := get(http.DefaultClient, s.admin+"/readyz")
		if err != nil {
			return false, err.Error()
		}
		return status == http.StatusOK, body
	})
}

// stop ends the process as an operator does, and wants it to end well.
func (s *program) stop(t testing.TB) {
	t.Helper()
	began := time.Now()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-s.ended:
	case <-time.After(patience):
		t.Fatalf("SIGTERM did not end the program:\n%s", s.output.tail())
	}
	if took := time.Since(began); took > stopBound {
		t.Errorf("SIGTERM took %s", took)
	}
	if code := s.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit code %d after SIGTERM:\n%s", code, s.output.tail())
	}
}

// kill ends the process as a power failure does.
func (s *program) kill(t testing.TB) {
	t.Helper()
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-s.ended
}

func (s *program) cleanup(t testing.TB) {
	if s.ended != nil {
		_ = s.cmd.Process.Kill() // an error means that it has ended
		<-s.ended
	}
	if t.Failed() {
		t.Logf("log of %s:\n%s", s.own.Name, s.output.tail())
		s.explain(t)
	}
	if strings.Contains(s.output.String(), "WARNING: DATA RACE") {
		t.Errorf("data race in the program:\n%s", s.output.String())
	}
}

// command runs a subcommand that is not serve, and gives what it prints.
func (s *program) command(t testing.TB, stdin string, args ...string) (code int, out string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), programPath(t), args...)
	cmd.Stdin = strings.NewReader(stdin)
	cmd.Env = append(os.Environ(), "SSL_CERT_FILE="+s.caFile)
	output, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(output)
}

func freePort(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return fmt.Sprint(l.Addr().(*net.TCPAddr).Port)
}

func get(client *http.Client, url string) (status int, body string, err error) {
	answer, err := client.Get(url)
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(b), err
}

// logBuffer keeps what a process writes; two streams write at once.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write implements io.Writer.
func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

// String gives all that was written.
func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// tail gives the end, which tells why something failed.
func (b *logBuffer) tail() string {
	all := b.String()
	return all[max(0, len(all)-6000):]
}
