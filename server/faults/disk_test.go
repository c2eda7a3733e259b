package faults

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

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
	if err := errors.Join(os.WriteFile(v.image, nil, 0o600), os.Truncate(v.image, size<<20), os.Mkdir(v.at, 0o700)); err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for block := make([]byte, 64<<10); len(block) > 0; {
		if _, err := f.Write(block); errors.Is(err, syscall.ENOSPC) {
			block = block[:len(block)/2] // to the last byte
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	return f.Name()
}
