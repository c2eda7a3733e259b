package mutationcmd

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"schakel/delivery/mutation/archive"
	"schakel/delivery/mutation/format"
	"schakel/delivery/mutation/pdoktest"
	"schakel/delivery/mutation/replica"
	"schakel/server/cli"
	"schakel/server/cli/clitest"
)

// parcelFolder writes an initial delivery and a delta with their manifests.
func parcelFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for n, kind := range []format.DeliveryType{format.Initial, format.Delta} {
		raw, m := clitest.ParcelZip(t, kind, fmt.Sprint("d-", n), "d-x", "", fmt.Sprintf("p%d:155000", n), fmt.Sprintf("q%d:200000", n))
		about, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		for ext, text := range map[string][]byte{".zip": raw, ".json": about} {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(n, ext)), text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

// TestMutationsFollow applies zips on disk and from standard input, prints what it did and which copies exist, keeps to
// areas of polygons and of keys, and ends with the codes its help names.
//
// Rules: MUT-01, MUT-40, MUT-48.
func TestMutationsFollow(t *testing.T) {
	t.Parallel()
	dir, work := parcelFolder(t), t.TempDir()
	area, keys := filepath.Join(work, "area.wkt"), filepath.Join(work, "keys.json")
	for name, text := range map[string]string{area: "POLYGON((154000 462000,156000 462000,156000 464000,154000 464000,154000 462000))", keys: `["200000"]`} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	one, _ := clitest.ParcelZip(t, format.Initial, "d-0", "d-x", "", "p0:155000")
	cut, _ := clitest.ParcelZip(t, format.Delta, "d-9", "", "", "p9:155000")
	for name, tt := range map[string]struct {
		input string
		args  []string
		code  int
		says  string
		has   string
	}{
		"a folder":         {"", []string{"--from", dir}, cli.ExitOK, `percelen_nl: 2 deliveries, 4 groups: 4 adds`, "p0 p1 q0 q1"},
		"one":              {string(one), []string{"--from", "-"}, cli.ExitOK, "percelen_nl: 1 delivery, 1 group: 1 add, 0 changes, 0 deletes", "p0"},
		"standard input":   {string(one), []string{"--from", "-", "--json"}, cli.ExitOK, `"deltaId": "d-0"`, "p0"},
		"what it would do": {"", []string{"--from", dir, "--dry-run"}, cli.ExitOK, "initial d-0", ""},
		"an area":          {"", []string{"--from", dir, "--area", area}, cli.ExitOK, "2 outside", "p0 p1"},
		"keys":             {"", []string{"--from", dir, "--area", keys, "--key-element", "gemeente"}, cli.ExitOK, "2 outside", "q0 q1"},
		"no copy":          {string(cut), []string{"--from", "-"}, cli.ExitFailed, "no copy yet", ""},
		"cut off":          {string(one[:len(one)-9]), []string{"--from", "-"}, cli.ExitFailed, "ends in the middle", ""},
		"nothing":          {"", nil, cli.ExitUsage, "either --url or --from", ""},
		"both":             {"", []string{"--from", dir, "--url", "https://x.example"}, cli.ExitUsage, "either --url or --from", ""},
		"no TLS":           {"", []string{"--url", "http://x.example/d"}, cli.ExitUsage, "must be https", ""},
		"a wrong match":    {"", []string{"--from", dir, "--match", "name"}, cli.ExitUsage, "no way to match", ""},
		"a wrong name":     {"", []string{"--from", dir, "--name", "Bgt"}, cli.ExitUsage, "--name", ""},
		"two selections":   {"", []string{"--url", "https://x.example", "--predefined", "x", "--geofilter", "y"}, cli.ExitUsage, "--predefined is everything", ""},
		"a wrong polygon":  {"", []string{"--url", "https://x.example", "--geofilter", "POLYGON((0 0,1 0,1 1,0 0))"}, cli.ExitUsage, "--geofilter", ""},
		"a wrong area":     {"", []string{"--from", dir, "--area", filepath.Join(dir, "0.json")}, cli.ExitUsage, "area", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "copy.db")
			code, out, problems := commandWith(t, tt.input, append([]string{"mutations", "follow", "--database", "sqlite:" + file}, tt.args...)...)
			if code != tt.code || !strings.Contains(out+problems, tt.says) {
				t.Errorf("exit %d\n%s\n%s", code, out, problems)
			}
			if tt.has == "" {
				return
			}
			if got := parcelsIn(t, file); got != tt.has {
				t.Errorf("the copy has %s", got)
			}
			code, out, _ = command(t, "mutations", "status", "--database", "sqlite:"+file)
			if code != cli.ExitOK || !strings.Contains(out, "percelen_nl") || !strings.Contains(out, "whole") {
				t.Errorf("status: exit %d\n%s", code, out)
			}
		})
	}
	says(t, cli.ExitUsage, "sqlite: and a path", "mutations", "follow", "--from", dir, "--database", "mysql://x")
	says(t, cli.ExitFailed, work, "mutations", "follow", "--from", dir, "--database", "sqlite:"+work)
	says(t, cli.ExitOK, "no copies", "mutations", "status", "--database", "sqlite:"+filepath.Join(work, "none.db"))
	says(t, cli.ExitOK, "[]", "mutations", "status", "--json", "--database", "sqlite:"+filepath.Join(work, "none.db"))
}

