package demo

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"schakel/delivery/mutation/area"
	"schakel/delivery/mutation/format"
	"schakel/registry"
	"schakel/store"
	"schakel/store/needs"
)

// Whatever happens to the buildings, a WAS refers to a state that is there, no id is given twice, and every state is one
// sound element with a geometry that can be read.
func TestBuildingsHistory(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	r := newRegister(7, func() time.Time { now = now.Add(time.Minute); return now })
	var groups []group
	for range firstBuildings {
		groups = append(groups, r.open(now))
	}
	for range 2000 {
		groups = append(groups, r.happen()...)
	}
	live, given := map[string]bool{}, map[string]bool{}
	shapes := area.NewReader(area.Fields{CRS: area.RD, Geometry: []string{"geometrie"}})
	for _, g := range groups {
		m := g.Mutations[0]
		if m.Was != nil {
			if !live[m.Was.ID] {
				t.Fatalf("a WAS refers to %s, which is not there", m.Was.ID)
			}
			delete(live, m.Was.ID)
		}
		if given[m.Wordt.ID] {
			t.Fatalf("id %s is given twice", m.Wordt.ID)
		}
		given[m.Wordt.ID], live[m.Wordt.ID] = true, true
		s, err := format.ParseState(m.Wordt.ID, []byte(m.Wordt.XML))
		if err != nil {
			t.Fatalf("%v: %s", err, m.Wordt.XML)
		}
		if shape, _, err := shapes.Read(s); err != nil || shape.Empty() {
			t.Fatalf("geometry of %s: %v", m.Wordt.XML, err)
		}
	}
}

// A file with buildings is valid by the schema of their dataset, although no element of the dataset is around them.
//
// Rules: MUT-24, MUT-62.
func TestBuildingsAreValid(t *testing.T) {
	t.Parallel()
	xmllint := needs.Program(t, "xmllint")
	root := format.Name{Prefix: "sg", Space: buildingsSpace, Local: "schoolgebouwMutaties"}
	var schema, file bytes.Buffer
	if err := format.WriteSchema(&schema, root, format.ObjectElement, "generic.xsd"); err != nil {
		t.Fatal(err)
	}
	w, err := format.NewWriter(&file, format.Header{
		Root: root, Dataset: BuildingsID, Type: format.Delta, DeliveryID: "1", ObjectTypes: []string{buildingType}, Object: format.ObjectElement,
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		m := newRegister(7, time.Now).open(time.Now()).Mutations[0]
		s, err := format.ParseState(m.Wordt.ID, []byte(m.Wordt.XML))
		if err != nil {
			t.Fatal(err)
		}
		if err := w.WriteGroup(&format.Group{Mutations: []format.Mutation{{ObjectType: m.ObjectType, ObjectID: m.ObjectID, Wordt: s}}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string][]byte{"own.xsd": schema.Bytes(), "generic.xsd": []byte(format.GenericSchema())} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), xmllint, "--noout", "--nonet", "--schema", filepath.Join(dir, "own.xsd"), "-")
	cmd.Stdin = bytes.NewReader(file.Bytes())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// The dataset is there with a partner that follows a part of it, with a hole.
func TestSeedBuildings(t *testing.T) {
	t.Parallel()
	a := newChain(t, OwnA(), "http://a.example")
	ctx := t.Context()
	if err := a.Administrator(ctx, OwnA().Contact, OwnA().Email); err != nil {
		t.Fatal(err)
	}
	made, err := a.SeedBuildings(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if made.Publisher.Secret == "" || made.Follower.Secret == "" || made.Login.Email == "" {
		t.Errorf("made %+v", made)
	}
	followers, err := a.Datasets.Followers(ctx, registry.Scope{All: true}, BuildingsID)
	if err != nil || len(followers) != 1 {
		t.Fatalf("followers %+v, %v", followers, err)
	}
	f := followers[0]
	if f.Subscription.Status != store.SubscriptionApproved || f.Area == nil {
		t.Fatalf("follower %+v", f)
	}
	shape, err := area.Parse(f.Area.WKT, area.Options{Dataset: area.RD})
	if err != nil || !strings.HasPrefix(shape.WKT(), "POLYGON") || strings.Count(shape.WKT(), "),(") != 1 {
		t.Errorf("area %s: %v: want one polygon with a hole", f.Area.WKT, err)
	}
}
