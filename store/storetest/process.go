package storetest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"schakel/store/pgserver"
)

// process is a running server and the watchdog shell that ends it.
type process struct {
	*pgserver.Server
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
make() { "$bin/initdb" -D data -U ` + pgserver.Superuser + ` -A trust -E UTF8 -N --locale=C "$@"; }
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
	s, err := pgserver.New("")
	if err != nil {
		return nil, err
	}
	p := &process{Server: s, watchdog: exec.Command("/bin/sh", "-c", watchdogScript, "sh", s.Programs, s.Dir)}
	// A process group of its own, so that an interrupt at the terminal reaches the test first and the server last.
	s.Prepare(p.watchdog)
	p.watchdog.Dir = "/"
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
		return errors.Join(err, os.RemoveAll(p.Dir))
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
