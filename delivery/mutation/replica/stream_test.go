package replica_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"schakel/delivery/mutation/format"
	"schakel/delivery/mutation/replica"
)

// TestStopWhileItComes: a delivery that is refused while the rest of it is on its way ends at once, and what reads ahead ends
// with it.
//
// Rules: MUT-29.
func TestStopWhileItComes(t *testing.T) {
	t.Parallel()
	s, o := newOurs(t)
	w := newWorld(t, 31)
	w.size = 4000
	w.groups(20)
	s.snapshot = pack(t, format.Initial, "snap-1", "d-1", w.whole())
	bad := w.version("nobody knows it")
	groups := append([]*format.Group{{Mutations: []format.Mutation{{ObjectType: "Ding", ObjectID: bad.object, Was: state(t, bad)}}}}, w.groups(200)...)
	delta := pack(t, format.Delta, "d-2", "d-1", groups)
	s.deltas = []zipped{pack(t, format.Delta, "d-1", "", nil), delta}
	s.before = func(rw http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/deltas/d-2/content") {
			return false
		}
		third := bytes.SplitAfterN(delta.raw, []byte("PK\x03\x04"), 4)[3] // file
		_, _ = rw.Write(delta.raw[:len(delta.raw)-len(third)])
		_ = http.NewResponseController(rw).Flush()
		<-r.Context().Done()
		return true
	}
	o.Idle = 10 * time.Second // when nothing of it came through
	_, err := run(t, open(t, sqlitePath(t), replica.Options{Mutations: 30}), o, replica.RebuildNever)
	if !errors.Is(err, replica.ErrUnknown) {
		t.Error(err)
	}
}

// oneFile answers every request for a file with its bytes, of which each read gives a few.
type oneFile struct {
	raw   []byte
	asked int
}

// RoundTrip implements http.RoundTripper.
func (f *oneFile) RoundTrip(r *http.Request) (*http.Response, error) {
	a := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Request: r, ContentLength: -1}
	if strings.HasSuffix(r.URL.Path, "/latest") {
		raw, err := json.Marshal(map[string]any{"id": "s", "_links": map[string]any{"content": map[string]any{"href": "content"}}})
		a.Body = io.NopCloser(bytes.NewReader(raw))
		return a, err
	}
	f.asked++
	a.Body = io.NopCloser(&bits{r.Context(), bytes.NewReader(f.raw)})
	return a, nil
}

type bits struct {
	ctx  context.Context //nolint:containedctx // that of the request
	from io.Reader
}

// Read implements io.Reader.
func (b *bits) Read(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	return b.from.Read(p[:min(len(p), 10)])
}

// TestReaderTakesItsTime: whoever reads may be busy for longer than a line may be still, as a database can be; the line is not
// cut for that.
func TestReaderTakesItsTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		file := &oneFile{raw: bytes.Repeat([]byte("0123456789"), 5)}
		source, err := replica.NewRemote(t.Context(), replica.RemoteOptions{
			URL: "https://example.test/mutations/v1/datasets/dingen", Kind: replica.Schakel, HTTP: &http.Client{Transport: file}, Idle: time.Minute,
		})
		must(t, err)
		d, err := source.Initial(t.Context())
		must(t, err)
		body, err := d.Open(t.Context())
		must(t, err)
		defer body.Close()
		var got []byte
		for chunk := make([]byte, 10); err == nil; {
			var n int
			n, err = body.Read(chunk)
			got = append(got, chunk[:n]...)
			<-time.After(5 * time.Minute)
		}
		if !errors.Is(err, io.EOF) || !bytes.Equal(got, file.raw) || file.asked != 1 {
			t.Errorf("%v: %d bytes in %d requests", err, len(got), file.asked)
		}
	})
}
