package trial

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"schakel/delivery/freeport"
	"schakel/server/demo"
	"schakel/store/needs"
)

// StopBound sets how long SIGTERM may take (api.md: exits 0 within 10 s), with
// something on top for the machine that runs the tests.
const StopBound = 15 * time.Second

// Program is a Schakel in a process of its own, on ports of its own.
type Program struct {
	*PKI
	Own       demo.Organisation
	Database  string   // as the flag
	SecretKey string   // file with the key that encrypts secrets
	Base      string   // https://localhost:port, or http
	Admin     string   // http://127.0.0.1:port
	Args      []string // of the process; may be changed while it is not running
	Binary    string   // the program; default is Path
	Output    *Log     // what the process wrote, over all its starts
	// Checked keeps the setting by which data must fit its contract. Without it SetUp lets any data pass, for tests that
	// look at bytes on their way.
	Checked bool

	cmd   *exec.Cmd
	ended chan struct{} // closed when the process is gone
}

// NewProgram makes a program that is not started: over TLS, with its data in
// database, allowed to deliver to this machine, and giving up quickly.
func NewProgram(t T, p *PKI, own demo.Organisation, database string, more ...string) *Program {
	t.Helper()
	port, adminPort := FreePort(t), FreePort(t)
	s := &Program{
		PKI: p, Own: own, Database: database, SecretKey: filepath.Join(t.TempDir(), "schakel.key"),
		Base: "https://localhost:" + port, Admin: "http://127.0.0.1:" + adminPort, Output: &Log{},
	}
	s.Args = append([]string{
		"serve", "--addr", "127.0.0.1:" + port, "--admin-addr", "127.0.0.1:" + adminPort, "--base-url", s.Base,
		"--database", database, "--secret-key-file", s.SecretKey, "--organisation", own.Name, "--oin", own.OIN(),
		"--tls-cert", p.CertFile, "--tls-key", p.KeyFile, "--ca-file", p.CAFile,
		"--allow-outbound", "127.0.0.0/8", "--allow-outbound", "::1/128",
		"--retry-waits", "100ms,200ms", "--retry-attempts", "4",
	}, more...)
	t.Cleanup(func() { s.cleanup(t) })
	return s
}

// SQLitePath is the flag for a database in a fresh folder.
func SQLitePath(t T) string { return "sqlite:" + filepath.Join(t.TempDir(), "schakel.db") }

// Start starts the process and returns when it is ready.
func (s *Program) Start(t T) {
	t.Helper()
	s.Launch(t)
	s.AwaitReady(t)
}

// Launch starts the process and does not wait.
func (s *Program) Launch(t T) {
	t.Helper()
	if s.Binary == "" {
		s.Binary = Path(t)
	}
	s.cmd = exec.Command(s.Binary, s.Args...)
	s.cmd.Stdout, s.cmd.Stderr = s.Output, s.Output
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	Must(t, s.cmd.Start())
	s.ended = make(chan struct{})
	go func() { _ = s.cmd.Wait(); close(s.ended) }()
}

// AwaitReady returns when the process says that it is ready, and fails when it ends.
func (s *Program) AwaitReady(t T) {
	t.Helper()
	Eventually(t, "the program is ready", func() (bool, string) {
		select {
		case <-s.ended:
			t.Fatalf("the program ended with %s:\n%s", s.cmd.ProcessState, s.Output.Tail())
		default:
		}
		status, body, err := Get(http.DefaultClient, s.Admin+"/readyz")
		if err != nil {
			return false, err.Error()
		}
		return status == http.StatusOK, body
	})
}

// Stop ends the process as an operator does, and wants it to end well.
func (s *Program) Stop(t T) {
	t.Helper()
	began := time.Now()
	Must(t, s.cmd.Process.Signal(syscall.SIGTERM))
	select {
	case <-s.ended:
	case <-time.After(Patience):
		t.Fatalf("SIGTERM did not end the program:\n%s", s.Output.Tail())
	}
	if took := time.Since(began); took > StopBound {
		t.Errorf("SIGTERM took %s", took)
	}
	if code := s.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit code %d after SIGTERM:\n%s", code, s.Output.Tail())
	}
}

