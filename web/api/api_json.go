package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/labstack/echo/v4"
)

// maxJSONBytes bounds the small JSON bodies of the APIs.
const maxJSONBytes = 64 << 10

// readJSON reads a JSON object into dest, a pointer to a struct. Members that
// are not known are refused, because a filter with a spelling mistake would
// select everything; so is the rest of what checkMembers names. Errors are a 400 or
// a 415.
func readJSON(c echo.Context, dest any) error {
	media, _, err := mime.ParseMediaType(c.Request().Header.Get("Content-Type"))
	if err != nil || media != "application/json" && media != "application/merge-patch+json" {
		return newProblem(http.StatusUnsupportedMediaType, "not-json", "Send the body as application/json.")
	}
	body, err := readAll(c.Request().Body)
	if err != nil {
		return err
	}
	if !utf8.Valid(body) {
		return newProblem(http.StatusBadRequest, "json-syntax", "The body is not UTF-8.")
	}
	if escapesNUL(body) {
		return newProblem(http.StatusBadRequest, "json-syntax", `The body has the character U+0000, written as \u0000. Leave that out.`)
	}
	if err := checkMembers(body, reflect.TypeOf(dest), ""); err != nil {
		return err
	}
	return decodeStrict(body, dest)
}

// readOptionalJSON is readJSON for a body that may be absent.
func readOptionalJSON(c echo.Context, dest any) error {
	if c.Request().ContentLength == 0 {
		return nil
	}
	return readJSON(c, dest)
}

func decodeStrict(body []byte, dest any) error {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(dest)
	if err == nil {
		if _, end := decoder.Token(); !errors.Is(end, io.EOF) {
			return newProblem(http.StatusBadRequest, "json-syntax", "There is more after the JSON object; send one object.")
		}
		return nil
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && wrong.Field != "" {
		return fieldProblem(strings.ReplaceAll(wrong.Field, ".", "/"), "this must not be a JSON "+wrong.Value)
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return fieldProblem(strings.Trim(name, `"`), "there is no such member here; look for a spelling mistake")
	}
	return newProblem(http.StatusBadRequest, "json-syntax", "The body is not a JSON object that can be read.")
}
