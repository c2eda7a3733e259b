package replica_test

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"schakel/delivery/mutation/format"
	"schakel/delivery/mutation/replica"
)

// odd is a source like PDOK's of which the answers are changed on their way.
type odd struct {
	*fakePDOK
	world  *world
	counts map[string]int
	other  string // a second address of the same source
}

// oddly follows a source with an initial delivery and five deltas, of which answer answers what it likes itself.
func oddly(t *testing.T, database string, answer func(s *odd, w http.ResponseWriter, r *http.Request) bool, more func(o *replica.RemoteOptions)) (*odd, replica.Report, error) {
	t.Helper()
	plain, o := newPDOK(t)
	w := newWorld(t, 77)
	w.size = 40
	w.groups(30)
	s := &odd{fakePDOK: plain, world: w, counts: map[string]int{}}
	now := pack(t, format.Initial, "d-0", "", w.whole())
	s.initial = func() zipped { return now }
	s.deltas = []zipped{pack(t, format.Delta, "d-0", "", nil)}
	for n := range 5 {
		s.deltas = append(s.deltas, pack(t, format.Delta, fmt.Sprint("d-", n+1), "", w.groups(50)))
	}
	through := func(rw http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.counts[r.URL.Path]++
		if !answer(s, rw, r) {
			s.handler.ServeHTTP(rw, r)
		}
	}
	front, second := httptest.NewServer(http.HandlerFunc(through)), httptest.NewServer(http.HandlerFunc(through))
	t.Cleanup(front.Close)
	t.Cleanup(second.Close)
	s.other = second.URL
	const base = "/kadastralekaart/api/v4_0"
	o.URL = front.URL + base
	if more != nil {
		more(&o)
	}
	r, err := run(t, open(t, database, replica.Options{Mutations: 20}), o, replica.RebuildNever)
	return s, r, err
}

func (s *odd) isExtract(r *http.Request) bool { return strings.Contains(r.URL.Path, "/extract/") }

