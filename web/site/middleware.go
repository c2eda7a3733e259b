package site

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/static"
)

// HeaderRequestID carries the id under which the log knows a request. It is ours:
// one that came in is not believed.
const HeaderRequestID = "X-Request-Id"

// requestID gives each request an id, in the answer too, and its context the address that it came from, for the audit trail.
func requestID(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		c.Response().Header().Set(HeaderRequestID, "req_"+rand.Text())
		c.SetRequest(c.Request().WithContext(registry.WithAddress(c.Request().Context(), c.RealIP())))
		return next(c)
	}
}

// RequestIDOf is the id of this request.
func RequestIDOf(c echo.Context) string { return c.Response().Header().Get(HeaderRequestID) }

// accessLog logs one line a request: the route and not the path, because paths
// may hold one-time links, and never the query string, which may hold a token.
func (a *App) accessLog(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		began := a.Cfg.Now()
		a.noteForwarded(c.Request())
		if err := next(c); err != nil {
			c.Error(err)
		}
		if !a.Cfg.Log.Enabled(c.Request().Context(), slog.LevelInfo) {
			return nil // the attributes cost something
		}
		line := []slog.Attr{
			slog.String("id", RequestIDOf(c)),
			slog.String("method", c.Request().Method),
			slog.String("route", c.Path()),
			slog.Int("status", c.Response().Status),
			slog.Int64("bytes", c.Response().Size),
			slog.Duration("duration", a.Cfg.Now().Sub(began)),
			slog.String("address", c.RealIP()),
		}
		if who := a.whoAsked(c); who != "" {
			line = append(line, slog.String("actor", who))
		}
		line = append(line, traced(c))
		if code, refused := c.Get(contextProblem).(string); refused {
			line = append(line, slog.String("problem", code)) // what control was hit, as wrong-origin or rate-limited
		}
		a.Cfg.Log.LogAttrs(c.Request().Context(), slog.LevelInfo, "request", line...)
		return nil
	}
}

// panicError is a panic of a handler, with where it happened for the log.
type panicError struct {
	value any
	stack []byte
}

// Error implements error.
func (p *panicError) Error() string { return fmt.Sprintf("panic: %v\n%s", p.value, p.stack) }

// recoverPanics turns a panic into an error, so that one request cannot end the process.
func recoverPanics(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) (err error) {
		defer func() {
			if r := recover(); r != nil {
				if e, ok := r.(error); ok && errors.Is(e, http.ErrAbortHandler) {
					panic(r) // net/http's way to cut the connection
				}
				err = &panicError{value: r, stack: debug.Stack()}
			}
		}()
		return next(c)
	}
}

// DataCSP is the policy of answers that are not pages: a browser that shows one
// anyway loads and runs nothing.
const DataCSP = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; sandbox"

// securityHeaders sets what every answer carries. A handler may tighten them.
func (a *App) securityHeaders(next echo.HandlerFunc) echo.HandlerFunc {
	pages, areas := a.alwaysHeaders(), APIs()
	data := make(map[string]http.Header, len(areas))
	for _, area := range areas {
		data[area.Base] = a.dataHeaders(area)
	}
	return func(c echo.Context) error {
		headers := pages
		if area, ok := areaIn(areas, c.Request().URL.Path); ok {
			headers = data[area.Base]
		}
		maps.Copy(c.Response().Header(), headers)
		return next(c)
	}
}

// dataHeaders are the headers of every answer of an API. Their values are shared like those of alwaysHeaders.
func (a *App) dataHeaders(area APIArea) http.Header {
	h := a.alwaysHeaders()
	h.Set("Content-Security-Policy", DataCSP)
	h.Set("API-Version", area.version)
	h.Set("Cache-Control", "no-store") // of a catalogue or document, its handler sets better
	return clipped(h)
}

// alwaysHeaders are the headers of every answer. Their values are shared: whoever sets another one replaces the list.
func (a *App) alwaysHeaders() http.Header {
	h := make(http.Header)
	h.Set("X-Content-Type-Options", "nosniff")
	// same-origin and not no-referrer: with that, browsers send "Origin: null"
	// with our own forms, and the cross-origin check would refuse them.
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()")
	h.Set("Content-Security-Policy", static.ContentSecurityPolicy)
	if a.HTTPS() && a.Cfg.HSTSSubdomains {
		h.Set("Strict-Transport-Security", "max-age=31536000; includeSubDomains")
	} else if a.HTTPS() {
		h.Set("Strict-Transport-Security", "max-age=31536000")
	}
	return clipped(h)
}

// clipped are headers to which one can add without a trace in the lists they share.
func clipped(h http.Header) http.Header {
	for name, values := range h {
		h[name] = slices.Clip(values)
	}
	return h
}

// bodyLimit refuses a body of more than n bytes with 413, at once when the
// length is announced, and while it is read otherwise.
func bodyLimit(n int64) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			r := c.Request()
			if r.ContentLength > n {
				return &http.MaxBytesError{Limit: n}
			}
			r.Body = http.MaxBytesReader(c.Response(), r.Body, n)
			return next(c)
		}
	}
}

// lateBodyLimit is bodyLimit for who looks at other things first: a body that is
// announced as too large is refused at its first byte.
func lateBodyLimit(n int64) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			r := c.Request()
			if r.ContentLength > n {
				r.Body = refusedBody{r.Body, n}
			} else {
				r.Body = http.MaxBytesReader(c.Response(), r.Body, n)
			}
			return next(c)
		}
	}
}

// refusedBody is a body of more than limit bytes, of which none is read.
type refusedBody struct {
	io.Closer
	limit int64
}

