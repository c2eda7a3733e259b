// Package faults breaks what a Schakel stands on, while it works: it is killed,
// its machine loses power, its disk fills up or fails, its database dies or is cut
// off, its receivers hang, drip and lose their answers, another node dies beside
// it. Judge is a ledger: every event that was answered 202 must in the end be at
// each approved receiver or lie in a queue (guarantee G1), nothing at one that is
// not approved (G2), in order where order was asked (G5), under one id and one
// Idempotency-Key (G4).
//
// What an event needs to be broken is what only root has at times; a test says so
// when it cannot run. No test depends on how long something takes.
package faults

import (
	"os"
	"os/exec"
	"testing"

	"schakel/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// need skips a test when a program it drives is not installed. Under CI what
// make test installs is there, or that is a failure.
func need(t *testing.T, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		unable(t, program+" is not installed; make faults installs it when run as root")
	}
	return path
}

// needRoot skips a test that must mount or trace, where that is not allowed.
func needRoot(t *testing.T, what string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skipf("only root can %s", what)
	}
}

// unable skips a test for want of something; under CI that is a failure.
func unable(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(why)
	}
	t.Skip(why)
}
