package site

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	"schakel/delivery/claimcheck"
	"schakel/store"
)

// ServeObject sends the bytes of an object as a file, whole or in part.
func ServeObject(c echo.Context, db *store.DB, o store.Object) error {
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
	p := NewProblem(http.StatusRequestedRangeNotSatisfiable, "range-refused", "The data has no such range. Content-Range says how long it is.")
	for _, name := range []string{"Content-Type", "Content-Disposition", "ETag", "Repr-Digest", "Content-Length"} {
		h.Del(name)
	}
	return p
}
