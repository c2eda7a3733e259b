package replica_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"schakel/delivery/mutation/format"
	"schakel/delivery/mutation/pdoktest"
	"schakel/delivery/mutation/replica"
)

// TestFormatIsFound follows sources of each format. Which one that is, is described by the source, said by its refusals, found by
// asking for one after the other, or given; deltas are asked for in the one that the copy was made with.
//
// Rules: MUT-01, MUT-50, MUT-51, MUT-52.
func TestFormatIsFound(t *testing.T) {
	t.Parallel()
	plain := func(d pdoktest.Dataset) pdoktest.Dataset {
		d.PlainRefusals = true
		return d
	}
	bgtDescribed := pdoktest.BGT()
	bgtDescribed.Described = true
	several := pdoktest.BGT()
	several.DeltaFormats = []string{"stufgeo", "gmllight"}
	own := pdoktest.BGT().Only("imgeo3")
	own.Described = true
	for name, tt := range map[string]struct {
		set     pdoktest.Dataset
		format  string
		want    string
		refused int
	}{
		"BGT":                  {set: pdoktest.BGT(), want: "citygml"},
		"BGT described":        {set: bgtDescribed, want: "citygml"},
		"cadastral map":        {set: pdoktest.DKK(), want: "gml"},
		"gml":                  {set: plain(pdoktest.BGT().Only("gml")), want: "gml", refused: 1},
		"gmllight":             {set: plain(pdoktest.BGT().Only("gmllight")), want: "gmllight", refused: 2},
		"stufgeo":              {set: plain(pdoktest.BGT().Only("stufgeo")), want: "stufgeo", refused: 3},
		"stufgeo, said":        {set: pdoktest.BGT().Only("stufgeo"), want: "stufgeo", refused: 1},
		"stufgeo, given":       {set: pdoktest.BGT().Only("stufgeo"), format: "stufgeo", want: "stufgeo"},
		"several":              {set: several, want: "gmllight", refused: 1},
		"unheard of":           {set: own, want: "imgeo3"},
		"unheard of and given": {set: pdoktest.BGT().Only("imgeo3"), format: "imgeo3", want: "imgeo3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			database := sqlitePath(t)
			s, w := pdoktest.New(t, tt.set), newWorld(t, 12)
			w.groups(10)
			s.SetInitial(pdokDelivery(pack(t, format.Initial, "d-0", "", w.whole())))
			s.AddDelta(pdokDelivery(pack(t, format.Delta, "d-0", "", nil)))
			s.AddDelta(pdokDelivery(pack(t, format.Delta, "d-1", "", w.groups(5))))
			o := replica.RemoteOptions{URL: s.URL, Wait: noWait, Format: tt.format}
			if r, err := run(t, open(t, database, replica.Options{}), o, replica.RebuildNever); err != nil || r.DeltaID != "d-1" {
				t.Fatalf("%v: %s", err, asJSON(r))
			}
			s.AddDelta(pdokDelivery(pack(t, format.Delta, "d-2", "", w.groups(5))))
			o.Format = ""
			if r, err := run(t, open(t, database, replica.Options{}), o, replica.RebuildNever); err != nil || r.DeltaID != "d-2" {
				t.Fatalf("%v: %s", err, asJSON(r))
			}
			w.check(t, database)
			accepted, refused := s.Requests()
			for _, r := range accepted {
				if r.Path != "delta" || r.Format != tt.want || !slices.Equal(r.FeatureTypes, tt.set.DeltaTypes) {
					t.Errorf("asked for %+v", r)
				}
			}
			if len(accepted) != 3 || len(refused) != tt.refused {
				t.Errorf("%d requests were accepted and %d refused: %+v", len(accepted), len(refused), refused)
			}
			other := o
			other.Format = "shape"
			if _, err := run(t, open(t, database, replica.Options{}), other, replica.RebuildNever); !errors.Is(err, replica.ErrSettings) {
				t.Errorf("another format: %v", err)
			}
		})
	}
}

func pdokDelivery(z zipped) pdoktest.Delivery { return pdoktest.Delivery{ID: z.DeliveryID, Zip: z.raw} }

// A source that takes none of the formats says why, for each.
//
// Rules: MUT-51.
func TestNoFormatIsTaken(t *testing.T) {
	t.Parallel()
	set := pdoktest.BGT().Only("imgeo3")
	set.PlainRefusals = true
	s := pdoktest.New(t, set)
	_, err := run(t, open(t, sqlitePath(t), replica.Options{}), replica.RemoteOptions{URL: s.URL, Wait: noWait}, replica.RebuildNever)
	for _, says := range []string{"--format", "as citygml", "as gml:", "as gmllight", "as stufgeo", "with status 400"} {
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q is not in: %v", says, err)
		}
	}
}

