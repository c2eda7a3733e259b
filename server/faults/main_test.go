// Package faults breaks what a Schakel stands on, while it works: it is killed,
// its machine loses power, its disk fills up or fails, its database dies or is cut
// off, its receivers hang, drip and lose their answers, another node dies beside
// it. Judge is a ledger: every event that was answered 202 must in the end be at
// each approved receiver or lie in a queue (guarantee G1), nothing at one that is
// not approved (G2), in order where order was asked (G5), under one id and one
// Idempotency-Key (G4).
//
// Some faults can only be caused by root; a test says so
// when it cannot run. No test depends on how long something takes.
package faults

import (
	"os"
	"testing"

	"schakel/store/needs"
	"schakel/store/storetest"
)

func TestMain(m *testing.M) {
	needs.WholeProgram()
	storetest.Main(m)
}

// needRoot skips a test that must mount or trace, where that is not allowed.
func needRoot(t *testing.T, what string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skipf("only root can %s", what)
	}
}
