package freeport

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestFind(t *testing.T) {
	t.Parallel()
	ports, err := Find(50)
	if err != nil || len(ports) != 50 {
		t.Fatalf("%d ports, %v", len(ports), err)
	}
	for i, port := range ports {
		if slices.Contains(ports[:i], port) {
			t.Errorf("%d was given twice", port)
		}
		if port < first || port >= last {
			t.Errorf("%d is none of those that are handed out", port)
		}
		l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port))
		if err != nil {
			t.Errorf("%d is not free: %v", port, err)
			continue
		}
		t.Cleanup(func() { _ = l.Close() })
	}
}

// Who asks later gets none of the ports that another process was given, though nothing listens on them: its server may be
// restarting. It is not parallel to TestFind: the first process that Go starts is made without syscall.ForkLock and has the
// listeners of all tests for a moment.
func TestFindInTwoProcesses(t *testing.T) {
	const few = 20
	if ports := os.Getenv("FREEPORT_CHILD"); ports != "" {
		for _, text := range strings.Fields(ports) {
			port, err := strconv.Atoi(text)
			if err != nil || reserve(port) {
				t.Errorf("%s is given twice: %v", text, err)
			}
		}
		return
	}
	if runtime.GOOS != "linux" {
		return // nothing is reserved there
	}
	mine, err := Find(few)
	if err != nil {
		t.Fatal(err)
	}
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestFindInTwoProcesses$")
	child.Env = append(os.Environ(), "FREEPORT_CHILD="+strings.Trim(fmt.Sprint(mine), "[]"))
	if out, err := child.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
