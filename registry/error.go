package registry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"schakel/store"
	"schakel/templates/i18n"
)

// Codes of an Error: what kind of refusal it is.
const (
	CodeInvalid   = "invalid"   // the input is wrong; Fields names the fields
	CodeForbidden = "forbidden" // the asker may not do this
	CodeConflict  = "conflict"  // the state it is in does not allow this
	CodeNotFound  = "not-found" // there is no such thing, or it is not the asker's

	CodeSecondPerson = "second-person" // two people must do this in the portal, by setting

	CodeGone = "version-withdrawn" // the version was published, and is withdrawn

	CodeDigestMissing = "digest-missing" // the request does not name the bytes that it is about
	CodeDraftChanged  = "draft-changed"  // the draft holds other bytes than the request names
)

// Error is a refusal with a text that may be shown to whoever asked. Anything
// that is not an Error is a failure of ours, and is not shown.
type Error struct {
	Code    string
	Message i18n.Message
	// Fields maps the name of a field of the form or request to its problem.
	Fields map[string]i18n.Message
}

// Error implements error.
func (e *Error) Error() string {
	if len(e.Fields) == 0 {
		return e.Code + ": " + e.Message.String()
	}
	names := make([]string, 0, len(e.Fields))
	for name := range e.Fields {
		names = append(names, name)
	}
	slices.Sort(names)
	return e.Code + ": " + e.Message.String() + " (" + strings.Join(names, ", ") + ")"
}

// NotFound makes the refusal of something that is not there, or is not the asker's.
func NotFound(what string) error {
	text := i18n.M("registry.not-found-other", what)
	if name := strings.ReplaceAll(what, " ", "-"); i18n.Has("registry.not-found", name) {
		text = i18n.Word("registry.not-found", name)
	}
	return &Error{Code: CodeNotFound, Message: text}
}

// Explained is an error with a text that may be shown.
type Explained struct{ Message i18n.Message }

// Error implements error.
func (e Explained) Error() string { return e.Message.String() }

// Explain gives the text of an error that may be shown: its own message, or what it says as a sentence.
func Explain(err error) i18n.Message {
	if e, ok := errors.AsType[Explained](err); ok {
		return e.Message
	}
	return i18n.Raw(AsSentence(err.Error()))
}

// Conflict makes the refusal of what the state of something does not allow.
func Conflict(key string, args ...any) error {
	return &Error{Code: CodeConflict, Message: i18n.M(key, args...)}
}

// Found gives the error of a look-up its meaning for whoever asked.
func Found(what string, err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return NotFound(what)
	}
	if err != nil {
		return fmt.Errorf("find %s: %w", what, err)
	}
	return nil
}

// Problems collects what is wrong with input, by field.
type Problems map[string]i18n.Message

// Add notes a problem; the first one of a field stays.
func (p Problems) Add(field string, text i18n.Message) {
	if _, there := p[field]; !there && text != "" {
		p[field] = text
	}
}

// AddressProblem tells an error of Config.CheckURL, in the language of the reader where it has a text for that.
func AddressProblem(err error) i18n.Message {
	if told, ok := errors.AsType[interface {
		error
		Message() i18n.Message
	}](err); ok {
		return told.Message()
	}
	return i18n.Raw(err.Error())
}

// AddIf notes a problem when input is bad.
func (p Problems) AddIf(bad bool, field string, text i18n.Message) {
	if bad {
		p.Add(field, text)
	}
}

// Err refuses the input; nil without problems.
func (p Problems) Err() error {
	if len(p) == 0 {
		return nil
	}
	return Invalid(p)
}

// CheckLine returns the problem of a text of one line, of least to most characters; empty when it has none.
func CheckLine(text string, least, most int) i18n.Message {
	switch n := utf8.RuneCountInString(text); {
	case n < least && least == 1:
		return "registry.fill-in"
	case n < least:
		return i18n.M("registry.too-short", least)
	case n > most:
		return i18n.M("registry.too-long", most)
	case !utf8.ValidString(text) || strings.ContainsFunc(text, unseen) || least > 0 && !strings.ContainsFunc(text, seen):
		return "registry.plain-line"
	}
	return ""
}

func seen(r rune) bool { return unicode.IsGraphic(r) && !unicode.IsSpace(r) }

// unseen holds for control characters and those of format, such as a space without width, or one that turns the direction of what
// follows, other names included. The two joiners belong to words of some scripts and to emoji.
func unseen(r rune) bool {
	const nonJoiner, joiner = '\u200c', '\u200d'
	return r != nonJoiner && r != joiner && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

// CheckProse is line for a text that may have several lines.
func CheckProse(text string, least, most int) i18n.Message {
	return CheckLine(strings.NewReplacer("\r\n", " ", "\n", " ", "\t", " ").Replace(text), least, most)
}

// CheckReason refuses an unfit reason of a decision; the partner reads the reason.
func CheckReason(reason string, needed bool) error {
	least := 0
	if needed {
		least = 3
	}
	p := Problems{}
	p.Add("reason", CheckProse(reason, least, 1000))
	return p.Err()
}

// Invalid makes the refusal of input, with what is wrong by field.
func Invalid(fields map[string]i18n.Message) error {
	return &Error{Code: CodeInvalid, Message: "registry.look-again", Fields: fields}
}

// Forbidden makes the refusal of what the asker may not do.
func Forbidden(key string, args ...any) error {
	return &Error{Code: CodeForbidden, Message: i18n.M(key, args...)}
}

// Wrap adds what was attempted to an error; nil stays nil.
func Wrap(attempted string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", attempted, err)
}

// Visible answers NotFound for a row of a partner that is out of scope, and gives the error of its look-up the meaning
// that Found does. what names the row to people.
func Visible[T any](scope Scope, what string, row T, partnerID string, err error) (T, error) {
	if err == nil && !scope.Sees(partnerID) {
		err = store.ErrNotFound
	}
	if err != nil {
		return *new(T), Found(what, err)
	}
	return row, nil
}

// Locked reads a row of a table by its id with get, and keeps others from changing it until the transaction ends.
func Locked[T any](ctx context.Context, tx *store.Tx, what, table, id string, get func(context.Context, string) (T, error)) (row T, err error) {
	if err = tx.Lock(ctx, table, id); err == nil {
		row, err = get(ctx, id)
	}
	return row, Found(what, err)
}
