package web

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	"schakel/delivery/claimcheck"
	"schakel/store"
)

const objectsPath = "/events/v1/objects/"

// showObject answers data that is stored apart from its event, to the clients of those
// who may have the event: who published it, those it was delivered to or is meant
// for, and the own organisation. To others it is not there (guarantee G7).
func (m *machineAPI) showObject(c echo.Context) error {
	who, err := m.caller(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	o, err := m.DB.Object(ctx, c.Param("objectId"))
	if err != nil {
		return err
	}
	may, had, err := m.objectRights(ctx, who, o)
	switch {
	case err != nil:
		return err
	case may && o.GoneAt.IsZero():
		return serveObject(c, m.DB, o)
	case may || had:
		return objectGone()
	}
	return store.ErrNotFound
}

// objectRights reports whether a caller may have an object, or had it while its event
// was there.
func (m *machineAPI) objectRights(ctx context.Context, who caller, o store.Object) (may, had bool, err error) {
	if o.OwnerID == "" { // on its way in
		return false, false, nil
	}
	if who.partner.Own || who.client.ID == o.ClientID {
		return true, true, nil
	}
	if may, err = m.DB.MayReadEvent(ctx, o.OwnerID, who.partner.ID); may || err != nil {
		return may, may, err
	}
	had, err = m.DB.HadObject(ctx, o.ID, who.partner.ID)
	return false, had, err
}

func objectGone() error {
	return newProblem(http.StatusGone, "object-gone", "This data was removed with its event: it was kept as long as this chain keeps events. Ask the publisher of the event to send it again, if you still need it.")
}

// serveObject sends the bytes of an object as a file, whole or in part.
func serveObject(c echo.Context, db *store.DB, o store.Object) error {
	h := c.Response().Header()
	h.Set("Content-Type", o.ContentType)
	h.Set("Content-Disposition", `attachment; filename="`+o.ID+`"`)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", dataCSP)
	h.Set("Cache-Control", "no-store")
	setDigest(h, o.Digest)
	if asked := c.Request().Header.Get("Range"); !strings.HasPrefix(asked, "bytes=") {
		c.Request().Header.Del("Range") // other units are not known here (RFC 9110, 14.2)
	} else {
		c.Request().Header.Set("Range", withoutNone(asked, o.Size))
	}
	w := &objectWriter{ResponseWriter: c.Response()}
	body := claimcheck.Database{DB: db}.Open(c.Request().Context(), o)
	http.ServeContent(w, c.Request(), "", time.Time{}, body)
	if !w.refused {
		return nil
	}
	h.Set("Content-Range", "bytes */"+strconv.FormatInt(o.Size, 10))
	return rangeProblem(h)
}

// withoutNone writes ranges of the last 0 bytes as ones that begin behind the end. No byte is in either, so they cannot be
// satisfied (RFC 9110, 14.1.2); http.ServeContent would answer the first with 206.
func withoutNone(asked string, size int64) string {
	ranges := strings.Split(strings.TrimPrefix(asked, "bytes="), ",")
	for i, r := range ranges {
		if last, ok := strings.CutPrefix(strings.TrimSpace(r), "-"); ok && last != "" && strings.Trim(last, "0") == "" {
			ranges[i] = strconv.FormatInt(size, 10) + "-"
		}
	}
	return "bytes=" + strings.Join(ranges, ",")
}

// objectWriter keeps back the plain text with which http.ServeContent refuses a range.
type objectWriter struct {
	http.ResponseWriter
	refused bool
}

// WriteHeader implements http.ResponseWriter.
func (w *objectWriter) WriteHeader(status int) {
	if status == http.StatusRequestedRangeNotSatisfiable {
		w.refused = true
		return
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements io.Writer.
func (w *objectWriter) Write(p []byte) (int, error) {
	if w.refused {
		return len(p), nil
	}
	return w.ResponseWriter.Write(p)
}

func rangeProblem(h http.Header) error {
	p := newProblem(http.StatusRequestedRangeNotSatisfiable, "range-refused", "The data has no such range. Content-Range says how long it is.")
	for _, name := range []string{"Content-Type", "Content-Disposition", "ETag", "Repr-Digest", "Content-Length"} {
		h.Del(name)
	}
	return p
}