// A copy that was made before there was a choice of formats goes on with gml.
//
// Rules: MUT-49, MUT-51.
func TestCopyOfOldKeepsItsFormat(t *testing.T) {
	t.Parallel()
	database := sqlitePath(t)
	set := pdoktest.DKK()
	set.DeltaFormats = []string{"citygml", "gml"}
	s, w := pdoktest.New(t, set), newWorld(t, 12)
	w.groups(10)
	s.SetInitial(pdokDelivery(pack(t, format.Initial, "d-0", "", w.whole())))
	s.AddDelta(pdokDelivery(pack(t, format.Delta, "d-0", "", nil)))
	o := replica.RemoteOptions{URL: s.URL, Wait: noWait, Format: "gml"}
	if _, err := run(t, open(t, database, replica.Options{}), o, replica.RebuildNever); err != nil {
		t.Fatal(err)
	}
	if got := rows(t, connect(t, database), `SELECT settings FROM follow_copy`); strings.Contains(got, "format") {
		t.Errorf("copies of old do not remember a format: %s", got)
	}
	s.AddDelta(pdokDelivery(pack(t, format.Delta, "d-1", "", w.groups(5))))
	o.Format = ""
	if _, err := run(t, open(t, database, replica.Options{}), o, replica.RebuildNever); err != nil {
		t.Fatal(err)
	}
	w.check(t, database)
	if accepted, _ := s.Requests(); len(accepted) != 2 || accepted[1].Format != "gml" {
		t.Errorf("asked for %+v", accepted)
	}
}

// TestPDOKTestIsFaithful holds all that the played API answers against PDOK's description of one.
//
// Rules: MUT-50, MUT-51, MUT-52, MUT-53.
func TestPDOKTestIsFaithful(t *testing.T) {
	t.Parallel()
	api := readDownloadAPI(t)
	for name, set := range map[string]pdoktest.Dataset{"BGT": pdoktest.BGT(), "DKK": pdoktest.DKK()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := pdoktest.New(t, set)
			s.SetInitial(pdokDelivery(pack(t, format.Initial, "d-1", "", nil)))
			s.SetFull([]byte("full"))
			s.AddDelta(pdokDelivery(pack(t, format.Delta, "d-1", "", nil)))
			ask := func(want int, path, method, real, body string) map[string]any {
				t.Helper()
				status, known, doc := api.ask(t, path, method, s.URL+real, body)
				if !known && status != http.StatusBadRequest || status != want { // a refusal is not described
					t.Errorf("%s %s: status %d, want %d", method, real, status, want)
				}
				return doc
			}
			ask(200, "/dataset", http.MethodGet, "/dataset", "")
			ask(200, "/delta", http.MethodGet, "/delta?page=1&count=10&after-delta-id=d-0", "")
			for kind, formats := range map[string][]string{"delta": set.DeltaFormats, "full": set.FullFormats} {
				for _, f := range formats {
					body := `{"format":"` + f + `","featuretypes":["` + set.DeltaTypes[0] + `"]}`
					id, _ := ask(202, "/"+kind+"/custom", http.MethodPost, "/"+kind+"/custom", body)["downloadRequestId"].(string)
					for _, status := range []int{200, 200, 201} {
						ask(status, "/"+kind+"/custom/{downloadRequestId}/status", http.MethodGet, "/"+kind+"/custom/"+id+"/status", "")
					}
				}
				ask(400, "/"+kind+"/custom", http.MethodPost, "/"+kind+"/custom", `{"format":"shape","featuretypes":["`+set.DeltaTypes[0]+`"]}`)
				ask(400, "/"+kind+"/custom", http.MethodPost, "/"+kind+"/custom", `{"format":"`+formats[0]+`","featuretypes":["brug"]}`)
				ask(404, "/"+kind+"/custom/{downloadRequestId}/status", http.MethodGet, "/"+kind+"/custom/none/status", "")
			}
			ask(307, "/delta/predefined/dkk-gml-nl.zip", http.MethodGet, "/delta/predefined/"+set.DeltaZip+"?delta-id=d-1", "")
			ask(404, "/delta/predefined/dkk-gml-nl.zip", http.MethodGet, "/delta/predefined/"+set.DeltaZip+"?delta-id=none", "")
			ask(307, "/full/predefined/dkk-gml-nl-nohist.zip", http.MethodGet, "/full/predefined/"+set.FullZip, "")
			ask(404, "/full/predefined/dkk-gml-nl-nohist.zip", http.MethodGet, "/full/predefined/other.zip", "")
		})
	}
}
