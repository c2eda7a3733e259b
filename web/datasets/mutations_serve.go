package datasets

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	"schakel/delivery/mutation/export"
	"schakel/delivery/mutation/ingest"
	"schakel/registry"
	"schakel/registry/services"
	"schakel/store"
	"schakel/web/site"
)

// mutationFile is a zip that is sent to a reader.
type mutationFile struct {
	offer  export.Offer // of which delta or snapshot it is; zero for a download that was asked for
	id     string
	name   string
	reader datasetReader
}

// serveMutationFile sends a zip, whole or in part. It may take hours: only a client that takes nothing for a while is cut
// off. Its bytes never change, so that a client goes on with Range and If-Range wherever it was cut (MUT-53).
func (m *handlers) serveMutationFile(c echo.Context, f mutationFile) error {
	ctx := c.Request().Context()
	row, err := m.DB.MutationFile(ctx, f.id)
	if err != nil {
		return fmt.Errorf("find mutation file: %w", err)
	}
	if !row.GoneAt.IsZero() {
		return m.goneProblem(f.reader.access.Dataset.ID, &export.GoneError{Kind: export.ErrDeltaExpired, ExpiredAt: f.offer.ExpiresAt})
	}
	if err := noteFile(ctx, m.Registry, f.reader.Actor(), f.name); err != nil {
		return err
	}
	h := c.Response().Header()
	h.Set("Content-Type", formatZipType)
	h.Set("Content-Disposition", `attachment; filename="`+f.name+`"`)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "private, no-cache")
	site.SetDigest(h, row.Digest)
	request := c.Request().Clone(ctx)
	if asked := request.Header.Get("Range"); !strings.HasPrefix(asked, "bytes=") {
		request.Header.Del("Range") // other units are not known here (RFC 9110, 14.2)
	} else {
		request.Header.Set("Range", site.WithoutNone(asked, row.Size))
	}
	if site.AskedForHead(ctx) {
		request.Method = http.MethodHead
	}
	out := &fileWriter{ObjectWriter: site.ObjectWriter{ResponseWriter: c.Response()}, keep: m.App.DeadlineExtender(c)}
	body := &fileBody{ReadSeeker: m.DB.OpenMutationFile(ctx, row), size: row.Size}
	http.ServeContent(out, request, "", time.Time{}, body)
	if out.Refused {
		h.Set("Content-Range", "bytes */"+strconv.FormatInt(row.Size, 10))
		return site.RangeProblem(h)
	}
	if body.failed != nil {
		m.App.LogFailure(c, fmt.Errorf("read mutation file: %w", body.failed))
	}
	if body.ended && out.failed == nil {
		m.noteFetched(c, f)
	}
	return nil
}

// noteFile writes in the audit trail who downloads a file.
func noteFile(ctx context.Context, services *services.Services, actor registry.Actor, name string) error {
	return services.Audit.NoteRead(ctx, actor, registry.ActionFileDownloaded, registry.ObjectOf("mutation-file", name, name, actor.PartnerID), nil)
}

// noteFetched remembers how far a subscription is, after the last byte went out. The client may be gone by then.
func (m *handlers) noteFetched(c echo.Context, f mutationFile) {
	by := f.reader.access.Follower
	if by == nil || f.offer.Delta.ID == "" && f.offer.Snapshot.ID == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Request().Context()), 10*time.Second)
	defer cancel()
	err := m.DB.Write(ctx, func(tx *store.Tx) error {
		if f.offer.Delta.ID != "" {
			return tx.FollowedDelta(ctx, by.Follower.Reading(), f.offer.Delta)
		}
		return tx.FollowedSnapshot(ctx, by.Follower.Reading(), f.offer.Snapshot)
	})
	if err != nil {
		m.App.LogFailure(c, fmt.Errorf("note what was fetched: %w", err))
	}
}

// fileWriter sends a large file, and knows whether all of it went out.
type fileWriter struct {
	site.ObjectWriter
	keep   func()
	failed error
}

// Write implements io.Writer.
func (w *fileWriter) Write(p []byte) (int, error) {
	w.keep()
	n, err := w.ObjectWriter.Write(p)
	if err != nil {
		w.failed = err
	}
	return n, err
}

// fileBody knows whether the last byte of a file was read.
type fileBody struct {
	io.ReadSeeker
	at, size int64
	ended    bool
	failed   error
}

// Read implements io.Reader.
func (b *fileBody) Read(p []byte) (int, error) {
	n, err := b.ReadSeeker.Read(p)
	b.at += int64(n)
	b.ended = b.ended || n > 0 && b.at == b.size
	if err != nil && !errors.Is(err, io.EOF) {
		b.failed = err
	}
	return n, err
}

// Seek implements io.Seeker.
func (b *fileBody) Seek(offset int64, whence int) (int64, error) {
	at, err := b.ReadSeeker.Seek(offset, whence)
	b.at = at
	return at, err
}

// streamedBody is a request body that may take hours, as long as something comes.
type streamedBody struct {
	body io.ReadCloser
	keep func()
}

// Read implements io.Reader.
func (b *streamedBody) Read(p []byte) (int, error) {
	b.keep()
	n, err := b.body.Read(p)
	if err != nil {
		b.keep()
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = &bodyError{err}
	}
	return n, err
}

// bodyError is why the rest of a body could not be read, such as a chunk that is none.
type bodyError struct{ err error }

// Error implements error.
func (b *bodyError) Error() string { return "read the body: " + b.err.Error() }

// Unwrap gives what went wrong.
func (b *bodyError) Unwrap() error { return b.err }

// Close implements io.Closer.
func (b *streamedBody) Close() error { return b.body.Close() }

// The names that PDOK has for the forms of objects. All of them are GML; gml names any.
const (
	formatGML     = "gml"
	formatCityGML = "citygml"
	formatStUFGeo = "stufgeo"
)

// datasetFormats lists the formats in which a dataset can be asked for: gml, and what the namespaces that it declares say
// its objects are. Objects go out in the form in which they were published, whatever the request calls it (MUT-25, MUT-51).
func datasetFormats(d store.Dataset) []string {
	formats := []string{formatGML}
	declared, err := ingest.Namespaces(d.Namespaces)
	if err != nil {
		return formats // the header of its files cannot be written either, which is told there
	}
	for _, n := range declared {
		switch {
		case strings.HasPrefix(n.URI, "http://www.opengis.net/citygml/"):
			formats = append(formats, formatCityGML)
		case strings.Contains(strings.ToLower(n.URI), "stuf"):
			formats = append(formats, formatStUFGeo)
		}
	}
	slices.Sort(formats[1:])
	return slices.Compact(formats)
}
