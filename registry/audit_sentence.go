package registry

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"

	"schakel/store"
	"schakel/templates/i18n"
)

// part matches a part of a sentence that stands there only when a member of the details is there: [host? at {host}], or with what
// stands there else: [partner? of {partner}| {object}].
var part = regexp.MustCompile(`\[(\w+)\?([^|\]]*)(?:\|([^\]]*))?\]`)

// Sentence describes an entry to the reader of a context, such as "Anna de Vries approved the subscription of Scholengroep Noord to
// nl.example.student.enrolled at endpoint Main." An action without a text is told as it is named.
func Sentence(ctx context.Context, a store.Audit) string {
	if i18n.Has("audit", a.Action) {
		return SentenceOf(ctx, a, i18n.Of(ctx, "audit", a.Action))
	}
	return SentenceOf(ctx, a, "{actor} "+otherAction(a))
}

// SentenceOf describes an entry with a text of the catalogues, in which the entry fills in the words between braces. A reason follows.
func SentenceOf(ctx context.Context, a store.Audit, text string) string {
	d := Details{}
	_ = json.Unmarshal([]byte(a.Detail), &d) // an entry without readable details is told without
	if a.Address != "" {
		d["address"] = a.Address
	}
	text = part.ReplaceAllStringFunc(text, func(found string) string {
		m := part.FindStringSubmatch(found)
		if d.text(m[1]) != "" {
			return m[2]
		}
		return m[3]
	})
	who := a.ActorName
	if who == "" {
		who = i18n.T(ctx, "audit.someone")
	}
	text = strings.NewReplacer(
		"{actor}", who, "{object}", nameOf(a), "{partner}", d.text("partner"), "{endpoint}", d.text("endpoint"), "{host}", d.text("host"), "{address}", d.text("address"), "{factor}", d.text("factor"),
		"{types}", d.list(ctx, "types"), "{scopes}", d.list(ctx, "scopes"), "{sources}", d.list(ctx, "sources"),
		"{settings}", d.list(ctx, "settings"), "{changes}", d.all(ctx, "changes"),
		"{role}", i18n.Of(ctx, "registry.role", d.text("role")), "{was}", i18n.Of(ctx, "registry.role", d.text("was")),
		"{from}", d.text("from"), "{to}", d.text("to"), "{sunset}", d.text("sunset"),
	).Replace(text)
	text = strings.Join(strings.Fields(text), " ")
	if reason := d.text("reason"); reason != "" {
		return i18n.T(ctx, "audit.with-reason", text, i18n.Message(reason))
	}
	return i18n.T(ctx, "audit.sentence", text)
}

// AuditDetail gives the details of an entry as JSON, with what is a message written in English.
func AuditDetail(a store.Audit) string {
	d := Details{}
	if err := json.Unmarshal([]byte(a.Detail), &d); err != nil {
		return a.Detail
	}
	changed := false
	write := func(v any) any {
		text, _ := v.(string)
		if written := i18n.Message(text).String(); written != text {
			changed = true
			return written
		}
		return v
	}
	for _, name := range []string{"reason", "changes", "settings"} {
		if items, ok := d[name].([]any); ok {
			for i := range items {
				items[i] = write(items[i])
			}
		} else if _, ok := d[name].(string); ok {
			d[name] = write(d[name])
		}
	}
	if !changed {
		return a.Detail
	}
	text, err := json.Marshal(d)
	if err != nil {
		return a.Detail
	}
	return string(text)
}

func otherAction(a store.Audit) string {
	noun, verb, ok := strings.Cut(a.Action, ".")
	if !ok {
		return "did " + a.Action
	}
	return strings.ReplaceAll(verb, "-", " ") + " " + strings.ReplaceAll(noun, "-", " ") + " {object}"
}

func nameOf(a store.Audit) string {
	if a.ObjectName != "" {
		return a.ObjectName
	}
	return a.ObjectID
}

func (d Details) text(name string) string {
	text, _ := d[name].(string)
	return text
}

// all writes a list whole.
func (d Details) all(ctx context.Context, name string) string {
	return strings.Join(d.words(ctx, name), ", ")
}

// list writes a list as people do; a long one is cut.
func (d Details) list(ctx context.Context, name string) string {
	words := d.words(ctx, name)
	const most = 3
	if n := len(words); n > most {
		words = append(words[:most:most], i18n.T(ctx, "audit.more", n-most))
	}
	if n := len(words); n > 1 {
		return i18n.T(ctx, "audit.and", strings.Join(words[:n-1], ", "), words[n-1])
	}
	return strings.Join(words, "")
}

func (d Details) words(ctx context.Context, name string) (words []string) {
	items, _ := d[name].([]any)
	for _, item := range items {
		if text, ok := item.(string); ok {
			words = append(words, i18n.Message(text).In(ctx)) // what is no message stays as it was written
		}
	}
	return words
}
