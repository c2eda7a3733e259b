package replica_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"schakel/delivery/mutation/format"
	"schakel/delivery/mutation/replica"
	"schakel/store/needs"
)

// ours is a download API with manifests, over deliveries that a test puts in.
type ours struct {
	mu       sync.Mutex
	snapshot zipped
	deltas   []zipped
	gone     string                                                 // after this delta: 410
	before   func(w http.ResponseWriter, r *http.Request) bool      // answers itself when it likes
	cut      func(r *http.Request, raw []byte) (until int, is bool) // cuts a download
	change   func(r *http.Request, h http.Header)                   // changes a question, or the head of its answer
	base     string
}

func newOurs(t *testing.T) (*ours, replica.RemoteOptions) {
	t.Helper()
	s := &ours{}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.base = server.URL + "/mutations/v1/datasets/dingen"
	return s, replica.RemoteOptions{URL: s.base, Wait: noWait, HTTP: server.Client()}
}

// noWait passes over waits, but not over the end of the context.
func noWait(ctx context.Context, _ time.Duration) error { return ctx.Err() }

func (s *ours) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	path := strings.TrimPrefix(r.URL.Path, "/mutations/v1/datasets/dingen/")
	if s.before != nil && s.before(w, r) {
		return
	}
	parts := strings.Split(path, "/")
	switch {
	case path == "snapshots/latest" && s.snapshot.raw == nil:
		trouble(w, http.StatusNotFound, "no-snapshot", "there is no snapshot yet")
	case path == "snapshots/latest":
		answerJSON(w, map[string]any{"id": s.snapshot.DeliveryID, "includesDeltaId": s.snapshot.Includes, "_links": map[string]any{"content": map[string]any{"href": "snap/content"}}}, s.snapshot)
	case path == "snapshots/snap/content":
		s.serve(w, r, s.snapshot)
	case path == "deltas":
		s.list(w, r)
	case len(parts) >= 2 && parts[0] == "deltas":
		for _, z := range s.deltas {
			switch {
			case z.DeliveryID != parts[1]:
			case len(parts) == 2:
				answerJSON(w, nil, z)
			default:
				s.serve(w, r, z)
			}
		}
	default:
		trouble(w, http.StatusNotFound, "not-found", path)
	}
}

