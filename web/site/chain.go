package site

import (
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"
)

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