func parcelsIn(t *testing.T, file string) string {
	t.Helper()
	db, err := sql.Open("sqlite3", file)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var all string
	if err := db.QueryRowContext(t.Context(), `SELECT group_concat(object_id, ' ') FROM (SELECT object_id FROM percelen_nl ORDER BY object_id)`).Scan(&all); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestMutationsFollowGeofilter asks a source like PDOK's for a polygon, and keeps to that although more comes. With another
// polygon the copy must be made anew, also when there is nothing new to fetch.
//
// Rules: MUT-45, MUT-48, MUT-49.
func TestMutationsFollowGeofilter(t *testing.T) {
	t.Parallel()
	raw, _ := clitest.ParcelZip(t, format.Initial, "d-0", "", "", "p0:155000", "q0:200000")
	mux := http.NewServeMux()
	for path, text := range map[string]string{
		"GET /v1/dataset":               `{"timeliness":[{"featuretype":"perceel"}]}`,
		"GET /v1/delta":                 `{"deltas":[{"id":"d-0"}],"_links":[]}`,
		"POST /v1/delta/custom":         `{"downloadRequestId":"1","_links":{"status":{"href":"/v1/delta/custom/1/status"}}}`,
		"GET /v1/delta/custom/1/status": `{"status":"COMPLETED","progress":100,"_links":{"download":{"href":"/1.zip"}}}`,
		"GET /1.zip":                    string(raw),
	} {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) })
	}
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "copy.db")
	args := []string{"mutations", "follow", "--database", "sqlite:" + file, "--url", server.URL + "/v1", "--geofilter"}
	polygon := "POLYGON((154000 462000,156000 462000,156000 464000,154000 464000,154000 462000))"
	says(t, cli.ExitOK, "1 outside", append(args, polygon)...)
	if got := parcelsIn(t, file); got != "p0" {
		t.Errorf("the copy has %s", got)
	}
	says(t, cli.ExitFailed, "made with other settings", append(args, strings.ReplaceAll(polygon, "156000", "256000"))...)
}

