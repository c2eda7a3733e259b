package site

import (
	"slices"
	"strings"
	"testing"
	"time"

	"schakel/registry"
	"schakel/store"
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

// What an entry is about is in the reader's language where it is no name.
func TestObjectsOfEntriesAreTranslated(t *testing.T) {
	t.Parallel()
	ctx := i18n.With(t.Context(), i18n.NewLocale(i18n.Norwegian, time.UTC))
	for _, c := range []struct {
		entry store.Audit
		want  string
	}{
		{store.Audit{Action: registry.ActionListExported, ActorName: "Ada", ObjectKind: "list", ObjectName: "amqp-messages"}, "Ada eksporterte listen «AMQP-meldinger»"},
		{store.Audit{Action: registry.ActionIssueAcknowledged, ActorName: "Ada", ObjectKind: "issue", ObjectName: "No answer in time", Detail: `{"cause":"amqp-unanswered"}`}, "«Ikke svar i tide»"},
		{store.Audit{Action: registry.ActionIssueAcknowledged, ActorName: "Ada", ObjectKind: "issue", ObjectName: "An old one"}, "«An old one»"},
	} {
		if got := AuditSentence(ctx, c.entry); !strings.Contains(got, c.want) {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}
