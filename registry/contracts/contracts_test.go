package contracts

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"schakel/registry"
	"schakel/registry/contracts/lint"
	"schakel/store"
)

func TestPromisesNoBreak(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		before, after string
		want          bool
	}{
		{"1.0.0", "1.0.1", true},
		{"1.0.0", "1.1.0", true},
		{"1.0.0", "1.1.0+build.1", true},
		{"1.9.0", "2.0.0", false},
		{"1.0.0", "1.1.0-rc.1", false},
		{"0.1.0", "0.1.1", true},
		{"0.1.0", "0.2.0", false},
		{"0.9.0", "1.0.0", false},
	} {
		if got := promisesNoBreak(tt.before, tt.after); got != tt.want {
			t.Errorf("%s to %s: %v", tt.before, tt.after, got)
		}
	}
}

// What is kept of advice has a bound.
func TestAdviceIsKeptWithinABound(t *testing.T) {
	t.Parallel()
	a := NewAdvice(nil)
	for i := range 3000 {
		a.cache(string(rune('a'+i%26))+strings.Repeat("x", i), lint.Report{})
	}
	if a.size > maxCachedFindings || len(a.cached) > maxCachedFindings/50 {
		t.Errorf("%d kept, %d findings", len(a.cached), a.size)
	}
}

func TestDownloadsThatWaitAreBounded(t *testing.T) {
	t.Parallel()
	d := NewDownloads(registry.Config{Now: time.Now})
	for i := range maxDownloads + 10 {
		d.Note(store.ContractVersion{ID: "cvr_1"}, Downloader{Kind: store.DownloadClient, ID: fmt.Sprint(i), PartnerID: "par_1"})
	}
	if rows, _ := d.take(); len(rows) != maxDownloads {
		t.Errorf("%d wait", len(rows))
	}
}

