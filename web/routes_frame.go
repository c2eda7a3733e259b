package web

import (
	"github.com/labstack/echo/v4"
	"schakel/static"
)

// routesFrame registers what is there for everyone.
func (a *App) routesFrame() {
	a.echo.GET("/static/*", echo.WrapHandler(static.Handler()))
}
