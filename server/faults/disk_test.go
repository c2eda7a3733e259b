package faults

import (
	"bufio"
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"schakel/server/trial"
	"schakel/store/needs"
)

// volume is a file system of its own on a loop device, which can lose its power.
type volume struct {
	image, at string
}

// newVolume makes and mounts one of so many MiB.
func newVolume(t *testing.T, size int64) *volume {
	t.Helper()
	needRoot(t, "mount a file system")
	needs.Program(t, "mkfs.ext4")
	dir := t.TempDir()
	v := &volume{filepath.Join(dir, "disk.img"), filepath.Join(dir, "disk")}
	trial.Must(t, errors.Join(os.WriteFile(v.image, nil, 0o600), os.Truncate(v.image, size<<20), os.Mkdir(v.at, 0o700)))
	if out, err := exec.Command("mkfs.ext4", "-q", "-F", v.image).CombinedOutput(); err != nil {
		t.Fatalf("mkfs.ext4: %v\n%s", err, out)
	}
	if out, err := exec.Command("mount", "-o", "loop", v.image, v.at).CombinedOutput(); err != nil {
		t.Skipf("this machine mounts no loop device: %s", bytes.TrimSpace(out))
	}
	t.Cleanup(func() { _ = exec.Command("umount", "--lazy", v.at).Run() })
	return v
}

// newMemoryVolume mounts one of so many MiB that is kept in memory: it is full sooner than a disk, and cannot lose its power.
func newMemoryVolume(t *testing.T, size int64) *volume {
	t.Helper()
	needRoot(t, "mount a file system")
	v := &volume{at: t.TempDir()}
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", fmt.Sprintf("size=%dm,mode=0700", size), "tmpfs", v.at).CombinedOutput(); err != nil {
		t.Skipf("this machine mounts no tmpfs: %s", bytes.TrimSpace(out))
	}
	t.Cleanup(func() { _ = exec.Command("umount", "--lazy", v.at).Run() })
	return v
}

// The ioctl by which ext4 goes down at once, and the way that leaves its journal as
// it is on disk: include/uapi/linux/ext4.h of the kernel.
const (
	shutdownRequest    = 0x8004587d
	shutdownNoLogFlush = 2
)

// cutPower loses what was not flushed to the disk, as a power failure does.
func (v *volume) cutPower(t *testing.T) {
	t.Helper()
	dir, err := os.Open(v.at)
	trial.Must(t, err)
	defer dir.Close()
	flags := uint32(shutdownNoLogFlush)
	if errno := ioctl(dir.Fd(), shutdownRequest, &flags); errno != 0 {
		t.Skipf("this file system cannot be shut down: %s", errno)
	}
}

// again mounts what is on the disk; the journal is replayed.
func (v *volume) again(t *testing.T) {
	t.Helper()
	if out, err := exec.Command("umount", v.at).CombinedOutput(); err != nil {
		t.Fatalf("umount: %v\n%s", err, out)
	}
	if out, err := exec.Command("mount", "-o", "loop", v.image, v.at).CombinedOutput(); err != nil {
		t.Fatalf("mount: %v\n%s", err, out)
	}
}

// fill writes a file until the disk has no room left, and gives its name.
func (v *volume) fill(t *testing.T) string {
	t.Helper()
	f, err := os.Create(filepath.Join(v.at, "ballast"))
	trial.Must(t, err)
	defer f.Close()
	for block := make([]byte, 64<<10); len(block) > 0; {
		if _, err := f.Write(block); errors.Is(err, syscall.ENOSPC) {
			block = block[:len(block)/2] // to the last byte
		} else if err != nil {
			t.Fatal(err)
		}
	}
	trial.Must(t, f.Sync())
	return f.Name()
}

