package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/labstack/echo/v4"
	"schakel/registry/jsonpointer"
	"schakel/templates/i18n"
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
		return site.NewProblem(http.StatusUnsupportedMediaType, "not-json", "api.not-json")
	}
	body, err := ReadAll(c.Request().Body)
	if err != nil {
		return err
	}
	if !utf8.Valid(body) {
		return site.NewProblem(http.StatusBadRequest, "json-syntax", "api.not-utf8")
	}
	if site.EscapesNUL(body) {
		return site.NewProblem(http.StatusBadRequest, "json-syntax", "api.nul")
	}
	if err := CheckMembers(body, reflect.TypeOf(dest), ""); err != nil {
		return err
	}
	return DecodeStrict(body, dest)
}

// ReadReason reads a body that says why; one that is left out is empty.
func ReadReason(c echo.Context) (string, error) {
	var in struct {
		Reason string `json:"reason"`
	}
	if err := ReadJSON(c, &in); err != nil {
		return "", err
	}
	reason := site.Clean(in.Reason)
	if len(reason) > site.MaxReasonBytes {
		return "", site.FieldProblem("reason", site.ReasonError(reason))
	}
	return reason, nil
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
			return site.NewProblem(http.StatusBadRequest, "json-syntax", "api.json-more")
		}
		return nil
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && wrong.Field != "" {
		return site.FieldProblem(strings.ReplaceAll(wrong.Field, ".", "/"), i18n.M("api.json-type", wrong.Value))
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return site.FieldProblem(strings.Trim(name, `"`), "api.member-unknown")
	}
	return site.NewProblem(http.StatusBadRequest, "json-syntax", "api.json-unreadable")
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
	p := site.NewProblem(http.StatusBadRequest, "body-broken", "api.body-broken")
	return errors.Join(p, err)
}

// CheckMembers refuses a JSON text that encoding/json would read as something else than it says: a member given twice, of
// which only the last counts; one whose name differs in case, which it takes for ours; null, which leaves a member as if it
// was absent, so that a filter selects more than was meant; and a text that is no object. shape is the type it is decoded into:
// the members of a map may have any names, and a json.RawMessage is left to its own reader. Syntax is left to the reader; base is the pointer of the text.
func CheckMembers(body []byte, shape reflect.Type, base string) error {
	w := memberWalk{decoder: json.NewDecoder(bytes.NewReader(body))}
	w.decoder.UseNumber()
	w.value(shape, base)
	return w.wrong
}

// memberWalk goes through a JSON text once and stops at the first thing that is wrong.
type memberWalk struct {
	decoder *json.Decoder
	depth   int
	wrong   error
}

// maxDepth is far more than any body of ours needs.
const maxDepth = 100

var rawMessage = reflect.TypeFor[json.RawMessage]()

// value reads one value; false ends the walk.
func (w *memberWalk) value(shape reflect.Type, at string) bool {
	if w.depth++; w.depth > maxDepth {
		w.wrong = notReadable("api.json-deep")
		return false
	}
	defer func() { w.depth-- }()
	if shape == rawMessage {
		var skipped json.RawMessage
		return w.decoder.Decode(&skipped) == nil
	}
	shape = plain(shape)
	token, err := w.decoder.Token()
	if err != nil {
		return false
	}
	object := shape != nil && shape.Kind() == reflect.Struct
	switch {
	case token == json.Delim('{'):
		return w.object(shape, at)
	case token == json.Delim('['):
		return w.array(shape, at)
	case at == "" && object:
		w.wrong = notReadable("api.json-object")
		return false
	case token == nil && shape != nil:
		return w.refuse(at, "api.json-null")
	}
	return true
}

func notReadable(why i18n.Message) error {
	return site.NewProblem(http.StatusBadRequest, "json-syntax", why)
}

func (w *memberWalk) object(shape reflect.Type, at string) bool {
	seen := make(map[string]bool)
	members := membersOf(shape)
	for w.decoder.More() {
		token, err := w.decoder.Token()
		name, ok := token.(string)
		if err != nil || !ok {
			return false
		}
		here := at + "/" + jsonpointer.Escape(name)
		if seen[name] {
			return w.refuse(here, "api.member-twice")
		}
		seen[name] = true
		inner, known := members[name]
		if members != nil && !known {
			return w.refuse(here, "api.member-unknown")
		}
		if shape != nil && shape.Kind() == reflect.Map {
			inner = shape.Elem()
		}
		if !w.value(inner, here) {
			return false
		}
	}
	_, err := w.decoder.Token()
	return err == nil
}

func (w *memberWalk) array(shape reflect.Type, at string) bool {
	var inner reflect.Type
	if shape != nil && shape.Kind() == reflect.Slice {
		inner = shape.Elem()
	}
	for i := 0; w.decoder.More(); i++ {
		if !w.value(inner, at+"/"+strconv.Itoa(i)) {
			return false
		}
	}
	_, err := w.decoder.Token()
	return err == nil
}

func (w *memberWalk) refuse(at string, text i18n.Message) bool {
	w.wrong = site.FieldProblem(strings.TrimPrefix(at, "/"), text)
	return false
}

// plain returns the type at the end of a chain of pointers.
func plain(shape reflect.Type) reflect.Type {
	for shape != nil && shape.Kind() == reflect.Pointer {
		shape = shape.Elem()
	}
	return shape
}

// membersOf are the members of a struct by their name in JSON; nil for what is no struct.
func membersOf(shape reflect.Type) map[string]reflect.Type {
	if shape == nil || shape.Kind() != reflect.Struct {
		return nil
	}
	members := make(map[string]reflect.Type)
	for _, field := range reflect.VisibleFields(shape) {
		if field.Anonymous || !field.IsExported() {
			continue
		}
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" {
			name = field.Name
		}
		members[name] = field.Type
	}
	return members
}