// Read implements io.Reader.
func (b refusedBody) Read([]byte) (int, error) { return 0, &http.MaxBytesError{Limit: b.limit} }

// Slow gives routes that wait or carry large bodies more time than the server's
// own read and write time-outs.
func (a *App) Slow(limit time.Duration) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			if err := a.ExtendDeadlines(c, limit); err != nil {
				return err
			}
			return next(c)
		}
	}
}

// ExtendDeadlines gives a request that turns out to be large more time.
func (a *App) ExtendDeadlines(c echo.Context, limit time.Duration) error {
	rc := http.NewResponseController(c.Response())
	until := a.Cfg.Now().Add(limit)
	if err := errors.Join(rc.SetReadDeadline(until), rc.SetWriteDeadline(until)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return fmt.Errorf("lengthen deadlines: %w", err)
	}
	return nil
}

// sameOrigin refuses forms that another site posts with our cookie. It needs no
// token in the form: the browser sends the origin of the request.
func (a *App) sameOrigin(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if err := a.origin.Check(c.Request()); err != nil {
			return echo.NewHTTPError(http.StatusForbidden, "site.other-site").SetInternal(err)
		}
		return next(c)
	}
}

// trailingSlash sends a page address with a slash at the end to the one without.
// API addresses are not forgiving: they answer 404.
func trailingSlash(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		path := c.Request().URL.Path
		if path == "/" || !strings.HasSuffix(path, "/") {
			return next(c)
		}
		if _, api := FindAPI(path); api || c.Request().Method != http.MethodGet {
			return echo.ErrNotFound
		}
		// One slash in front, whatever came in: "//host/" would be another site.
		u := *c.Request().URL
		u.Scheme, u.Host, u.User = "", "", nil
		u.Path, u.RawPath = "/"+strings.Trim(path, "/\\"), ""
		return c.Redirect(http.StatusMovedPermanently, u.String())
	}
}

// headAsGet lets every GET route answer HEAD: net/http drops the body.
func headAsGet(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			r = r.WithContext(context.WithValue(r.Context(), headKey{}, true)) // a copy: net/http looks at the method of its own
			r.Method = http.MethodGet
		}
		next.ServeHTTP(w, r)
	})
}

type headKey struct{}

// AskedForHead reports whether a request is answered without its body, so that a large one need not be read.
func AskedForHead(ctx context.Context) bool { return ctx.Value(headKey{}) != nil }

// together puts a handler behind middleware, the first of which sees a request first. It is done when routes are made:
// echo does it again for each request, which costs more than most of the middleware.
func together(h echo.HandlerFunc, with ...echo.MiddlewareFunc) echo.HandlerFunc {
	for _, around := range slices.Backward(with) {
		h = around(h)
	}
	return h
}

// frame serves all routes behind what every request goes through.
type frame struct {
	echo  *echo.Echo
	serve echo.HandlerFunc
}

// newFrame makes a frame: before comes ahead of the router, after behind it. Routes may be added to the echo afterwards.
func newFrame(e *echo.Echo, before, after []echo.MiddlewareFunc) *frame {
	routed := together(func(c echo.Context) error { return c.Handler()(c) }, after...)
	route := func(c echo.Context) error {
		r := c.Request()
		e.Router().Find(r.Method, echo.GetPath(r), c)
		return routed(c)
	}
	return &frame{echo: e, serve: together(route, before...)}
}

// ServeHTTP implements http.Handler.
func (f *frame) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := f.echo.AcquireContext()
	c.Reset(r, w)
	if err := f.serve(c); err != nil {
		f.echo.HTTPErrorHandler(err, c)
	}
	f.echo.ReleaseContext(c)
}

// maxDrained bounds how much of an unread body is read and dropped before the answer goes out: a little more than
// the largest document by default. The time for it is that of the server for any body.
const maxDrained = 32 << 20

const contextBody = "body"

// rememberBody keeps the body as it came, before anything that limits it.
func rememberBody(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if r := c.Request(); r.Body != nil && r.Body != http.NoBody {
			c.Set(contextBody, r.Body)
		}
		return next(c)
	}
}

// drainBody reads on what is left of a body that is refused. A client that first sends all and then reads would find the
// connection broken, and never learn why; and the connection can be used again (CE-32). A client that asks first (Expect:
// 100-continue) sends nothing after a refusal.
func drainBody(c echo.Context) {
	body, ok := c.Get(contextBody).(io.Reader)
	if !ok || c.Request().Header.Get("Expect") != "" {
		return
	}
	_, _ = io.CopyN(io.Discard, body, maxDrained)
}

// DeadlineExtender returns a function that keeps the connection open for another patience from each call on; callers call
// it whenever bytes went over the line.
func (a *App) DeadlineExtender(c echo.Context) func() {
	var last time.Time
	return func() {
		if now := a.Cfg.Now(); last.IsZero() || now.Sub(last) >= extendEvery || now.Before(last) {
			last = now
			_ = a.ExtendDeadlines(c, Patience) // without it the times of the server hold
		}
	}
}

// EndReadOnDone ends the reading of a body at once when the context of its request ends, until the function that it
// answers is called. That function waits for an end under way, which must not touch the connection after its request.
func (a *App) EndReadOnDone(c echo.Context) func() {
	done := make(chan struct{})
	stop := context.AfterFunc(c.Request().Context(), func() {
		defer close(done)
		_ = http.NewResponseController(c.Response()).SetReadDeadline(a.Cfg.Now()) // without it the times of the server hold
	})
	return func() {
		if !stop() {
			<-done
		}
	}
}
