package api

import (
	"github.com/labstack/echo/v4"
	"schakel/templates/i18n"
)

// Locale is the language of a text in an answer: what the client accepts, or English. Problems are written in it by themselves.
func Locale(c echo.Context) *i18n.Locale {
	lang, _ := i18n.Accepted(c.Request().Header.Get("Accept-Language"))
	return i18n.NewLocale(lang, nil)
}
