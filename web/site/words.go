package site

import (
	"context"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"schakel/store"
	"schakel/templates/i18n"
)

// leastStem is the fewest letters that a word is cut to.
const leastStem = 5

// endings lists those of plurals and of definite forms in the languages of the portal, the longest first.
func endings() []string {
	return []string{"ene", "ane", "ers", "en", "er", "et", "es", "ar", "s", "e", "a"}
}

// SearchWords splits what somebody looks for into words in lower case, without the endings that the same word may lack elsewhere: who
// looks for dialogmeldinger finds a dialogmelding.
func SearchWords(text string) []string {
	words := strings.Fields(strings.ToLower(text))
	for i, w := range words {
		words[i] = stem(w)
	}
	return words
}

// stem cuts the ending of a word of letters alone; a number, an id or an address stays whole.
func stem(w string) string {
	if strings.ContainsAny(w, "0123456789.:/_-@") {
		return w
	}
	for _, ending := range endings() {
		if cut, ok := strings.CutSuffix(w, ending); ok && utf8.RuneCountInString(cut) >= leastStem {
			return cut
		}
	}
	return w
}

// WordBeginnings keeps the beginning of each word that is long enough to be recognised by it, for what is written somewhat otherwise in
// another language: the beginning of dialogmelding is that of dialoogbericht. It reports whether that says less than the words.
func WordBeginnings(words []string) ([]string, bool) {
	begun, shorter := make([]string, len(words)), false
	for i, w := range words {
		begun[i] = w
		if r := []rune(w); len(r) > leastStem && stem(w) == w && !strings.ContainsAny(w, "0123456789.:/_@") {
			begun[i], shorter = string(r[:leastStem]), true
		}
	}
	return begun, shorter
}

// TypeTitle is the title of an event type in the language of the reader where there is one, and otherwise the one its contract gives.
func TypeTitle(ctx context.Context, t store.EventType) string {
	if i18n.Has("contracts.own-type", t.Name) {
		return i18n.Of(ctx, "contracts.own-type", t.Name)
	}
	if title := titlesOf(t)[string(i18n.From(ctx).Lang)]; title != "" {
		return title
	}
	return t.Title
}

func titlesOf(t store.EventType) map[string]string {
	var titles map[string]string
	if t.Titles == "" || json.Unmarshal([]byte(t.Titles), &titles) != nil {
		return nil
	}
	return titles
}

// typeText holds what an event type is found by, in lower case: its titles in all languages too.
func typeText(t store.EventType) string {
	parts := []string{t.Name, t.Title, t.Summary, t.ContractID}
	for _, title := range titlesOf(t) {
		parts = append(parts, title)
	}
	if i18n.Has("contracts.own-type", t.Name) {
		for _, l := range i18n.Langs() {
			parts = append(parts, i18n.NewLocale(l, nil).Of("contracts.own-type", t.Name))
		}
	}
	return strings.ToLower(strings.Join(parts, " "))
}
