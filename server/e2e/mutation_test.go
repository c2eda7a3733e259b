package e2e

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
	"schakel/delivery/mutation/archive"
	"schakel/delivery/mutation/format"
	"schakel/registry/datasets"
	"schakel/registry/identity"
	"schakel/server/demo"
	"schakel/server/trial"
	"schakel/store"
	"schakel/store/needs"
)

// parcels is a part of the sheet; of the parcels published here, every third lies in it.
const parcels = "POLYGON((155000 463000,155010 463000,155010 463100,155000 463100,155000 463000))"

// walked records what the generated client saw.
type walked struct {
	Timeliness []struct{ FeatureType, DatetimeTo string }
	Deltas     []struct {
		ID         string
		TimeWindow struct{ From, To string }
	}
	After            []string
	Statuses         []string
	Invalid, Unknown int
	Files            map[string]string
}

// TestDownloadClient has a client that is generated from PDOK's DownloadApi.json walk our API: deltas by page, custom
// downloads of the initial state, of each delta, of an area, their status, and the predefined ones.
//
// Rules: MUT-50, MUT-51, MUT-52, MUT-53.
func TestDownloadClient(t *testing.T) {
	t.Parallel()
	description := needs.Shared(t, "mutation", "DownloadApi.json")
	node, modules := needNode(t)
	s := trial.NewProgram(t, trial.NewPKI(t), demo.OwnA(), trial.SQLitePath(t))
	var w trial.MutationWorld
	s.SetUp(t, func(c *demo.Chain) {
		w = s.DeliverMutations(t, c, datasets.DatasetInput{
			ID: "dkk", Title: "Parcels", RootPrefix: "p", RootSpace: "urn:parcels", RootLocal: "mutaties",
			ObjectTypes: []string{"perceel", "kadastralegrens"}, CRS: 28992, AreaKind: store.AreaGeometry,
		}, "")
	})
	s.Start(t)
	deltas := publishParcels(t, s, w)

	folder := t.TempDir()
	access := s.Token(t, w.Followers[0].Credentials, identity.ScopeMutationsRead)
	cmd := exec.CommandContext(t.Context(), node, "clients/download.js", description, s.Base+"/mutations/v1/datasets/dkk", access, folder, parcels)
	out := run(t, cmd, []string{"NODE_PATH=" + modules, "NODE_EXTRA_CA_CERTS=" + s.CAFile})
	var seen walked
	trial.Must(t, json.Unmarshal([]byte(out), &seen))
	checkWalk(t, seen, deltas)
	checkFiles(t, seen)
}

// publishParcels publishes three times 30 parcels, each followed by a delta, and a snapshot of what was there after the first.
// It gives the ids of the deltas.
func publishParcels(t *testing.T, s *trial.Program, w trial.MutationWorld) (deltas []string) {
	t.Helper()
	access := s.Token(t, w.Publisher, identity.ScopeMutationsPublish)
	for n := range 3 {
		var groups []string
		for i := range 30 {
			groups = append(groups, parcel(n*30+i, i%3*100))
		}
		header := trial.EventHeader("application/json")
		s.Call(t, "POST", "/mutations/v1/datasets/dkk/mutation-groups", access, header, `{"groups":[`+strings.Join(groups, ",")+`]}`).Want(t, 201)
		ask := (*store.Tx).AskDelta
		if n == 0 {
			ask = (*store.Tx).AskSnapshot // which begins with a delta
		}
		s.Open(t, func(db *store.DB) {
			trial.Must(t, db.Write(t.Context(), func(tx *store.Tx) error { return ask(tx, t.Context(), "dkk") }))
		})
		trial.Eventually(t, "a delta is cut", func() (bool, string) {
			ready := false
			s.Open(t, func(db *store.DB) {
				d, err := db.LastMutationDelta(t.Context(), "dkk")
				if ready = err == nil && d.Number == int64(n+1); ready {
					deltas = append(deltas, d.ID)
				}
				if _, err := db.LatestMutationSnapshot(t.Context(), "dkk"); err != nil {
					ready = false
				}
			})
			return ready, ""
		})
		deltas = slices.Compact(deltas)
	}
	return deltas
}

// parcel is a group that adds one.
func parcel(n, x int) string {
	xml := fmt.Sprintf(`<p:perceel xmlns:p="urn:parcels" xmlns:gml="http://www.opengis.net/gml/3.2"><p:nr>%d</p:nr><p:plek><gml:Point srsName="urn:ogc:def:crs:EPSG::28992"><gml:pos>%d 463050</gml:pos></gml:Point></p:plek></p:perceel>`, n, 155005+x)
	text, _ := json.Marshal(xml)
	return fmt.Sprintf(`{"mutations":[{"objectType":"perceel","objectId":"P%d","wordt":{"xml":%s}}]}`, n, text)
}

func checkWalk(t *testing.T, seen walked, deltas []string) {
	t.Helper()
	var ids []string
	for _, d := range seen.Deltas {
		ids = append(ids, d.ID)
		if d.TimeWindow.To == "" {
			t.Errorf("delta %s has no time window", d.ID)
		}
	}
	if !slices.Equal(ids, deltas) || !slices.Equal(seen.After, deltas[1:]) {
		t.Errorf("deltas %v, after the first %v; want %v", ids, seen.After, deltas)
	}
	if len(seen.Timeliness) != 2 || seen.Timeliness[0].DatetimeTo == "" || seen.Invalid != 400 || seen.Unknown != 404 {
		t.Errorf("timeliness %v, invalid WKT %d, unknown download %d", seen.Timeliness, seen.Invalid, seen.Unknown)
	}
	if !slices.Contains(seen.Statuses, "201 COMPLETED") || slices.ContainsFunc(seen.Statuses, func(s string) bool {
		return s != "201 COMPLETED" && s != "200 PENDING" && s != "200 RUNNING"
	}) {
		t.Errorf("statuses %v", seen.Statuses)
	}
}

