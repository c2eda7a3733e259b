// Package oracle holds the whole way of a mutation - published, exported as deltas and
// snapshots, filtered by area, followed - against sources that know what an exact
// copy holds at every boundary (MUT-01).
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
