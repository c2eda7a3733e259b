package site

import (
	"net/http"

	"github.com/labstack/echo/v4"
	"schakel/delivery/trace"
)

// recordSpan records a span of each request to an API: the route and not the path or the query string, as the log.
func (a *App) recordSpan(next echo.HandlerFunc) echo.HandlerFunc {
	if a.Cfg.Traces == nil {
		return next
	}
	areas := APIs()
	return func(c echo.Context) error {
		if _, api := areaIn(areas, c.Request().URL.Path); !api {
			return next(c)
		}
		span := a.Cfg.Traces.Start(trace.Server, "", c.Request().Header.Get("Traceparent"))
		if span == nil {
			return next(c)
		}
		defer span.End()
		c.SetRequest(c.Request().WithContext(span.With(c.Request().Context())))
		err := next(c) // accessLog has answered an error
		status := c.Response().Status
		span.Rename(c.Request().Method + " " + c.Path())
		span.Set(
			trace.Attr{Key: "http.request.method", Value: c.Request().Method}, trace.Attr{Key: "http.route", Value: c.Path()},
			trace.Attr{Key: "http.response.status_code", Value: int64(status)}, trace.Attr{Key: "schakel.request.id", Value: RequestIDOf(c)},
		)
		code, _ := c.Get(contextProblem).(string)
		span.Set(trace.Attr{Key: "error.type", Value: code})
		if status >= http.StatusInternalServerError {
			span.Fail(code)
		}
		return err
	}
}
