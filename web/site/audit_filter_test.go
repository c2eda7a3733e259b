package site

import (
	"slices"
	"strings"
	"testing"
	"time"

	"schakel/templates/i18n"
	"schakel/templates/ui"
)

// Who looks for an action looks for it by the words of the page.
func TestActionsAreInTheOrderOfTheirTitles(t *testing.T) {
	t.Parallel()
	for _, lang := range []i18n.Lang{i18n.English, i18n.Dutch, i18n.Norwegian} {
		ctx := i18n.With(t.Context(), i18n.NewLocale(lang, time.UTC))
		actions := AuditQuery{}.Fields(ctx, AuditActions(), nil)[0].Options
		if actions[0].Value != "" {
			t.Errorf("%s: all actions come first, not %q", lang, actions[0].Label)
		}
		if !slices.IsSortedFunc(actions[1:], func(a, b ui.Option) int { return strings.Compare(strings.ToLower(a.Label), strings.ToLower(b.Label)) }) {
			t.Errorf("%s: out of order", lang)
		}
	}
}
