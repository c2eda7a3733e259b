package site

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	"schakel/delivery/claimcheck"
	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
	"schakel/templates/ui"
)

// ServeObject sends the bytes of an object as a file, whole or in part.
func ServeObject(c echo.Context, db *store.DB, o store.Object) error {
	erased, err := db.DataErased(c.Request().Context(), o.DataKeys)
	if err != nil {
		return err
	}
	if erased {
		return UnreadProblem(store.ErrErased)
	}
	h := c.Response().Header()
	h.Set("Content-Type", o.ContentType)
	h.Set("Content-Disposition", `attachment; filename="`+o.ID+`"`)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", DataCSP)
	h.Set("Cache-Control", "no-store")
	SetDigest(h, o.Digest)
	if asked := c.Request().Header.Get("Range"); !strings.HasPrefix(asked, "bytes=") {
		c.Request().Header.Del("Range") // other units are not known here (RFC 9110, 14.2)
	} else {
		c.Request().Header.Set("Range", WithoutNone(asked, o.Size))
	}
	w := &ObjectWriter{ResponseWriter: c.Response()}
	body := claimcheck.Database{DB: db}.Open(c.Request().Context(), o)
	http.ServeContent(w, c.Request(), "", time.Time{}, body)
	if !w.Refused {
		return nil
	}
	h.Set("Content-Range", "bytes */"+strconv.FormatInt(o.Size, 10))
	return RangeProblem(h)
}

// WithoutNone writes ranges of the last 0 bytes as ones that begin behind the end. No byte is in either, so they cannot be
// satisfied (RFC 9110, 14.1.2); http.ServeContent would answer the first with 206.
func WithoutNone(asked string, size int64) string {
	ranges := strings.Split(strings.TrimPrefix(asked, "bytes="), ",")
	for i, r := range ranges {
		if last, ok := strings.CutPrefix(strings.TrimSpace(r), "-"); ok && last != "" && strings.Trim(last, "0") == "" {
			ranges[i] = strconv.FormatInt(size, 10) + "-"
		}
	}
	return "bytes=" + strings.Join(ranges, ",")
}

// ObjectWriter keeps back the plain text with which http.ServeContent refuses a range.
type ObjectWriter struct {
	http.ResponseWriter
	Refused bool
}

// WriteHeader implements http.ResponseWriter.
func (w *ObjectWriter) WriteHeader(status int) {
	if status == http.StatusRequestedRangeNotSatisfiable {
		w.Refused = true
		return
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements io.Writer.
func (w *ObjectWriter) Write(p []byte) (int, error) {
	if w.Refused {
		return len(p), nil
	}
	return w.ResponseWriter.Write(p)
}

// RangeProblem answers a range that the data does not have.
func RangeProblem(h http.Header) error {
	p := NewProblem(http.StatusRequestedRangeNotSatisfiable, "range-refused", "site.range-refused")
	for _, name := range []string{"Content-Type", "Content-Disposition", "ETag", "Repr-Digest", "Content-Length"} {
		h.Del(name)
	}
	return p
}

// SendObject sends the oversize data of an event as a file, with an entry in the audit trail, which is the affair of the partner named.
func (p *Portal) SendObject(c echo.Context, eventID, partnerID string) error {
	objects, err := p.DB.ObjectsOf(c.Request().Context(), eventID)
	if err != nil {
		return err
	}
	if len(objects) == 0 || !objects[0].GoneAt.IsZero() {
		return store.ErrNotFound
	}
	e, err := p.DB.Event(c.Request().Context(), eventID)
	if err == nil {
		err = p.NoteEvent(c.Request().Context(), Actor(c), registry.ActionDataDownloaded, e, cmp.Or(partnerID, e.PartnerID))
	}
	if err != nil {
		return err
	}
	o := objects[0]
	o.ContentType = echo.MIMEOctetStream // of a stranger: no browser shows it
	return ServeObject(c, p.DB, o)
}

// ObjectView shows the data of an event that is stored apart; nil when its data is in it.
func (p *Portal) ObjectView(ctx context.Context, eventID, download string) (*ui.ObjectView, error) {
	objects, err := p.DB.ObjectsOf(ctx, eventID)
	if err != nil || len(objects) == 0 {
		return nil, err
	}
	o := objects[0]
	v := &ui.ObjectView{
		ID: o.ID, Type: o.ContentType, Digest: hex.EncodeToString(o.Digest), Size: o.Size, Download: download,
		Goes: i18n.T(ctx, "site.object-kept"),
	}
	erased, err := p.DB.DataErased(ctx, o.DataKeys)
	if err != nil {
		return nil, err
	}
	if erased {
		v.Download, v.Goes = "", i18n.T(ctx, "site.data-erased")
	} else if !o.GoneAt.IsZero() {
		v.Download, v.Goes = "", i18n.T(ctx, "site.object-gone", o.GoneAt.Time)
	}
	return v, nil
}

// MatchesTag reports whether If-None-Match names a tag, compared weakly as
// RFC 9110, 13.1.2 asks: the asker has the document already, and gets a 304.
func MatchesTag(header http.Header, tag string) bool {
	for _, line := range header.Values("If-None-Match") {
		for _, given := range strings.Split(line, ",") {
			given = strings.TrimPrefix(strings.TrimSpace(given), "W/")
			if given == "*" || given == tag {
				return true
			}
		}
	}
	return false
}

// SetDigests sets the strong ETag and the Repr-Digest of the bytes of an answer.
func SetDigests(h http.Header, content []byte) (tag string) {
	sum := sha256.Sum256(content)
	return SetDigest(h, sum[:])
}

// SetDigest is setDigests for bytes of which the SHA-256 is known.
func SetDigest(h http.Header, sum []byte) (tag string) {
	tag = `"sha256:` + hex.EncodeToString(sum) + `"`
	h.Set("ETag", tag)
	h.Set("Repr-Digest", "sha-256=:"+base64.StdEncoding.EncodeToString(sum)+":")
	return tag
}
