package storetest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

const superuser = "postgres"

// process is a running server and the watchdog shell that ends it.
type process struct {
	dir      string // data, socket and log
	watchdog *exec.Cmd
	lifeline io.Closer
}

// watchdogScript makes and starts a server in the folder $2 with the programs of $1, says "ready", and ends it and
// removes the folder when its standard input closes. The kernel closes that also when the test binary is killed or
// panics, so nothing is left behind. Where PostgreSQL can, the server sorts as people do (ICU), so that a query shows
// that relies on the order of bytes.
const watchdogScript = `
bin=$1 dir=$2
cd "$dir" || exit 1
fail() { tail -n 20 log; cd /; rm -rf "$dir"; exit 1; }
make() { "$bin/initdb" -D data -U ` + superuser + ` -A trust -E UTF8 -N --locale=C "$@"; }
{ make --locale-provider=icu --icu-locale=en-US || { rm -rf data; make; }; } >log 2>&1 || fail
"$bin/postgres" -D data -k "$dir" -c listen_addresses= -F -c full_page_writes=off -c synchronous_commit=off \
  -c max_connections=300 -c shared_buffers=64MB -c autovacuum=off >>log 2>&1 </dev/null &
pid=$!
until grep -qs ready data/postmaster.pid; do kill -0 $pid 2>/dev/null || fail; sleep 0.05; done
echo ready
read -r _
kill -QUIT $pid
wait $pid
cd /
rm -rf "$dir"
`

// startPostgres runs a server of its own and returns when it takes connections.
func startPostgres(ctx context.Context) (*process, error) {
	programs, err := findPrograms()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "schakel-pg-")
	if err != nil {
		return nil, err
	}
	as, err := ownedByOther(dir)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	p := &process{dir: dir, watchdog: exec.Command("/bin/sh", "-c", watchdogScript, "sh", programs, dir)}
	// A process group of its own, so that an interrupt at the terminal reaches the test first and the server last.
	p.watchdog.SysProcAttr = &syscall.SysProcAttr{Credential: as, Setpgid: true}
	p.watchdog.Dir = "/"
	p.watchdog.Env = append(os.Environ(), "LC_ALL=C", "HOME="+dir)
	return p, p.run(ctx)
}

func (p *process) run(ctx context.Context) error {
	lifeline, err := p.watchdog.StdinPipe()
	if err != nil {
		return err
	}
	out, err := p.watchdog.StdoutPipe()
	if err != nil {
		return err
	}
	p.lifeline = lifeline
	if err := p.watchdog.Start(); err != nil {
		return errors.Join(err, os.RemoveAll(p.dir))
	}
	defer context.AfterFunc(ctx, func() { _ = lifeline.Close() })()
	lines := bufio.NewScanner(out)
	var said []string
	for lines.Scan() {
		if lines.Text() == "ready" {
			return nil
		}
		said = append(said, lines.Text())
	}
	return errors.Join(fmt.Errorf("start PostgreSQL: %s", strings.Join(said, "; ")), p.watchdog.Wait())
}

// stop ends the server and returns when its folder is gone.
func (p *process) stop() error {
	return errors.Join(p.lifeline.Close(), p.watchdog.Wait())
}

// findPrograms finds the folder of the newest PostgreSQL, as Debian installs it or on the PATH.
func findPrograms() (string, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	slices.SortFunc(found, func(a, b string) int { return version(b) - version(a) })
	if path, err := exec.LookPath("initdb"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			found = append(found, filepath.Dir(path))
		}
	}
	for _, dir := range found {
		if hasAll(dir, "initdb", "postgres") {
			return dir, nil
		}
	}
	return "", errNoPrograms
}

func version(bin string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(bin)))
	return n
}

func hasAll(dir string, names ...string) bool {
	for _, name := range names {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}

// ownedByOther gives dir to a user the server accepts to run as: it refuses root.
func ownedByOther(dir string) (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err := errors.Join(err1, err2, os.Chown(dir, int(uid), int(gid))); err != nil {
			return nil, err
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, errors.New("run PostgreSQL: it refuses root, and there is no user postgres or nobody")
}
