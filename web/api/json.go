package api

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
	"schakel/web/site"
)

// MaxJSONBytes bounds the small JSON bodies of the APIs.
const MaxJSONBytes = 64 << 10

// ReadJSON reads a JSON object into dest, a pointer to a struct. Members that
// are not known are refused, because a filter with a spelling mistake would
// select everything; so is the rest of what checkMembers names. Errors are a 400 or
// a 415.
func ReadJSON(c echo.Context, dest any) error {
	media, _, err := mime.ParseMediaType(c.Request().Header.Get("Content-Type"))
	if err != nil || media != "application/json" && media != "application/merge-patch+json" {
		return site.NewProblem(http.StatusUnsupportedMediaType, "not-json", "Send the body as application/json.")
	}
	body, err := ReadAll(c.Request().Body)
	if err != nil {
		return err
	}
	if !utf8.Valid(body) {
		return site.NewProblem(http.StatusBadRequest, "json-syntax", "The body is not UTF-8.")
	}
	if site.EscapesNUL(body) {
		return site.NewProblem(http.StatusBadRequest, "json-syntax", `The body has the character U+0000, written as \u0000. Leave that out.`)
	}
	if err := CheckMembers(body, reflect.TypeOf(dest), ""); err != nil {
		return err
	}
	return DecodeStrict(body, dest)
}

// ReadOptionalJSON is readJSON for a body that may be absent.
func ReadOptionalJSON(c echo.Context, dest any) error {
	if c.Request().ContentLength == 0 {
		return nil
	}
	return ReadJSON(c, dest)
}

// DecodeStrict reads a JSON body into target; unknown, repeated and misspelt members are refused with their place.
func DecodeStrict(body []byte, dest any) error {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(dest)
	if err == nil {
		if _, end := decoder.Token(); !errors.Is(end, io.EOF) {
			return site.NewProblem(http.StatusBadRequest, "json-syntax", "There is more after the JSON object; send one object.")
		}
		return nil
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && wrong.Field != "" {
		return site.FieldProblem(strings.ReplaceAll(wrong.Field, ".", "/"), "this must not be a JSON "+wrong.Value)
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return site.FieldProblem(strings.Trim(name, `"`), "there is no such member here; look for a spelling mistake")
	}
	return site.NewProblem(http.StatusBadRequest, "json-syntax", "The body is not a JSON object that can be read.")
}

// ReadAll reads a body that the group bounds.
func ReadAll(r io.Reader) ([]byte, error) {
	body, err := io.ReadAll(r)
	if err != nil {
		if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
			return nil, err
		}
		return nil, BrokenBody(err)
	}
	return body, nil
}

// BrokenBody is the answer to a body that ends before its time.
func BrokenBody(err error) error {
	p := site.NewProblem(http.StatusBadRequest, "body-broken", "The body broke off before its end. Send the request again.")
	return errors.Join(p, err)
}