// TestFullDisk fills the disk while events come in: they are answered 503, and
// nothing that was answered 202 is lost. When there is room again the same process
// goes on by itself.
//
// Rules: EDU-09, EDU-19
func TestFullDisk(t *testing.T) {
	t.Parallel()
	disk := newVolume(t, 48)
	c := newChain(t, "sqlite:"+filepath.Join(disk.at, "schakel.db"))
	c.Start(t)
	for range 3 {
		stop := c.publish(t)
		c.taken(t, 50)
		ballast := disk.fill(t)
		c.refused(t, 20)
		trial.Must(t, os.Remove(ballast))
		c.taken(t, 50)
		stop()
	}
	c.settle(t)
}

// TestDiskFullOfLog has a long read keep SQLite's log growing until it fills the volume. Events are answered 503 then, and
// /readyz reports first that there is little room and then that there is none. When the read is over and a file of somebody else
// is gone, the same process goes on by itself: it takes events, gives the space of the log back, and has lost nothing.
//
// Rules: EDU-09, EDU-19
func TestDiskFullOfLog(t *testing.T) {
	t.Parallel()
	disk := newMemoryVolume(t, 40)
	database := filepath.Join(disk.at, "schakel.db")
	c := newChain(t, "sqlite:"+database)
	c.Start(t)
	stop := c.publish(t)
	c.taken(t, 20)
	// More than half of the volume: what the log holds has room in the database when this is gone, however much of it is new pages.
	ballast := filepath.Join(disk.at, "ballast")
	trial.Must(t, os.WriteFile(ballast, make([]byte, 22<<20), 0o600))
	end := longRead(t, database)
	c.disk(t, "low disk space")
	c.refused(t, 20)
	c.disk(t, "the disk is full")
	full := size(t, database+"-wal")
	if full < 10<<20 {
		t.Fatalf("the log has %d bytes: something else filled the volume", full)
	}
	end()
	c.refused(t, 20) // what is in the log needs room in the database
	trial.Must(t, os.Remove(ballast))
	c.taken(t, 50)
	trial.Eventually(t, "the log gives its space back", func() (bool, string) {
		now := size(t, database+"-wal")
		return now < full/2, fmt.Sprintf("%d of %d bytes", now, full)
	})
	c.disk(t, "disk ok")
	c.taken(t, 50)
	stop()
	c.settle(t)
}