// part sends some bytes of a file and cuts the line.
func part(w http.ResponseWriter, raw []byte) {
	_, _ = w.Write(raw)
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

func (s *odd) raw(r *http.Request) []byte {
	return s.requests[strings.Split(r.URL.Path, "/")[5]].zip.raw
}

// TestOddSources follows sources that keep to the description of the API in ways of their own, or not quite: each ends in an
// exact copy.
//
// Rules: MUT-01, MUT-29, MUT-35, MUT-50, MUT-52, MUT-53.
func TestOddSources(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(s *odd, w http.ResponseWriter, r *http.Request) bool{
		"the list goes on at another host": func(s *odd, w http.ResponseWriter, r *http.Request) bool {
			if !strings.HasSuffix(r.URL.Path, "/delta") || r.URL.Query().Get("page") != "1" {
				return false
			}
			fmt.Fprintf(w, `{"deltas":[{"id":"d-0"},{"id":"d-1"}],"_links":[{"rel":"next","href":"%s/kadastralekaart/api/v4_0/delta?page=2&count=2"}]}`, s.other)
			return true
		},
		"few at a time and no links": func(s *odd, w http.ResponseWriter, r *http.Request) bool {
			if !strings.HasSuffix(r.URL.Path, "/delta") {
				return false
			}
			page := 1
			_, _ = fmt.Sscan(r.URL.Query().Get("page"), &page)
			if page > 2 {
				http.Error(w, "geen pagina", http.StatusInternalServerError)
				return true
			}
			items := []string{}
			for _, d := range s.deltas[3*(page-1) : 3*page] {
				items = append(items, fmt.Sprintf(`{"id":%q}`, d.DeliveryID))
			}
			fmt.Fprintf(w, `{"deltas":[%s],"_links":[]}`, strings.Join(items, ","))
			return true
		},
		"a delta listed twice": func(_ *odd, w http.ResponseWriter, r *http.Request) bool {
			if strings.HasSuffix(r.URL.Path, "/delta") {
				fmt.Fprint(w, `{"deltas":[{"id":"d-0"},{"id":"d-1"},{"id":"d-1"},{"id":"d-2"},{"id":"d-3"},{"id":"d-4"},{"id":"d-5"}],"_links":[]}`)
			}
			return strings.HasSuffix(r.URL.Path, "/delta")
		},
		"the oldest expires between two pages": func(s *odd, w http.ResponseWriter, r *http.Request) bool {
			if !strings.HasSuffix(r.URL.Path, "/delta") {
				return false
			}
			s.counts["lists"]++
			pages := map[string]string{"1": `{"id":"d-0"},{"id":"d-1"}`, "2": `{"id":"d-3"},{"id":"d-4"}`, "3": `{"id":"d-5"}`}
			if s.counts["lists"] > 3 { // d-x was before d-0, and d-2 slipped through
				pages = map[string]string{"1": `{"id":"d-0"},{"id":"d-1"}`, "2": `{"id":"d-2"},{"id":"d-3"}`, "3": `{"id":"d-4"},{"id":"d-5"}`}
			} else if s.counts["lists"] == 1 {
				pages["1"] = `{"id":"d-x"},{"id":"d-0"},{"id":"d-1"}`
			}
			page := r.URL.Query().Get("page")
			next := map[string]string{"1": `{"rel":"next","href":"delta?page=2"}`, "2": `{"rel":"next","href":"delta?page=3"}`}[page]
			fmt.Fprintf(w, `{"deltas":[%s],"_links":[%s]}`, pages[page], next)
			return true
		},
		"packed once more": func(s *odd, w http.ResponseWriter, r *http.Request) bool {
			if !s.isExtract(r) {
				return false
			}
			var out bytes.Buffer
			z := gzip.NewWriter(&out)
			_, _ = z.Write(s.raw(r))
			_ = z.Close()
			w.Header().Set("Content-Encoding", "gzip")
			w.Header().Set("ETag", `"x"`)
			if s.counts[r.URL.Path] < 3 {
				part(w, out.Bytes()[:s.counts[r.URL.Path]*out.Len()/4])
			}
			_, _ = w.Write(out.Bytes())
			return true
		},
		"no tag and no ranges": func(s *odd, w http.ResponseWriter, r *http.Request) bool {
			if s.isExtract(r) {
				if s.counts[r.URL.Path] < 4 {
					part(w, s.raw(r)[:s.counts[r.URL.Path]*len(s.raw(r))/5])
				}
				_, _ = w.Write(s.raw(r))
			}
			return s.isExtract(r)
		},
		"no length, and a line that ends early": func(s *odd, w http.ResponseWriter, r *http.Request) bool {
			if !s.isExtract(r) || s.counts["cuts"] > 1 {
				return false
			}
			s.counts["cuts"]++
			conn, buffer, err := http.NewResponseController(w).Hijack()
			if err != nil {
				s.t.Error(err)
				return true
			}
			fmt.Fprintf(buffer, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n%s", s.raw(r)[:len(s.raw(r))/2])
			_ = buffer.Flush()
			_ = conn.Close()
			return true
		},
		"what was made is gone once": func(s *odd, w http.ResponseWriter, r *http.Request) bool {
			if !s.isExtract(r) || s.counts["gone"] > 0 {
				return false
			}
			s.counts["gone"]++
			http.Error(w, "weg", http.StatusNotFound)
			return true
		},
		"what was made is gone half way": func(s *odd, w http.ResponseWriter, r *http.Request) bool {
			switch {
			case !s.isExtract(r) || !strings.Contains(r.URL.Path, "-1/"):
			case s.counts[r.URL.Path] == 1:
				part(w, s.raw(r)[:len(s.raw(r))/2])
			default:
				http.Error(w, "verlopen", http.StatusForbidden)
				return true
			}
			return false
		},
		"other bytes under another tag, in a range": func(s *odd, w http.ResponseWriter, r *http.Request) bool {
			if !s.isExtract(r) || s.counts["other"] > 1 {
				return false
			}
			s.counts["other"]++
			raw := s.raw(r)
			w.Header().Set("ETag", fmt.Sprintf(`"%d"`, s.counts["other"]))
			if s.counts["other"] == 1 {
				w.Header().Set("Content-Length", fmt.Sprint(len(raw)))
				part(w, raw[:len(raw)/2])
			}
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", len(raw)/2, len(raw)-1, len(raw)))
			w.WriteHeader(http.StatusPartialContent)
			_, _ = w.Write(bytes.Repeat([]byte{'?'}, len(raw)-len(raw)/2))
			return true
		},
		"a problem at the base": func(_ *odd, w http.ResponseWriter, r *http.Request) bool {
			if strings.HasSuffix(r.URL.Path, "/v4_0") {
				w.Header().Set("Content-Type", "application/problem+json")
				w.WriteHeader(http.StatusNotFound)
				fmt.Fprint(w, `{"type":"about:blank","title":"Not Found","status":404}`)
			}
			return strings.HasSuffix(r.URL.Path, "/v4_0")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			database := sqlitePath(t)
			s, r, err := oddly(t, database, answer, nil)
			if err != nil || r.DeltaID != "d-5" {
				t.Fatalf("%v: %s", err, asJSON(r))
			}
			s.world.check(t, database)
		})
	}
}

// TestSourcesThatCannotBe refuses what a source may not do, and names the place.
//
// Rules: MUT-21, MUT-35, MUT-50.
func TestSourcesThatCannotBe(t *testing.T) {
	t.Parallel()
	list := func(text string) func(s *odd, w http.ResponseWriter, r *http.Request) bool {
		return func(_ *odd, w http.ResponseWriter, r *http.Request) bool {
			if strings.HasSuffix(r.URL.Path, "/delta") {
				fmt.Fprint(w, text)
			}
			return strings.HasSuffix(r.URL.Path, "/delta")
		}
	}
	for name, tt := range map[string]struct {
		answer func(s *odd, w http.ResponseWriter, r *http.Request) bool
		says   string
	}{
		"newest first":       {list(`{"deltas":[{"id":"d-1","timeWindow":{"to":"2019-01-03T00:00:00Z"}},{"id":"d-0","timeWindow":{"to":"2019-01-02T00:00:00Z"}}],"_links":[]}`), "d-0 ends before d-1"},
		"a list without end": {list(`{"deltas":[{"id":"d-0"}],"_links":[{"rel":"next","href":"delta?page=1"}]}`), "nothing new"},
		"no id":              {list(`{"deltas":[{"timeWindow":{"to":"2019-01-03T00:00:00Z"}}],"_links":[]}`), "/delta has no id"},
		"gone for good":      {func(s *odd, w http.ResponseWriter, r *http.Request) bool { return s.isExtract(r) && notFound(w) }, "/extract.zip with status 404"},
		"too many types": {func(_ *odd, w http.ResponseWriter, r *http.Request) bool {
			return r.Method == http.MethodPost && refused(w)
		}, "--featuretypes"},
		"files of another one": {func(s *odd, _ http.ResponseWriter, _ *http.Request) bool {
			s.deltas[3].raw = s.deltas[2].raw
			return false
		}, "delta d-3 was asked for, and its files are of delta d-2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, r, err := oddly(t, sqlitePath(t), tt.answer, nil)
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%v: %s", err, asJSON(r))
			}
		})
	}
}

