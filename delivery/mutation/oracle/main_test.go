// Package oracle compares the whole way of a mutation - published, exported as deltas and
// snapshots, filtered by area, followed - with sources that know what an exact copy holds
// at every boundary (MUT-01). TestCopies takes random, small histories; TestStream weighs what
// a large one costs.
package oracle

import (
	"testing"

	"schakel/store/storetest"
)

func TestMain(m *testing.M) {
	if stage() {
		return
	}
	storetest.Main(m)
}
