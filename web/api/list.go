package api

import (
	"net/http"

	"github.com/labstack/echo/v4"
	"schakel/store"
	"schakel/web/site"
)

// AnswerList answers a page of a list as {name: [...]}, with Link and Total-Count. read gives the answers on the page that is
// asked for, and how many there are on all pages; wrong values of page and perPage are a 400 before it is called.
func AnswerList[A any](m *API, c echo.Context, name string, read func(page store.Page) ([]A, int, error)) error {
	page, err := site.APIPaging(c)
	if err != nil {
		return err
	}
	answers, total, err := read(page)
	if err != nil {
		return err
	}
	m.App.SetPagingHeaders(c, page, total)
	return c.JSON(http.StatusOK, map[string]any{name: answers})
}

// Each makes an answer of every row; of none an empty list, which JSON writes as [] and not as null.
func Each[R, A any](rows []R, answer func(R) A) []A {
	answers := make([]A, len(rows))
	for i, row := range rows {
		answers[i] = answer(row)
	}
	return answers
}

// NotNil makes an empty list of none, so that JSON has [] and not null.
func NotNil(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// NotNilMap makes an empty object of none, so that JSON has {} and not null.
func NotNilMap(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return m
}