func notFound(w http.ResponseWriter) bool {
	http.Error(w, "weg", http.StatusNotFound)
	return true
}

func refused(w http.ResponseWriter) bool {
	http.Error(w, "featuretypes", http.StatusBadRequest)
	return true
}

// TestOtherSelection keeps a copy to the feature types and the polygon that it was made with: what is asked for later must be
// the same, also when the source has more types by then.
//
// Rules: MUT-49, MUT-51.
func TestOtherSelection(t *testing.T) {
	t.Parallel()
	database := sqlitePath(t)
	s, o := newPDOK(t)
	w := newWorld(t, 5)
	w.groups(10)
	s.initial = func() zipped { return pack(t, format.Initial, "d-0", "", w.whole()) }
	s.deltas = []zipped{pack(t, format.Delta, "d-0", "", nil)}
	if _, err := run(t, open(t, database, replica.Options{}), o, replica.RebuildNever); err != nil {
		t.Fatal(err)
	}
	s.deltas = append(s.deltas, pack(t, format.Delta, "d-1", "", w.groups(5)))
	for name, change := range map[string]func(o *replica.RemoteOptions){
		"a polygon":    func(o *replica.RemoteOptions) { o.GeoFilter = "POLYGON((0 0,1 0,1 1,0 0))" },
		"fewer types":  func(o *replica.RemoteOptions) { o.FeatureTypes = []string{"perceel"} },
		"a predefined": func(o *replica.RemoteOptions) { o.Predefined = "dkk-gml-nl" },
	} {
		other := o
		change(&other)
		if _, err := run(t, open(t, database, replica.Options{}), other, replica.RebuildNever); !errors.Is(err, replica.ErrSettings) || !strings.Contains(err.Error(), "perceel") {
			t.Errorf("%s: %v", name, err)
		}
	}
	o.FeatureTypes = []string{"perceel", "kadastralegrens"} // the same in another order
	if _, err := run(t, open(t, database, replica.Options{}), o, replica.RebuildNever); err != nil {
		t.Error(err)
	}
	w.check(t, database)
	s.types, o.FeatureTypes = `{"featuretype":"perceel"},{"featuretype":"kadastralegrens"},{"featuretype":"pand"}`, nil
	s.deltas = append(s.deltas, pack(t, format.Delta, "d-2", "", w.groups(5)))
	if _, err := run(t, open(t, database, replica.Options{}), o, replica.RebuildNever); err != nil {
		t.Error(err)
	}
	if last, err := json.Marshal(s.bodies[len(s.bodies)-1]["featuretypes"]); err != nil || string(last) != `["kadastralegrens","perceel"]` {
		t.Errorf("%s, %v", last, err)
	}
	w.check(t, database)
}

