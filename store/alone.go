package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// ErrInUse is returned when another process has the database to itself.
var ErrInUse = errors.New("another Schakel works on this file; stop it first, or use PostgreSQL when several must share the work")

// takeAlone keeps a SQLite file to this process. It locks a file beside the database and not the database itself, where locks of
// SQLite's own may be in the way. The kernel lets go of it when the process ends, however it ends.
func takeAlone(path string) (*os.File, error) {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // else two names of one file would be two locks
	}
	f, err := os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock file: %w", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		holder := make([]byte, 20)
		n, _ := f.ReadAt(holder, 0)
		return nil, errors.Join(fmt.Errorf("%w (process %s)", ErrInUse, strings.TrimSpace(string(holder[:n]))), f.Close())
	}
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", f.Name(), err), f.Close())
	}
	return f, nil
}

// unlock leaves the lock file where it is: removing it could take it away under a process that just opened it.
func (db *DB) unlock() error {
	if db.lock == nil {
		return nil
	}
	err := db.lock.Close()
	db.lock = nil
	return err
}

// makePrivate makes a new database file that only its owner can read: it holds personal data and password hashes. SQLite gives
// the files beside it the same mode. What is there already keeps the mode that the operator gave it.
func makePrivate(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}
