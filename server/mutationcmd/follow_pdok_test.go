package mutationcmd

import (
	"path/filepath"
	"testing"

	"schakel/delivery/mutation/format"
	"schakel/delivery/mutation/pdoktest"
	"schakel/server/cli"
	"schakel/server/cli/clitest"
)

// TestMutationsFollowPDOK follows datasets as PDOK delivers them, each in its format, without being told which one that is.
//
// Rules: MUT-51, MUT-52, MUT-53.
func TestMutationsFollowPDOK(t *testing.T) {
	t.Parallel()
	initial, _ := clitest.ParcelZip(t, format.Initial, "d-0", "", "", "p0:155000")
	first, _ := clitest.ParcelZip(t, format.Delta, "d-0", "", "")
	second, _ := clitest.ParcelZip(t, format.Delta, "d-1", "", "", "p1:155000")
	for name, tt := range map[string]struct {
		set   pdoktest.Dataset
		flags []string
	}{
		"BGT":                {set: pdoktest.BGT()},
		"cadastral map":      {set: pdoktest.DKK()},
		"gmllight":           {set: pdoktest.BGT().Only("gmllight")},
		"stufgeo":            {set: pdoktest.BGT().Only("stufgeo"), flags: []string{"--format", "stufgeo"}},
		"predefined":         {set: pdoktest.BGT(), flags: []string{"--predefined", "bgt-citygml-nl-delta"}},
		"predefined parcels": {set: pdoktest.DKK(), flags: []string{"--predefined", "kadastralekaart-gml-nl"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := pdoktest.New(t, tt.set)
			s.SetInitial(pdoktest.Delivery{ID: "d-0", Zip: initial})
			s.AddDelta(pdoktest.Delivery{ID: "d-0", Zip: first})
			file := filepath.Join(t.TempDir(), "copy.db")
			args := append([]string{"mutations", "follow", "--database", "sqlite:" + file, "--url", s.URL}, tt.flags...)
			says(t, cli.ExitOK, `last delta "d-0"`, args...)
			s.AddDelta(pdoktest.Delivery{ID: "d-1", Zip: second})
			says(t, cli.ExitOK, `last delta "d-1"`, args...)
			if got := parcelsIn(t, file); got != "p0 p1" {
				t.Errorf("the copy has %s", got)
			}
		})
	}
	s := pdoktest.New(t, pdoktest.BGT())
	args := []string{"mutations", "follow", "--database", "sqlite:" + filepath.Join(t.TempDir(), "copy.db"), "--url", s.URL}
	says(t, cli.ExitFailed, "value is not one of the allowed values", append(args, "--format", "gml")...)
	says(t, cli.ExitUsage, "no name of a format", append(args, "--format", "City GML")...)
	says(t, cli.ExitUsage, "--predefined names a file", append(args, "--format", "gml", "--predefined", "bgt-citygml-nl-delta")...)
}
