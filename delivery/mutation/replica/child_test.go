package replica_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"schakel/delivery/mutation/replica"
)

// bytesFlag counts the bytes that the test of memory plays.
var bytesFlag = flag.Int64("follow.bytes", 300<<20, "unpacked bytes of the delivery that the test of memory follows")

// childMark is the variable that makes the test binary play a follower in a process of its own.
const childMark = "SCHAKEL_TEST_FOLLOW"

// child follows a folder, or a zip on standard input, when this process is started for that. It prints a line a transaction.
func child() bool {
	database, from, is := strings.Cut(os.Getenv(childMark), " ")
	if !is {
		return false
	}
	if err := play(database, from); err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	return true
}

func play(database, from string) (err error) {
	ctx := context.Background()
	o := replica.Options{Progress: func(p replica.Progress) { fmt.Println(p.Delivery, p.Groups) }}
	source := replica.NewStream(os.Stdin)
	if from != "-" {
		o.Mutations = 2
		if source, err = replica.NewFolder(from); err != nil {
			return err
		}
	}
	f, err := replica.Open(ctx, database, o)
	if err != nil {
		return err
	}
	defer f.Close()
	report, err := f.Follow(ctx, source, replica.RebuildNever)
	if err != nil {
		return err
	}
	status, err := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		if strings.HasPrefix(line, "VmHWM:") {
			fmt.Print("done ", strings.TrimSpace(strings.TrimPrefix(line, "VmHWM:")), " ", report.Counts.Groups, " ", int(report.PerSecond), "\n")
		}
	}
	return err
}

// start starts a follower in a process of its own.
func start(t *testing.T, database, from string, in io.Reader) (*exec.Cmd, io.Reader) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), childMark+"="+database+" "+from)
	cmd.Stdin, cmd.Stderr = in, os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = errors.Join(cmd.Process.Kill(), cmd.Wait()) })
	return cmd, out
}
