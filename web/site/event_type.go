package site

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"schakel/delivery/event"
	"schakel/registry/contracts"
	"schakel/store"
	"schakel/templates/i18n"
)

// ContainsAll reports whether a text has all words.
func ContainsAll(text string, words []string) bool {
	for _, w := range words {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}

// ReadableJSON indents JSON for reading; what is not JSON is shown as it is.
func ReadableJSON(ctx context.Context, text string) string {
	var b bytes.Buffer
	if len(text) <= MaxShownJSON && shallow(text) && json.Indent(&b, []byte(text), "", "  ") == nil {
		text = b.String()
	}
	if len(text) <= MaxShownJSON {
		return text
	}
	cut := MaxShownJSON
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "\n… " + i18n.T(ctx, "site.json-rest")
}

// shallow reports whether indenting stays in proportion: a row of ten thousand
// brackets would become a text of hundreds of megabytes.
func shallow(text string) bool {
	depth := 0
	for _, b := range []byte(text) {
		switch b {
		case '{', '[':
			if depth++; depth > 100 {
				return false
			}
		case '}', ']':
			depth--
		}
	}
	return true
}

// SearchTypes keeps the event types that hold all words of a search.
func SearchTypes(all []store.EventType, search, status string) []store.EventType {
	return TypesWith(all, SearchWords(search), status)
}

// TypesWith keeps the event types that hold all of these words.
func TypesWith(all []store.EventType, words []string, status string) []store.EventType {
	var found []store.EventType
	for _, t := range all {
		if (status == "" || t.Status == status) && ContainsAll(typeText(t), words) {
			found = append(found, t)
		}
	}
	return found
}

// TypeNames lists the names of event types.
func TypeNames(rows []store.EventType) []string {
	names := make([]string, len(rows))
	for i, t := range rows {
		names[i] = t.Name
	}
	return names
}

// IsWholeEvent distinguishes a CloudEvent from its data: data rarely has a specversion.
func IsWholeEvent(content []byte) bool {
	var members map[string]json.RawMessage
	return json.Unmarshal(content, &members) == nil && members["specversion"] != nil
}

// OfferOf describes the data of an event by its attributes.
func OfferOf(e *event.Event) contracts.Offer {
	_, elsewhere := e.Extension("dataref")
	return contracts.Offer{
		DataSchema: e.DataSchema, ContentType: e.DataContentType, Data: e.Data, Empty: e.DataKind == event.DataNone, Elsewhere: elsewhere,
		JSON: e.DataKind == event.DataJSON || e.DataKind == event.DataBinary && SaysJSON(e.DataContentType),
	}
}

// SaysJSON reports whether bytes are declared to be JSON.
func SaysJSON(contentType string) bool {
	kind, _, _ := strings.Cut(strings.ToLower(contentType), ";")
	kind = strings.TrimSpace(kind)
	return kind == "application/json" || kind == "text/json" || strings.HasSuffix(kind, "+json")
}

// MaxShownJSON bounds an example or schema on a page, in bytes.
const MaxShownJSON = 64 << 10
