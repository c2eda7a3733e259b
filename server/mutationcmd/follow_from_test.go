package mutationcmd

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"schakel/delivery/mutation/format"
	"schakel/server/cli"
	"schakel/server/cli/clitest"
)

// TestMutationsFollowRepeatedIDs applies zips that share a delivery id, as those of BAG do. What was applied before is skipped, and
// the exit code tells that.
//
// Rules: MUT-01, MUT-21, MUT-36.
func TestMutationsFollowRepeatedIDs(t *testing.T) {
	t.Parallel()
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "copy.db")
	for n, kind := range []format.DeliveryType{format.Initial, format.Delta, format.Delta} {
		raw, _ := clitest.ParcelZip(t, kind, "NL-1", "", "", fmt.Sprintf("p%d:155000", n))
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.zip", n)), raw, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"mutations", "follow", "--database", "sqlite:" + file, "--from", dir}
	says(t, cli.ExitOK, "3 deliveries, 3 groups", args...)
	if got := parcelsIn(t, file); got != "p0 p1 p2" {
		t.Errorf("the copy has %s", got)
	}
	says(t, cli.ExitSkipped, "2.zip is skipped: the copy has these bytes", args...)
}
