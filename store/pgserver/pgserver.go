// Package pgserver runs private PostgreSQL servers for tests and measurements, with the programs that are installed. A server
// has its data and its socket in a folder of its own, and ends with the process that made it; the folder is left for its maker
// to remove. Superusers need no password, so none of it is for a server that others can reach.
package pgserver

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
)

// ErrNoPrograms is returned when no PostgreSQL is installed.
var ErrNoPrograms = errors.New("no PostgreSQL programs (initdb, postgres) are installed on this machine")

// Superuser names the user of a server made here; it needs no password.
const Superuser = "postgres"

// Server has a folder for data, socket and log, and the user that it runs as. Whoever makes it removes the folder.
type Server struct {
	Dir      string
	Programs string              // folder of initdb and postgres
	User     *syscall.Credential // nil: the user of this process
}

// New makes the folder of a server in scratch; empty is the folder of the system for temporary files.
func New(scratch string) (*Server, error) {
	programs, err := findPrograms()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(scratch, "schakel-pg-")
	if err != nil {
		return nil, fmt.Errorf("folder of PostgreSQL: %w", err)
	}
	as, err := giveAway(dir)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &Server{Dir: dir, Programs: programs, User: as}, nil
}

// Command makes a command of one of the programs, which ends with this process.
func (s *Server) Command(name string, args ...string) *exec.Cmd {
	c := exec.Command(filepath.Join(s.Programs, name), args...) // #nosec G204 -- programs of PostgreSQL, found here
	s.Prepare(c)
	c.SysProcAttr.Pdeathsig = syscall.SIGQUIT
	return c
}

// Prepare has a command run in the folder, as the user of the server and in a process group of its own.
func (s *Server) Prepare(c *exec.Cmd) {
	c.Dir, c.Env = s.Dir, append(os.Environ(), "LC_ALL=C", "HOME="+s.Dir)
	c.SysProcAttr = &syscall.SysProcAttr{Credential: s.User, Setpgid: true}
}

// Init makes the data of the server, in the folder data.
func (s *Server) Init() error {
	out, err := s.Command("initdb", "-D", "data", "-U", Superuser, "-A", "trust", "-E", "UTF8", "--locale=C").CombinedOutput()
	if err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return nil
}

// Postgres makes the command of the server itself, with its socket in the folder and these settings.
func (s *Server) Postgres(settings ...string) *exec.Cmd {
	args := []string{"-D", "data", "-k", s.Dir}
	for _, setting := range settings {
		args = append(args, "-c", setting)
	}
	return s.Command("postgres", args...)
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
	return "", ErrNoPrograms
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

// giveAway gives dir to a user the server accepts to run as: it refuses root.
func giveAway(dir string) (*syscall.Credential, error) {
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
			return nil, fmt.Errorf("folder of PostgreSQL: %w", err)
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, errors.New("run PostgreSQL: it refuses root, and there is no user postgres or nobody")
}
