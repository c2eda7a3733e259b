package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// tick is the unit of processor time under /proc on Linux.
const tick = 10 * time.Millisecond

// usage is processor time that was used up to a moment.
type usage struct {
	at                        time.Time
	schakel, database, loader time.Duration
	machine                   time.Duration // of everything, these included
}

// since returns the use between two moments.
func (u usage) since(before usage) usage {
	return usage{
		before.at, u.schakel - before.schakel, u.database - before.database, u.loader - before.loader, u.machine - before.machine,
	}
}

// others is the share (0 to 1) of the machine that was used by neither of these. The kernel's own threads, which write
// to the disk for us, count as others too.
func (u usage) others(wall time.Duration) float64 {
	rest := u.machine - u.schakel - u.database - u.loader
	return max(0, rest.Seconds()/wall.Seconds()/float64(runtime.NumCPU()))
}

// measure reads the processor time of the nodes, of a database server (0 is none of ours), of this process and of the
// machine.
func measure(nodes []int, postmaster int) (u usage, err error) {
	u.at = time.Now()
	for _, pid := range nodes {
		own, _, _, err := processorTime(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return u, err
		}
		u.schakel += own
	}
	if postmaster > 0 {
		if u.database, err = familyTime(postmaster); err != nil {
			return u, err
		}
	}
	var self syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &self); err != nil {
		return u, fmt.Errorf("measure this process: %w", err)
	}
	u.loader = time.Duration(self.Utime.Nano() + self.Stime.Nano())
	u.machine, err = machineTime()
	return u, err
}

// familyTime is the processor time of a process and its children, also of those that have ended.
func familyTime(parent int) (total time.Duration, err error) {
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, fmt.Errorf("list processes: %w", err)
	}
	for _, file := range files {
		own, ended, of, err := processorTime(file)
		switch {
		case err != nil: // it ended meanwhile
		case of == parent:
			total += own
		case file == fmt.Sprintf("/proc/%d/stat", parent):
			total += own + ended
		}
	}
	return total, nil
}

// processorTime reads the time of a process, that of its ended children, and its parent.
func processorTime(file string) (own, ended time.Duration, parent int, err error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return 0, 0, 0, fmt.Errorf("measure process: %w", err)
	}
	// The name of the program may hold spaces; it ends with the last parenthesis.
	fields := strings.Fields(string(raw[bytes.LastIndexByte(raw, ')')+1:]))
	if len(fields) < 15 {
		return 0, 0, 0, fmt.Errorf("measure process: %q", raw)
	}
	parent, _ = strconv.Atoi(fields[1])
	return ticks(fields[11:13]), ticks(fields[13:15]), parent, nil
}

// machineTime returns the time that all processors spent on anything but waiting.
func machineTime() (time.Duration, error) {
	raw, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, fmt.Errorf("measure machine: %w", err)
	}
	line, _, _ := strings.Cut(string(raw), "\n")
	fields := strings.Fields(line)
	if len(fields) < 8 {
		return 0, fmt.Errorf("measure machine: %q", line)
	}
	return ticks(fields[1:4]) + ticks(fields[6:8]), nil // 4 and 5 are idle and waiting for the disk
}

func ticks(fields []string) (total time.Duration) {
	for _, f := range fields {
		n, _ := strconv.ParseInt(f, 10, 64)
		total += time.Duration(n) * tick
	}
	return total
}

// memory reads how many bytes a process has in memory, now and at most until now.
func memory(pid int) (now, most int64, err error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0, fmt.Errorf("measure memory: %w", err)
	}
	for line := range strings.Lines(string(raw)) {
		name, value, _ := strings.Cut(line, ":")
		kilobytes, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		switch name {
		case "VmRSS":
			now = kilobytes << 10
		case "VmHWM":
			most = kilobytes << 10
		}
	}
	return now, most, nil
}