// TestAreaOfAManifest reads what stands in the header of files: a polygon or keys.
//
// Rules: MUT-41, MUT-45.
func TestAreaOfAManifest(t *testing.T) {
	t.Parallel()
	f, by := FollowAreaFlags{CRS: 28992}, &archive.Located{CRS: 28992, KeyElements: []string{"gemeente"}}
	var _ func(string, *archive.Located) (replica.Area, error) = f.areaOf
	for text, want := range map[string]bool{
		"POLYGON((154000 462000,156000 462000,156000 464000,154000 464000,154000 462000))": true,
		`["155000"]`: true, `["1"]`: false, "POLYGON((0 300000,9000 300000,9000 310000,0 300000))": false,
	} {
		a, err := f.areaOf(text, by)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		s, err := format.ParseState("1", []byte(`<d:o xmlns:d="urn:d"><d:P><d:gemeente>155000</d:gemeente><gml:Point xmlns:gml="http://www.opengis.net/gml/3.2"><gml:pos>155000 463000</gml:pos></gml:Point></d:P></d:o>`))
		if err != nil {
			t.Fatal(err)
		}
		if in, err := a.Inside(s); in != want || err != nil {
			t.Errorf("%s: %v, %v", text, in, err)
		}
	}
	if _, err := f.areaOf("49446,49447", nil); err == nil {
		t.Error("a list of tiles was taken")
	}
}

// Who stops it is told that, and not which part of the program noticed.
func TestMutationsFollowStopped(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	api := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		stop()
		<-r.Context().Done()
	}))
	defer api.Close()
	var out, problems bytes.Buffer
	code := execute(ctx, []string{"mutations", "follow", "--url", api.URL, "--database", "sqlite:" + filepath.Join(t.TempDir(), "copy.db")}, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &problems})
	if code != cli.ExitFailed || !strings.Contains(problems.String(), "stopped before the copy was up to date; the next run goes on from there") {
		t.Errorf("exit %d: %s", code, problems.String())
	}
}

// A copy that is to be made anew is, also when the source was down at first, and once.
func TestMutationsFollowAnewOnce(t *testing.T) {
	t.Parallel()
	raw, _ := clitest.ParcelZip(t, format.Initial, "d-0", "", "", "p0:155000")
	down, cut, made := false, false, 0
	mux := http.NewServeMux()
	for path, text := range map[string]string{
		"GET /v1/dataset":               `{"timeliness":[{"featuretype":"perceel"}]}`,
		"GET /v1/delta":                 `{"deltas":[{"id":"d-0"}],"_links":[]}`,
		"POST /v1/delta/custom":         `{"downloadRequestId":"1","_links":{"status":{"href":"/v1/delta/custom/1/status"}}}`,
		"GET /v1/delta/custom/1/status": `{"status":"COMPLETED","progress":100,"_links":{"download":{"href":"/1.zip"}}}`,
	} {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) })
	}
	mux.HandleFunc("GET /1.zip", func(w http.ResponseWriter, _ *http.Request) {
		if cut {
			http.Error(w, "no", http.StatusBadRequest)
			return
		}
		made++
		fmt.Fprint(w, string(raw))
	})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if down {
			http.Error(w, "down", http.StatusBadRequest)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	c := &Follow{Anew: true}
	c.Database, c.URL, c.Kind, c.Match, c.Verify, c.CRS = "sqlite:"+filepath.Join(t.TempDir(), "copy.db"), server.URL+"/v1", "pdok", "id", "off", 28992
	streams, log := cli.Streams{Out: io.Discard, Err: io.Discard}, slog.New(slog.DiscardHandler)
	o, err := c.options(streams, log)
	if err != nil {
		t.Fatal(err)
	}
	for i, tt := range []struct {
		anew, down, cut, fails bool
		made                   int
	}{
		{anew: true, made: 1}, // there is no copy yet
		{made: 1},
		{anew: true, down: true, fails: true, made: 1},
		{cut: true, fails: true, made: 1},
		{made: 2},
		{made: 2},
	} {
		c.Anew = c.Anew || tt.anew
		down, cut = tt.down, tt.cut
		if _, err := c.round(t.Context(), o, streams, log); (err != nil) != tt.fails || made != tt.made {
			t.Fatalf("round %d: made %d times, want %d: %v", i, made, tt.made, err)
		}
	}
}

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
			if name != "BGT" { // one of them waits, as for the real one
				s.SetPrompt()
			}
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