// PID is the process that was started last.
func (s *Program) PID() int { return s.cmd.Process.Pid }

// Ended is closed when the process is gone.
func (s *Program) Ended() <-chan struct{} { return s.ended }

// Kill ends the process as a power failure does.
func (s *Program) Kill(t T) {
	t.Helper()
	Must(t, s.cmd.Process.Kill())
	<-s.ended
}

func (s *Program) cleanup(t T) {
	if s.ended != nil {
		if t.Failed() { // what it waits for may be the cause: Go prints all goroutines and ends
			t.Logf("goroutines of %s:\n%s", s.Own.Name, s.goroutines())
		}
		_ = s.cmd.Process.Kill() // an error means that it has ended
		<-s.ended
	}
	if t.Failed() {
		t.Logf("log of %s:\n%s", s.Own.Name, s.Output.Tail())
		s.Explain(t)
	}
	if strings.Contains(s.Output.String(), "WARNING: DATA RACE") {
		t.Errorf("data race in the program:\n%s", s.Output.String())
	}
}

// goroutines ends the process with SIGQUIT and gives the stacks that it prints; nothing when it has ended already.
func (s *Program) goroutines() string {
	before := len(s.Output.String())
	if s.cmd.Process.Signal(syscall.SIGQUIT) != nil {
		return ""
	}
	select {
	case <-s.ended:
	case <-time.After(StopBound):
	}
	return s.Output.String()[before:]
}

// Command runs a subcommand that is not serve, and gives what it prints.
func (s *Program) Command(t T, stdin string, args ...string) (code int, out string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), Path(t), args...)
	cmd.Stdin = strings.NewReader(stdin)
	cmd.Env = append(os.Environ(), "SSL_CERT_FILE="+s.CAFile)
	output, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(output)
}

// FreePort is a port of this machine that nothing listens on.
func FreePort(t T) string {
	t.Helper()
	found, err := freeport.Find(1)
	Must(t, err)
	return strconv.Itoa(found[0])
}

// Get asks one page with a client.
func Get(client *http.Client, url string) (status int, body string, err error) {
	answer, err := client.Get(url)
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(b), err
}

// cache is the folder where the program is built, from the root of the module; it
// is kept between runs.
const cache = ".cache/e2e"

// root is the folder of the module, which the folder of the process is in.
func root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("no go.mod above the folder of the process")
		}
	}
}

// Path names the program, which is built when this process first asks for it. It
// looks for data races where the caller does.
func Path(t T) string {
	t.Helper()
	path, err := asTests()
	Must(t, err)
	return path
}

// PathPlain is Path without the search for data races, where the speed counts or
// a fault is put between the program and the system.
func PathPlain(t T) string {
	t.Helper()
	path, err := plain()
	Must(t, err)
	return path
}

// Built once in a process, however many tests ask.
var (
	asTests = sync.OnceValues(func() (string, error) { return build(needs.Raced) })
	plain   = sync.OnceValues(func() (string, error) { return build(false) })
)

func build(race bool) (string, error) {
	root, err := root()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(root, cache, "bin")
	name := "schakel"
	args := []string{"build", "-tags", "netgo"}
	if race {
		name, args = "schakel-race", append(args, "-race")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	// Another run may be using the old one: a new name, then the place of the old.
	fresh := filepath.Join(dir, fmt.Sprint(name, "-", os.Getpid()))
	path := filepath.Join(dir, name)
	out, err := exec.Command("go", append(args, "-o", fresh, "schakel/server")...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build the program: %w\n%s", err, out)
	}
	return path, os.Rename(fresh, path)
}

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
