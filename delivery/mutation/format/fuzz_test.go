package format_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"schakel/delivery/mutation/format"
)

// FuzzReader reads anything. What could be read can be written, unless it lacks an id, and means the same then.
//
// Rules: MUT-25, MUT-30
func FuzzReader(f *testing.F) {
	for _, reg := range registers {
		doc, err := os.ReadFile(filepath.Join("testdata", reg.name+".xml"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(doc)
	}
	f.Add([]byte(group("<ml:mutatie>" + was + word + "</ml:mutatie>")))
	f.Fuzz(func(t *testing.T, doc []byte) {
		h, groups, err := readAll(bytes.NewReader(doc), format.Limits{Depth: 30, State: 1 << 16})
		if err != nil {
			return
		}
		h.Type, h.Dataset, h.DeliveryID, h.ObjectTypes = format.Delta, "d", "1", []string{"t"}
		var out bytes.Buffer
		w, err := format.NewWriter(&out, h)
		if err != nil {
			h.Root = format.Name{}
			if w, err = format.NewWriter(&out, h); err != nil {
				t.Fatal(err)
			}
		}
		var written []*format.Group
		for _, g := range groups {
			if w.WriteGroup(g) == nil {
				written = append(written, g)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		_, again, err := readAll(&out, format.Limits{})
		if err != nil {
			t.Fatalf("what we wrote: %v", err)
		}
		compare(t, "fuzz", written, again, false)
	})
}