// longRead reads the database as it is now until the function it gives is called: meanwhile the log cannot begin anew.
func longRead(t *testing.T, database string) (end func()) {
	t.Helper()
	db, err := sql.Open("sqlite3", "file:"+database+"?mode=ro")
	trial.Must(t, err)
	tx, err := db.BeginTx(t.Context(), nil)
	trial.Must(t, err)
	var events int
	trial.Must(t, tx.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM event`).Scan(&events))
	return func() {
		trial.Must(t, tx.Rollback())
		trial.Must(t, db.Close())
	}
}

// disk waits until /readyz says something of the disk.
func (c *chain) disk(t *testing.T, words string) {
	t.Helper()
	trial.Eventually(t, "/readyz says "+words, func() (bool, string) {
		status, body, err := trial.Get(http.DefaultClient, c.Admin+"/readyz")
		return err == nil && strings.Contains(body, words), fmt.Sprint(status, body, err)
	})
}

func size(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	trial.Must(t, err)
	return info.Size()
}

// TestFsyncErrors has the system answer that data could not be brought to the disk,
// for a while and then now and then. Nothing is acknowledged that is not durable;
// when the disk works again so does the program; and the ledger holds after a kill.
//
// Rules: EDU-09, EDU-19, OPEN-13
func TestFsyncErrors(t *testing.T) {
	t.Parallel()
	for name, when := range map[string]string{"all": "1+", "every third": "3+3"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newChain(t, trial.SQLitePath(t))
			c.Binary = trial.PathPlain(t)
			c.Start(t)
			stop := c.publish(t)
			c.taken(t, 50)
			heal := failSyncs(t, c.Program, when)
			if name == "all" {
				c.refused(t, 10) // what was on its way to the disk at that moment has its answer
				acked := c.ledger.Len()
				c.refused(t, 20)
				if more := c.ledger.Len() - acked; more > 0 {
					t.Errorf("%d events were acknowledged that no sync brought to the disk", more)
				}
			} else {
				c.taken(t, 50)
			}
			heal()
			c.taken(t, 50)
			c.Kill(t)
			stop()
			c.receiver.Quiet(t)
			c.Start(t)
			c.settle(t)
		})
	}
}

// failSyncs traces a process and has those of its syncs fail that when names, in the
// words of strace. The function it gives ends that.
func failSyncs(t *testing.T, s *trial.Program, when string) (heal func()) {
	t.Helper()
	strace := needs.Program(t, "strace")
	cmd := exec.Command(strace, "-f", "-p", strconv.Itoa(s.PID()), "-e", "trace=fsync,fdatasync", "-e", "inject=fsync,fdatasync:error=EIO:when="+when)
	said, err := cmd.StderrPipe()
	trial.Must(t, err)
	trial.Must(t, cmd.Start())
	lines := bufio.NewReader(said)
	first, err := lines.ReadString('\n')
	if err != nil || !strings.Contains(first, "attached") {
		_ = cmd.Wait()
		t.Skipf("processes cannot be traced here: %s", first)
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	return func() {
		trial.Must(t, cmd.Process.Signal(os.Interrupt))
		_ = cmd.Wait()
	}
}

// powerCuts sets how often the power fails.
const powerCuts = 5

// TestPowerLoss has the file system under a SQLite database go down without
// flushing, while events come in and go out. What was answered 202 is there after
// the journal is replayed.
//
// Rules: EDU-09, EDU-19, EDU-N02
func TestPowerLoss(t *testing.T) {
	t.Parallel()
	disk := newVolume(t, 256)
	c := newChain(t, "sqlite:"+filepath.Join(disk.at, "schakel.db"))
	for n := range powerCuts {
		c.Start(t)
		stop := c.publish(t)
		c.taken(t, 100)
		kept, gone := disk.write(t, fmt.Sprint("kept-", n), true), disk.write(t, fmt.Sprint("gone-", n), false)
		trial.Pause(50 * time.Millisecond)
		freeze(t, c.PID())
		disk.cutPower(t)
		c.Kill(t)
		stop()
		c.receiver.Quiet(t)
		disk.again(t)
		if !hasContent(kept) || hasContent(gone) {
			t.Fatalf("a simulation without teeth: synced file there %t, other file there %t", hasContent(kept), hasContent(gone))
		}
	}
	c.Start(t)
	c.settle(t)
}

// freeze stops a process at one instant, out of every system call. ext4 that goes
// down during an fsync says that it succeeded, and loses the data: about one in
// twenty of those under way. No disk that loses its power answers.
func freeze(t *testing.T, pid int) {
	t.Helper()
	trial.Must(t, syscall.Kill(pid, syscall.SIGSTOP))
	trial.Eventually(t, "every thread stopped", func() (bool, string) {
		threads := trial.Must1[[]string](t)(filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid)))
		for _, thread := range threads {
			raw, err := os.ReadFile(thread)
			if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
				continue // it has ended
			}
			trial.Must(t, err)
			if !strings.Contains(string(raw), ") T ") {
				return false, string(raw)
			}
		}
		return len(threads) > 0, "no threads"
	})
}

// write makes a new file, synced or not: the one must live through a cut and the
// other must not, or the cut is none. (ext4 syncs a file by itself that is written
// anew under an old name.)
func (v *volume) write(t *testing.T, name string, synced bool) string {
	t.Helper()
	path := filepath.Join(v.at, name)
	f, err := os.Create(path)
	trial.Must(t, err)
	defer f.Close()
	_, err = f.WriteString("content")
	trial.Must(t, err)
	if synced {
		trial.Must(t, f.Sync())
	}
	return path
}

func hasContent(path string) bool {
	raw, _ := os.ReadFile(path)
	return string(raw) == "content"
}

// ioctl makes a request of the kernel about an open file.
func ioctl(fd, request uintptr, value *uint32) syscall.Errno {
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, fd, request, uintptr(unsafe.Pointer(value)))
	return errno
}