func TestCopyNames(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"1.0.0": "1.0.0", "v1.2.3": "1.2.3", "2": "2.0.0", "2.1": "2.1.0", "v3": "3.0.0", "1-rc": "1-rc", "x": "x", "": "", "1.0.0-rc.1": "1.0.0-rc.1"} {
		if got := copyVersion(in); got != want {
			t.Errorf("version %q is %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{"students": "noord-students", "My Group/API v2": "noord-my-group-api-v2", "": "", "日本": ""} {
		ids := copyIDs("noord", "mir_1", in)
		if want != "" && ids[0] != want {
			t.Errorf("id of %q is %v", in, ids)
		}
		for _, id := range append(ids, copyIDs(strings.Repeat("p", maxMirrorPrefix), "mir_1", strings.Repeat("long/", 60))...) {
			if text := checkContractID(id); text != "" {
				t.Errorf("id %q: %s", id, text)
			}
		}
	}
	for _, c := range []struct {
		pattern, id string
		want        bool
	}{{"a", "a", true}, {"a", "ab", false}, {"a*", "a/b", true}, {"*b*", "abc", true}, {"a*a", "a", false}, {"*", "", true}, {"a*c*e", "abcde", true}, {"a*c*e", "abde", false}} {
		if fitsPattern(c.pattern, c.id) != c.want {
			t.Errorf("pattern %q and %q", c.pattern, c.id)
		}
	}
}

func TestTurnsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns()
		var leave func()
		for range cap(turns) {
			var err error
			if leave, err = turns.take(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		refused := make(chan error, 1)
		go func() {
			_, err := turns.take(ctx)
			refused <- err
		}()
		synctest.Wait()
		select {
		case err := <-refused:
			t.Fatalf("one more got a turn: %v", err)
		default:
		}
		cancel()
		if err := <-refused; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		leave()
		if _, err := turns.take(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// versionsOf makes live versions of an event type, as the store orders them, each with a schema.
func versionsOf(rows ...string) []store.EventType {
	var list []store.EventType
	for i := 0; i < len(rows); i += 2 {
		list = append(list, store.EventType{
			ID: "ety_" + rows[i] + rows[i+1], Name: "nl.a", ContractID: "students", ContractVersion: rows[i], DataSchema: rows[i+1],
			ContentType: "application/json", Status: store.VersionPublished, DataRequired: true,
		})
	}
	return list
}

func requires(name string) string {
	return `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","required":["` + name + `"]}`
}

// Rules: CE-15, CE-18, EDU-08.
func TestJudge(t *testing.T) {
	t.Parallel()
	p := NewPayloads(registry.Config{BaseURL: "https://schakel.example"})
	const address = "https://schakel.example/contracts/students/versions/"
	two := versionsOf("2.0.0", requires("new"), "1.5.0", requires("old"), "1.4.0", requires("older"))
	json := func(data string) Offer { return Offer{JSON: true, Data: []byte(data)} }
	of := func(schema, data string) Offer { return Offer{JSON: true, Data: []byte(data), DataSchema: schema} }
	for name, tt := range map[string]struct {
		offer    Offer
		versions []store.EventType
		fits     string
		codes    string // of misfits, then of notes
	}{
		"fits the newest":         {json(`{"new":1}`), two, "2.0.0", ""},
		"fits an older line":      {json(`{"old":1}`), two, "1.5.0", ""},
		"fits an older version":   {json(`{"older":1}`), two, "1.4.0", ""},
		"fits two lines":          {json(`{"new":1,"old":1}`), two, "2.0.0 1.5.0", "version-unclear"},
		"says which one":          {of(address+"1.5.0", `{"new":1,"old":1}`), two, "1.5.0", ""},
		"says so in the API":      {of("https://schakel.example/registry/v1/contracts/students/versions/2.0.0/content", `{"new":1,"old":1}`), two, "2.0.0", ""},
		"says what it is not":     {of(address+"1.5.0", `{"new":1}`), two, "", "payload-required"},
		"points at no version":    {of(address+"9.0.0", `{"new":1}`), two, "", "dataschema-unknown"},
		"not a prefix of one":     {of(address+"1.5", `{"old":1}`), two, "", "dataschema-unknown"},
		"another contract of us":  {of("https://schakel.example/contracts/other/versions/2.0.0", `{"new":1}`), two, "", "dataschema-unknown"},
		"points elsewhere":        {of("https://other.example/contracts/students/versions/2.0.0", `{"old":1}`), two, "1.5.0", ""},
		"another page of ours":    {of("https://schakel.example/schemas/students", `{"old":1}`), two, "1.5.0", ""},
		"fits none":               {json(`{}`), two, "", "payload-required"},
		"no data":                 {Offer{Empty: true}, two, "", "payload-missing"},
		"data is elsewhere":       {Offer{Empty: true, Elsewhere: true}, two, "2.0.0 1.5.0", "version-unclear"},
		"null would do":           {Offer{Empty: true}, versionsOf("1.0.0", `{"type":["object","null"]}`), "1.0.0", ""},
		"media type":              {Offer{ContentType: "text/xml", Data: []byte("<a/>")}, two, "", "content-type-differs"},
		"media type, parameters":  {Offer{ContentType: "Application/JSON; charset=utf-8", JSON: true, Data: []byte(`{"new":1}`)}, two, "2.0.0", ""},
		"no schema":               {json(`1`), versionsOf("1.0.0", ""), "1.0.0", ""},
		"schema of no use":        {json(`1`), versionsOf("1.0.0", `{"$ref":"https://example.com/x"}`), "1.0.0", "payload-not-checked"},
		"too large to be checked": {json(strings.Repeat(" ", maxPayload) + "1"), two[:1], "2.0.0", "payload-not-checked"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j, err := p.Judge(tt.offer, tt.versions)
			if err != nil {
				t.Fatal(err)
			}
			var codes []string
			for _, m := range j.Misfits {
				codes = append(codes, m.Code)
			}
			for _, n := range j.Notes {
				codes = append(codes, n.Code)
			}
			if j.Versions() != tt.fits || strings.Join(codes, " ") != tt.codes {
				t.Errorf("fits %q with %q, want %q with %q: %+v", j.Versions(), codes, tt.fits, tt.codes, j)
			}
			if (len(j.Misfits) > 0) != (j.Against.ID != "") {
				t.Errorf("misfits against %q: %v", j.Against.ID, j.Misfits)
			}
		})
	}
	if got := p.NamedOnly(address+"1.5.0", two) + "," + p.NamedOnly("", two) + "," + p.NamedOnly(address+"7.0.0", two); got != "1.5.0,," {
		t.Errorf("named %q", got)
	}
}

func TestPayloadTrouble(t *testing.T) {
	t.Parallel()
	p := NewPayloads(registry.Config{BaseURL: "https://schakel.example"})
	for schema, want := range map[string]string{
		"":                             "no JSON Schema",
		`{"type":"strange"}`:           "cannot be used",
		`{"pattern":"(?=x)y"}`:         "another engine",
		`{"type":"string"}`:            "",
		`{"$ref":"file:///etc/hosts"}`: "cannot be used",
	} {
		if got := fmt.Sprint(p.Trouble(store.EventType{ID: schema, DataSchema: schema})); want == "" && got != "[]" || !strings.Contains(got, want) {
			t.Errorf("%s: %s", schema, got)
		}
	}
}

// BenchmarkJudge measures the check of an event without a schema, with one, and with two lines of versions.
func BenchmarkJudge(b *testing.B) {
	p := NewPayloads(registry.Config{BaseURL: "https://schakel.example"})
	offer := Offer{JSON: true, Data: []byte(`{"new":"` + strings.Repeat("x", 500) + `"}`)}
	for name, versions := range map[string][]store.EventType{
		"no schema": versionsOf("1.0.0", ""), "schema": versionsOf("1.0.0", requires("new")),
		"two lines": versionsOf("2.0.0", requires("new"), "1.0.0", requires("old")),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if j, err := p.Judge(offer, versions); err != nil || len(j.Fits) != 1 {
					b.Fatal(j, err)
				}
			}
		})
	}
}
