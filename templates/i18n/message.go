package i18n

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Message is a text that is written for its reader later: a key of the catalogues, and its arguments. It may be stored as it is,
// and compared. A text that is no key is shown as it stands.
type Message string

// separator stands between the key and the arguments of a message, raw before a text that is shown as it stands.
const (
	separator = "\x1f"
	raw       = "\x1e"
)

// argument is an argument of a message as it is stored; one member is set.
type argument struct {
	S *string    `json:"s,omitempty"`
	N *int64     `json:"n,omitempty"`
	F *float64   `json:"f,omitempty"`
	M *Message   `json:"m,omitempty"`
	T *time.Time `json:"t,omitempty"`
	D []int64    `json:"d,omitempty"` // lengths of time, nanoseconds
}

// M makes the message of a key and its arguments: texts, whole numbers, fractions, moments, lengths of time, lists of these, and other messages. Any other
// argument is written as fmt does.
func M(key string, args ...any) Message {
	if len(args) == 0 {
		return Message(key)
	}
	list := make([]argument, len(args))
	for i, arg := range args {
		list[i] = stored(arg)
	}
	text, err := json.Marshal(list)
	if err != nil {
		panic(fmt.Sprintf("message %s: %v", key, err)) // NaN
	}
	return Message(key + separator + string(text))
}

// Raw makes a message of a text that is in no catalogue, such as what a partner typed.
func Raw(text string) Message { return Message(raw + text) }

func stored(arg any) argument {
	switch v := arg.(type) {
	case string:
		return argument{S: &v}
	case Message:
		return argument{M: &v}
	case time.Time:
		return argument{T: &v}
	case time.Duration:
		return argument{D: []int64{int64(v)}}
	case []time.Duration:
		a := argument{D: make([]int64, len(v))}
		for i, d := range v {
			a.D[i] = int64(d)
		}
		return a
	case float64:
		return argument{F: &v}
	case int:
		n := int64(v)
		return argument{N: &n}
	case int64:
		return argument{N: &v}
	case int32:
		n := int64(v)
		return argument{N: &n}
	}
	s := fmt.Sprint(arg)
	return argument{S: &s}
}

func (a argument) value(l *Locale) any {
	switch {
	case a.N != nil:
		return *a.N
	case a.F != nil:
		return *a.F
	case a.M != nil:
		return l.Text(*a.M)
	case a.T != nil:
		return l.Time(*a.T)
	case len(a.D) > 0:
		words := make([]string, len(a.D))
		for i, d := range a.D {
			words[i] = l.Duration(time.Duration(d))
		}
		return strings.Join(words, ", ")
	case a.S != nil:
		return *a.S
	}
	return ""
}

// Key is the key of a message; empty for a text that is shown as it stands.
func (m Message) Key() string {
	if strings.HasPrefix(string(m), raw) {
		return ""
	}
	key, _, _ := strings.Cut(string(m), separator)
	return key
}

// Without returns a message of two messages, such as M("verdict.and", a, b), without the second when that is last. Any other stays as it is.
func (m Message) Without(last Message) Message {
	_, rest, _ := strings.Cut(string(m), separator)
	var list []argument
	if json.Unmarshal([]byte(rest), &list) != nil || len(list) != 2 || list[0].M == nil || list[1].M == nil || *list[1].M != last {
		return m
	}
	return *list[0].M
}

// Text writes a message for its reader.
func (l *Locale) Text(m Message) string {
	text := string(m)
	if plain, ok := strings.CutPrefix(text, raw); ok {
		return plain
	}
	key, rest, ok := strings.Cut(text, separator)
	if !ok {
		return l.T(text)
	}
	var list []argument
	if err := json.Unmarshal([]byte(rest), &list); err != nil {
		return key // stored by hand; better half of it than nothing
	}
	args := make([]any, len(list))
	for i, a := range list {
		args[i] = a.value(l)
	}
	return l.T(key, args...)
}

// In writes a message for the reader of a context.
func (m Message) In(ctx context.Context) string { return From(ctx).Text(m) }

// String is the message in English, for logs, commands and tests.
func (m Message) String() string { return english().Text(m) }

// T writes the text of a key for the reader of a context. A key that is in no catalogue is written itself, as a format.
func T(ctx context.Context, key string, args ...any) string { return From(ctx).T(key, args...) }

// Of writes the text of family.name, or the name itself when that is no key: for words that are stored, such as states.
func Of(ctx context.Context, family, name string) string { return From(ctx).Of(family, name) }

// Of writes the text of family.name, or the name itself when that is no key.
func (l *Locale) Of(family, name string) string {
	if text, ok := l.texts.plain[family+"."+name]; ok {
		return text
	}
	return name
}

// Word is the message of family.name, or the name itself when that is no key: [Of] for a reader who is known later.
func Word(family, name string) Message {
	if Has(family, name) {
		return Message(family + "." + name)
	}
	return Raw(name)
}

// Has reports whether family.name is a key.
func Has(family, name string) bool {
	t := english().texts
	_, plain := t.plain[family+"."+name]
	_, formatted := t.formats[family+"."+name]
	return plain || formatted
}

// T writes the text of a key. Arguments that are messages are written first, moments as [Locale.Time] does.
func (l *Locale) T(key string, args ...any) string {
	if text, ok := l.texts.plain[key]; ok {
		return text
	}
	for i, arg := range args {
		switch v := arg.(type) {
		case Message:
			args[i] = l.Text(v)
		case time.Time:
			args[i] = l.Time(v)
		}
	}
	if _, ok := l.texts.formats[key]; !ok && len(args) == 0 {
		return key
	}
	return l.printer.Sprintf(key, args...)
}