func trouble(w http.ResponseWriter, status int, kind, detail string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"type":"https://schakel.example/problems/%s","title":"x","status":%d,"detail":%q}`, kind, status, detail)
}

// answerJSON sends the fields of a manifest with more around them.
func answerJSON(w http.ResponseWriter, more map[string]any, z zipped) {
	raw, _ := json.Marshal(z.Manifest)
	all := map[string]any{}
	_ = json.Unmarshal(raw, &all)
	for k, v := range more {
		all[k] = v
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(all)
}

func (s *ours) list(w http.ResponseWriter, r *http.Request) {
	after, items, found := r.URL.Query().Get("after-delta-id"), []any{}, r.URL.Query().Get("after-delta-id") == ""
	if s.gone != "" && after == s.gone {
		trouble(w, http.StatusGone, "delta-expired", "fetch the latest snapshot")
		return
	}
	for n, z := range s.deltas {
		if found || z.Previous == after {
			found = true
			items = append(items, map[string]any{
				"id": z.DeliveryID, "number": n + 1, "previousId": z.Previous, "lineage": z.Lineage, "timeWindow": map[string]any{"to": "2026-01-01T00:00:00Z"},
				"_links": map[string]any{"content": map[string]any{"href": s.base + "/deltas/" + z.DeliveryID + "/content"}, "manifest": map[string]any{"href": "deltas/" + z.DeliveryID}},
			})
		}
		found = found || z.DeliveryID == after
	}
	if !found && after != s.snapshot.Includes {
		trouble(w, http.StatusNotFound, "delta-unknown", "no such delta")
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"deltas": items, "_links": []any{}})
}

// serve sends a zip, in ranges when asked, and cuts the line when the test likes.
func (s *ours) serve(w http.ResponseWriter, r *http.Request, z zipped) {
	w.Header().Set("ETag", `"sha256:`+z.SHA256+`"`)
	w.Header().Set("Content-Type", "application/zip")
	if s.change != nil {
		s.change(r, w.Header())
	}
	if s.cut != nil {
		if until, is := s.cut(r, z.raw); is {
			w = &truncator{ResponseWriter: w, left: until}
		}
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(z.raw))
	if c, ok := w.(*truncator); ok && c.left < 0 {
		_ = http.NewResponseController(c.ResponseWriter).Flush()
		panic(http.ErrAbortHandler)
	}
}

// truncator sends a number of bytes and no more.
type truncator struct {
	http.ResponseWriter
	left int
}

func (c *truncator) Write(p []byte) (int, error) {
	if c.left < 0 {
		return 0, errors.New("cut")
	}
	n := min(c.left, len(p))
	c.left -= n
	if n, err := c.ResponseWriter.Write(p[:n]); err != nil {
		return n, err
	}
	if n < len(p) {
		c.left = -1
		return n, errors.New("cut")
	}
	return n, nil
}

func (s *ours) set(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do()
}

// run follows a source once.
func run(t testing.TB, f *replica.Follower, o replica.RemoteOptions, when replica.Rebuild) (replica.Report, error) {
	t.Helper()
	source, err := replica.NewRemote(t.Context(), o)
	if err != nil {
		return replica.Report{}, err
	}
	return f.Follow(t.Context(), source, when)
}

// TestFollowOurs walks the API: the latest snapshot, all deltas behind it in order, nothing when there is nothing, what came
// since, and from a snapshot when what came next is gone or another history began - when that is allowed.
//
// Rules: MUT-01, MUT-33, MUT-34, MUT-35, MUT-38.
func TestFollowOurs(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, database string) {
		s, o := newOurs(t)
		f, w := open(t, database, replica.Options{}), newWorld(t, 21)
		if _, err := run(t, f, o, replica.RebuildNever); err == nil || !strings.Contains(err.Error(), "no snapshot yet") {
			t.Errorf("nothing there: %v", err)
		}
		w.groups(30)
		s.set(func() {
			s.deltas = []zipped{pack(t, format.Delta, "d-1", "", w.groups(3))}
			s.snapshot = pack(t, format.Initial, "snap-1", "d-1", w.whole())
			for n := 2; n < 5; n++ {
				s.deltas = append(s.deltas, pack(t, format.Delta, fmt.Sprint("d-", n), fmt.Sprint("d-", n-1), w.groups(10)))
			}
		})
		r, err := run(t, f, o, replica.RebuildNever)
		if err != nil || len(r.Deliveries) != 4 || r.DeltaID != "d-4" || r.Deliveries[0].Type != format.Initial {
			t.Fatalf("%v: %s", err, asJSON(r))
		}
		w.check(t, database)
		if r, err = run(t, f, o, replica.RebuildNever); err != nil || len(r.Deliveries) != 0 {
			t.Errorf("again: %v: %s", err, asJSON(r))
		}
		s.set(func() { s.deltas = append(s.deltas, pack(t, format.Delta, "d-5", "d-4", w.groups(5))) })
		if r, err = run(t, f, o, replica.RebuildNever); err != nil || len(r.Deliveries) != 1 {
			t.Errorf("one more: %v: %s", err, asJSON(r))
		}
		w.check(t, database)
		before := w.shown()
		s.set(func() {
			s.gone, w.live = "d-5", w.live[5:]
			s.snapshot = pack(t, format.Initial, "snap-2", "d-9", w.whole())
			s.snapshot.Lineage = "lin-2"
			s.deltas = []zipped{pack(t, format.Delta, "d-10", "d-9", w.groups(5))}
			s.deltas[0].Lineage = "lin-2"
		})
		if _, err = run(t, f, o, replica.RebuildNever); !errors.Is(err, replica.ErrReinitialise) || !strings.Contains(err.Error(), "fetch the latest snapshot") {
			t.Errorf("gone: %v", err)
		}
		if got := rows(t, connect(t, database), `SELECT * FROM dingen`); got != before {
			t.Error("the copy changed")
		}
		if r, err = run(t, f, o, replica.RebuildNeeded); err != nil || len(r.Deliveries) != 2 || len(r.Notes) != 1 || r.Lineage != "lin-2" {
			t.Errorf("anew: %v: %s", err, asJSON(r))
		}
		w.check(t, database)
		if r, err = run(t, f, o, replica.RebuildNow); err != nil || len(r.Deliveries) != 2 {
			t.Errorf("anew at once: %v: %s", err, asJSON(r))
		}
		w.check(t, database)
		s.set(func() { s.gone, s.deltas = "", nil })
		if _, err = run(t, f, o, replica.RebuildNever); !errors.Is(err, replica.ErrReinitialise) {
			t.Errorf("a delta the source does not know: %v", err)
		}
	})
}

// TestCutLine cuts each download over and over: behind every byte of small ones, and all over larger ones. It goes on with
// the rest, or passes over what it had where the source knows no ranges, and not a group is lost or done twice. A source that
// has another file all of a sudden is read from the start, and where the copy was is found again.
//
// Rules: MUT-28, MUT-29, MUT-53.
func TestCutLine(t *testing.T) {
	needs.Unraced(t)
	t.Parallel()
	for name, tt := range map[string]struct {
		groups, size int
		cut          func(n int, raw []byte) (int, bool)
		change       func(n int, r *http.Request, h http.Header)
		most         int // requests that may be for a start
	}{
		"behind every byte": {2, 0, func(int, []byte) (int, bool) { return 1, true }, nil, 2},
		"all over":          {200, 400, func(int, []byte) (int, bool) { return 777, true }, nil, 2},
		"no ranges": {200, 400, func(n int, raw []byte) (int, bool) { return len(raw) / 5 * (n % 6), n%6 < 5 }, func(_ int, r *http.Request, _ http.Header) {
			r.Header.Del("Range")
		}, 100},
		"no tags": {200, 400, func(n int, raw []byte) (int, bool) { return len(raw) / 5 * (n % 6), n%6 < 5 }, func(_ int, r *http.Request, h http.Header) {
			h.Del("ETag")
		}, 100},
		"another file": {200, 400, func(n int, raw []byte) (int, bool) { return len(raw) / 2, n == 2 }, func(n int, _ *http.Request, h http.Header) {
			if n > 2 {
				h.Set("ETag", `"another"`)
			}
		}, 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, o := newOurs(t)
			w := newWorld(t, 22)
			w.size = tt.size
			w.groups(tt.groups / 2)
			s.snapshot = pack(t, format.Initial, "snap-1", "d-0", w.whole())
			s.deltas = []zipped{pack(t, format.Delta, "d-1", "d-0", w.groups(tt.groups))}
			downloads, starts := 0, 0
			s.cut = func(_ *http.Request, raw []byte) (int, bool) { return tt.cut(downloads, raw) }
			s.change = func(r *http.Request, h http.Header) {
				downloads++
				if tt.change != nil {
					tt.change(downloads, r, h)
				}
				if r.Header.Get("Range") == "" {
					starts++
				}
			}
			database := sqlitePath(t)
			r, err := run(t, open(t, database, replica.Options{Mutations: 7}), o, replica.RebuildNever)
			if err != nil || downloads < 4 || starts > tt.most || r.Counts.Groups != s.snapshot.Counts.Groups+s.deltas[0].Counts.Groups {
				t.Fatalf("%d downloads, %d from the start, %v: %s", downloads, starts, err, asJSON(r))
			}
			w.check(t, database)
		})
	}
}

// TestGivesUp stops after some tries that bring nothing, and knows where the next run goes on.
//
// Rules: MUT-29, MUT-37.
func TestGivesUp(t *testing.T) {
	t.Parallel()
	s, o := newOurs(t)
	w := newWorld(t, 23)
	w.size = 400
	w.groups(60)
	s.snapshot = pack(t, format.Initial, "snap-1", "d-0", w.whole())
	s.deltas = []zipped{pack(t, format.Delta, "d-1", "d-0", w.groups(200))}
	database := sqlitePath(t)
	f := open(t, database, replica.Options{Mutations: 7})
	if _, err := run(t, f, o, replica.RebuildNever); err != nil {
		t.Fatal(err)
	}
	s.set(func() {
		s.deltas = append(s.deltas, pack(t, format.Delta, "d-2", "d-1", w.groups(200)))
		s.cut = func(r *http.Request, raw []byte) (int, bool) {
			if r.Header.Get("Range") != "" {
				return 0, true
			}
			return len(raw) / 2, true
		}
	})
	r, err := run(t, f, o, replica.RebuildNever)
	if err == nil || !strings.Contains(err.Error(), "gave up after 8 tries") || r.Counts.Groups == 0 || r.Counts.Groups >= 200 {
		t.Fatalf("%v: %s", err, asJSON(r))
	}
	s.set(func() { s.cut = nil })
	again, err := run(t, f, o, replica.RebuildNever)
	if err != nil || again.Counts.Groups+r.Counts.Groups != 200 || again.Deliveries[0].Resumed != r.Counts.Groups {
		t.Errorf("%v: %s", err, asJSON(again))
	}
	w.check(t, database)
}

// TestOtherBytes changes a delta after a part of it is in: it is brought in once more from its start, on top of what it did.
// The same with a zip that is not what its manifest says.
//
// Rules: MUT-29, MUT-36.
func TestOtherBytes(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, database string) {
		f, w := started(t, database, replica.Options{Mutations: 5})
		z := pack(t, format.Delta, "d-1", "delta-0", w.groups(60))
		half := z.delivery()
		half.Open, half.Again = plain(z.raw[:len(z.raw)*2/3]).Open, false
		var report replica.Report
		if err := f.Apply(t.Context(), half, &report); err == nil || f.Copy().UnderWay.Group == 0 {
			t.Fatalf("%v: %+v", err, f.Copy())
		}
		empty := &format.Group{Mutations: []format.Mutation{w.add("new"), w.remove(len(w.live) - 1)}}
		world := newWorld(t, 3)
		world.groups(20)
		moved := pack(t, format.Delta, "d-1", "delta-0", append([]*format.Group{{Mutations: []format.Mutation{w.add("first")}}, empty}, world.groups(60)...))
		wrong := moved.delivery()
		wrong.Manifest = &z.Manifest
		if err := f.Apply(t.Context(), wrong, &report); !errors.Is(err, replica.ErrManifest) {
			t.Errorf("another zip than the manifest's: %v", err)
		}
		r := apply(t, f, moved.delivery())
		if r.Counts.Again == 0 {
			t.Errorf("%s", asJSON(r))
		}
		w.check(t, database)
	})
}

// TestToken sends a token to the source, a new one when it is refused, and none to another host.
func TestToken(t *testing.T) {
	t.Parallel()
	s, o := newOurs(t)
	w := newWorld(t, 24)
	w.groups(3)
	s.snapshot = pack(t, format.Initial, "snap-1", "", w.whole())
	tokens, elsewhere := 0, ""
	other := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		elsewhere = r.Header.Get("Authorization") + "."
		_, _ = rw.Write(s.snapshot.raw)
	}))
	defer other.Close()
	s.before = func(rw http.ResponseWriter, r *http.Request) bool {
		switch {
		case r.Header.Get("Authorization") != "Bearer token-2":
			trouble(rw, http.StatusUnauthorized, "unauthorized", "no")
		case strings.HasSuffix(r.URL.Path, "/content"):
			http.Redirect(rw, r, other.URL, http.StatusTemporaryRedirect)
		default:
			return false
		}
		return true
	}
	o.Token = func(_ context.Context, renew bool) (string, error) {
		if tokens == 0 || renew {
			tokens++
		}
		return fmt.Sprint("token-", tokens), nil
	}
	database := sqlitePath(t)
	if _, err := run(t, open(t, database, replica.Options{}), o, replica.RebuildNever); err != nil || tokens != 2 {
		t.Errorf("%d tokens, %v", tokens, err)
	}
	if elsewhere != "." {
		t.Errorf("elsewhere: %q", elsewhere)
	}
	w.check(t, database)
}

// TestOneOfSeveralSubscriptions names the subscription that is followed wherever something is asked for by name.
func TestOneOfSeveralSubscriptions(t *testing.T) {
	t.Parallel()
	s, o := newOurs(t)
	o.Subscription = "sub_2"
	asked := map[string]bool{}
	s.before = func(_ http.ResponseWriter, r *http.Request) bool {
		for _, name := range []string{"/snapshots/latest", "/deltas", "/datasets/dingen"} {
			if strings.HasSuffix(r.URL.Path, name) {
				asked[name] = r.URL.Query().Get("subscriptionId") == "sub_2"
			}
		}
		return false
	}
	s.snapshot = pack(t, format.Initial, "snap", "d-0", one(add(t, "a-1", "a", 1)))
	f := open(t, sqlitePath(t), replica.Options{})
	if _, err := run(t, f, o, replica.RebuildNever); err != nil {
		t.Fatal(err)
	}
	if !asked["/snapshots/latest"] || !asked["/deltas"] || !asked["/datasets/dingen"] {
		t.Errorf("named the subscription: %v", asked)
	}
}

// TestNoAccess asks once when there will be no token.
func TestNoAccess(t *testing.T) {
	t.Parallel()
	_, o := newOurs(t)
	asked := 0
	o.Token = func(context.Context, bool) (string, error) {
		asked++
		return "", fmt.Errorf("refused: %w", replica.ErrAccess)
	}
	if _, err := replica.NewRemote(t.Context(), o); !errors.Is(err, replica.ErrAccess) || asked != 1 {
		t.Errorf("asked %d times: %v", asked, err)
	}
}