// TestNamelessObjects leaves objects without an id out of what left the area: one that comes is not the one that left.
//
// Rules: MUT-23, MUT-46.
func TestNamelessObjects(t *testing.T) {
	t.Parallel()
	f := open(t, sqlitePath(t), replica.Options{Area: below(50), Tombstones: true, Reenter: replica.ReenterInitial})
	nameless := func(m format.Mutation) []*format.Group { m.ObjectType, m.ObjectID = "", ""; return one(m) }
	apply(t, f, pack(t, format.Initial, "d-0", "", nameless(add(t, "a-1", "a", 1))).delivery())
	left := nameless(change(t, "a-1", 1, "a-2", 90, "a"))
	r := apply(t, f, pack(t, format.Delta, "d-1", "", append(left, nameless(add(t, "b-1", "b", 2))...)).delivery())
	if r.Counts.Left != 1 || r.Counts.Reentered != 0 || f.Copy().Reinitialise != "" {
		t.Errorf("%s, %q", asJSON(r.Counts), f.Copy().Reinitialise)
	}
}

// TestTextBeside passes over a text in the zip, and says so.
//
// Rules: MUT-27.
func TestTextBeside(t *testing.T) {
	t.Parallel()
	database := sqlitePath(t)
	w := newWorld(t, 8)
	w.groups(10)
	from := pack(t, format.Initial, "d-0", "", w.whole())
	z, err := zip.NewReader(bytes.NewReader(from.raw), int64(len(from.raw)))
	must(t, err)
	var out bytes.Buffer
	to := zip.NewWriter(&out)
	for _, f := range z.File {
		must(t, to.Copy(f))
	}
	beside, err := to.Create("LEESMIJ.txt")
	if err == nil {
		_, err = beside.Write([]byte("Kadaster"))
	}
	must(t, errors.Join(err, to.Close()))
	r := apply(t, open(t, database, replica.Options{}), plain(out.Bytes()))
	if !strings.Contains(asJSON(r.Notes), "LEESMIJ.txt") {
		t.Errorf("%s", asJSON(r))
	}
	w.check(t, database)
}

// FuzzTexts reads elements of any sound XML without trouble, each text without space around it, and as often as it stands there.
func FuzzTexts(f *testing.F) {
	f.Add(`<a><b>1</b><c><b> 2 </b></c></a>`, "b")
	f.Add(`<x:a xmlns:x="urn:x"><x:b>&lt;<![CDATA[ <b> ]]></x:b><b/></x:a>`, "a/b")
	f.Add(`<a><a><a>é</a></a></a>`, "a/a")
	f.Fuzz(func(t *testing.T, doc, name string) {
		s, err := format.ParseState("1", []byte(doc))
		if err != nil || name == "" {
			return
		}
		texts, err := replica.Texts(s, []string{name})
		must(t, err)
		for _, text := range texts[name] {
			if text != strings.TrimSpace(text) {
				t.Errorf("%q", text)
			}
		}
	})
}

// FuzzAnswers lets a source answer anything: a run ends with an error or not, and never with a copy of nothing.
func FuzzAnswers(f *testing.F) {
	f.Add(200, "application/json", `{"id":"s","_links":{"content":{"href":"x"}}}`)
	f.Add(404, "text/plain", `{"deltas":[{"id":"d"}],"_links":[{"rel":"next","href":"?page=2"}]}`)
	f.Add(201, "", `{"downloadRequestId":"1","_links":{"status":{"href":"//other"},"download":{"href":":"}},"status":"COMPLETED","timeliness":[{"featuretype":"p"}]}`)
	f.Fuzz(func(t *testing.T, status int, kind, body string) {
		if status < 200 || status > 599 || strings.ContainsAny(kind, "\r\n") || strings.Contains(body, "http") || strings.Contains(body, "//") {
			return // it is not to go anywhere else
		}
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}))
		defer server.Close()
		source, err := replica.NewRemote(t.Context(), replica.RemoteOptions{URL: server.URL + "/d", Wait: noWait, Tries: 2})
		if err != nil {
			return
		}
		for _, next := range []func() (*replica.Delivery, error){
			func() (*replica.Delivery, error) { return source.Initial(t.Context()) },
			func() (*replica.Delivery, error) { return source.Next(t.Context(), replica.Copy{DeltaID: "d-1"}) },
		} {
			d, err := next()
			if err != nil {
				continue
			}
			opened, err := d.Open(context.WithoutCancel(t.Context()))
			if err == nil {
				_ = opened.Close()
			}
		}
	})
}
