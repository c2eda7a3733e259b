package trial

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"schakel/store/pgserver"
)

// PgBouncer is a private pooler before a server. In transaction mode it has few sessions for many clients and hands
// them out in turn, so that whoever relies on a session soon gets another one's.
type PgBouncer struct {
	Addr string // host:port

	files         *pgserver.Server // for its folder and its user
	path          string
	stop, stopped chan struct{}
	output        Log
}

// NewPgBouncer makes and starts one in pool_mode transaction or session; path is that of the program.
func NewPgBouncer(t T, path, mode string, server *Postgres) *PgBouncer {
	t.Helper()
	files := Must1[*pgserver.Server](t)(pgserver.New(""))
	t.Cleanup(func() { _ = os.RemoveAll(files.Dir) })
	port := FreePort(t)
	b := &PgBouncer{Addr: "127.0.0.1:" + port, files: files, path: path}
	config := fmt.Sprintf(`[databases]
* = host=127.0.0.1 port=%s user=%s
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %s
unix_socket_dir =
auth_type = any
pool_mode = %s
max_client_conn = 500
default_pool_size = %d
server_round_robin = 1
`, server.Port, pgserver.Superuser, port, mode, map[string]int{"transaction": 6, "session": 60}[mode])
	Must(t, os.WriteFile(filepath.Join(files.Dir, "pgbouncer.ini"), []byte(config), 0o644))
	t.Cleanup(func() {
		b.Kill()
		if t.Failed() {
			t.Logf("log of PgBouncer:\n%s", b.output.Tail())
		}
	})
	b.Start(t)
	return b
}

// Start starts it, for the first time or after Kill. When it ends by itself it starts again, as under systemd: PgBouncer 1.18,
// which Debian 12 has, ends at times when a query is cancelled (pgbouncer/pgbouncer#801).
func (b *PgBouncer) Start(t T) {
	t.Helper()
	b.stop, b.stopped = make(chan struct{}), make(chan struct{})
	pool, stop := b.run(t), b.stop
	go func() {
		defer close(b.stopped)
		for {
			ended := make(chan struct{})
			go func() { _ = pool.Wait(); close(ended) }()
			select {
			case <-stop:
				_ = pool.Process.Kill() // an error means that it has ended
				<-ended
				return
			case <-ended:
				fmt.Fprintln(&b.output, "ended:", pool.ProcessState)
				pool = b.run(t)
			}
		}
	}()
	Eventually(t, "PgBouncer takes connections", func() (bool, string) {
		conn, err := net.Dial("tcp", b.Addr)
		if err != nil {
			return false, b.output.Tail()
		}
		return true, fmt.Sprint(conn.Close())
	})
}

func (b *PgBouncer) run(t T) *exec.Cmd {
	pool := exec.Command(b.path, "pgbouncer.ini")
	b.files.Prepare(pool)
	pool.SysProcAttr.Pdeathsig = syscall.SIGKILL
	pool.Stdout, pool.Stderr = &b.output, &b.output
	if err := pool.Start(); err != nil {
		t.Errorf("start PgBouncer: %v", err)
	}
	return pool
}

// Kill ends it at once, with all connections through it.
func (b *PgBouncer) Kill() {
	if b.stop == nil {
		return
	}
	close(b.stop)
	<-b.stopped
	b.stop = nil
}