// checkFiles counts the groups in what was downloaded.
func checkFiles(t *testing.T, seen walked) {
	t.Helper()
	for name, want := range map[string]int{
		"initial": 30, "area": 10, "full": 30, "predefined-initial": 30, "predefined-full": 30, "predefined-delta": 30,
		"delta-" + seen.Deltas[0].ID: 30, "delta-" + seen.Deltas[1].ID: 30, "delta-" + seen.Deltas[2].ID: 30,
	} {
		file, err := os.Open(seen.Files[name])
		trial.Must(t, err)
		r := archive.NewDeliveryReader(file, archive.Limits{}, format.Limits{})
		got := 0
		for {
			_, _, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			trial.Must(t, err)
			got++
		}
		trial.Must(t, file.Close())
		if got != want {
			t.Errorf("%s has %d groups, want %d", name, got, want)
		}
	}
}

// exampleOfGroups is the example of a publication in the document of our API.
func exampleOfGroups(t *testing.T) []byte {
	t.Helper()
	raw, err := os.ReadFile("../../web/datasets/openapi.yaml")
	trial.Must(t, err)
	var doc struct {
		Paths map[string]struct {
			Post struct {
				RequestBody struct {
					Content map[string]struct{ Example any }
				} `yaml:"requestBody"`
			}
		}
	}
	trial.Must(t, yaml.Unmarshal(raw, &doc))
	example, err := json.Marshal(doc.Paths["/datasets/{datasetId}/mutation-groups"].Post.RequestBody.Content["application/json"].Example)
	trial.Must(t, err)
	return example
}

// TestExampleIsValid publishes the example of our API document, an object without an element of the dataset around it. The
// files of a delta and of a snapshot are valid by the schema that the program prints, and a copy has the object as published.
//
// Rules: MUT-24, MUT-62.
func TestExampleIsValid(t *testing.T) {
	t.Parallel()
	const space, object = "http://www.example.nl/schemas/buildings/1.0", `<sb:School xmlns:sb="http://www.example.nl/schemas/buildings/1.0"><sb:code>01AB</sb:code></sb:School>`
	xmllint := needs.Program(t, "xmllint")
	s := trial.NewProgram(t, trial.NewPKI(t), demo.OwnA(), trial.SQLitePath(t))
	var w trial.MutationWorld
	s.SetUp(t, func(c *demo.Chain) {
		w = s.DeliverMutations(t, c, datasets.DatasetInput{
			ID: "schools", Title: "Schools", RootPrefix: "sb", RootSpace: space, RootLocal: "buildingMutations", ObjectTypes: []string{"School"},
		}, "")
	})
	s.Start(t)
	access := s.Token(t, w.Publisher, identity.ScopeMutationsPublish)
	s.Call(t, "POST", "/mutations/v1/datasets/schools/mutation-groups", access, trial.EventHeader("application/json"), string(exampleOfGroups(t))).Want(t, 201)
	var delta string
	s.Open(t, func(db *store.DB) {
		trial.Must(t, db.Write(t.Context(), func(tx *store.Tx) error { return tx.AskSnapshot(t.Context(), "schools") }))
	})
	trial.Eventually(t, "a snapshot is there", func() (ready bool, said string) {
		s.Open(t, func(db *store.DB) {
			d, err := db.LastMutationDelta(t.Context(), "schools")
			_, missing := db.LatestMutationSnapshot(t.Context(), "schools")
			ready, delta = err == nil && missing == nil, d.ID
		})
		return ready, ""
	})

	dir := t.TempDir()
	code, told := s.Command(t, "", "mutations", "schema", "--namespace", space, "--root", "buildingMutations", "--prefix", "sb", "--dir", dir)
	if code != 0 {
		t.Fatalf("exit %d: %s", code, told)
	}
	reader := s.Token(t, w.Followers[0].Credentials, identity.ScopeMutationsRead)
	for _, path := range []string{"/deltas/" + delta, "/snapshots/latest"} {
		raw := s.Call(t, "GET", "/mutations/v1/datasets/schools"+path+"/content", reader, nil, nil).Want(t, 200).Body
		z, err := zip.NewReader(bytes.NewReader(raw), int64(len(raw)))
		trial.Must(t, err)
		for _, f := range z.File {
			in, err := f.Open()
			trial.Must(t, err)
			text, err := io.ReadAll(in)
			trial.Must(t, err)
			cmd := exec.CommandContext(t.Context(), xmllint, "--noout", "--nonet", "--schema", filepath.Join(dir, "buildingMutations.xsd"), "-")
			cmd.Stdin = bytes.NewReader(text)
			if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(text), "01AB") {
				t.Errorf("%s: %v: %s\n%s", path, err, out, text)
			}
		}
	}
	copied := filepath.Join(dir, "copy.db")
	f := w.Followers[0].Credentials
	if code, out := s.Command(t, "", "mutations", "follow", "--url", s.Base+"/mutations/v1/datasets/schools", "--token-url", s.Base+"/oauth/token",
		"--client-id", f.ID, "--client-secret", f.Secret, "--database", "sqlite:"+copied, "--verify", "stop"); code != 0 {
		t.Fatalf("exit %d: %s", code, out)
	}
	if content, err := os.ReadFile(copied); err != nil || !bytes.Contains(content, []byte(object)) {
		t.Errorf("the copy does not have the object as it was published: %v", err)
	}
}
