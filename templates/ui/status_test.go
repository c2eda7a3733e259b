package ui

import (
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"
	"schakel/templates/i18n"
	"schakel/templates/ui/uitest"
)

func TestStatesShowAWordAndAShape(t *testing.T) {
	t.Parallel()
	want := map[string]Kind{
		"requested": KindInfo, "approved": KindOK, "suspended": KindError, "ended": KindNeutral, "rejected": KindError,
		"draft": KindNeutral, "published": KindOK, "deprecated": KindWarning, "withdrawn": KindNeutral, "paused": KindWarning,
		"pending": KindInfo, "delivered": KindOK, "retrying": KindWarning, "held": KindWarning, "dead": KindError, "discarded": KindNeutral,
	}
	for state, kind := range want {
		doc := uitest.Render(t, State(state))
		if !strings.Contains(doc, "schakel-badge--"+string(kind)) || !strings.Contains(doc, "<svg") {
			t.Errorf("%s: %s", state, doc)
		}
		if !strings.Contains(strings.ToLower(doc), state) {
			t.Errorf("%s: the word is not shown", state)
		}
	}
	if got := uitest.Text(uitest.Parse(t, uitest.Render(t, State("")))); got != "Unknown" {
		t.Errorf("no state reads %q", got)
	}
}

func TestAlertsInterruptForErrorsOnly(t *testing.T) {
	t.Parallel()
	for kind, role := range map[Kind]string{KindInfo: "status", KindOK: "status", KindWarning: "status", KindError: "alert"} {
		c := uitest.With(Alert(kind), Text("Something happened."))
		uitest.Find(t, c, "role", role)
	}
}

func TestTimesCarryAMachineReadableMoment(t *testing.T) {
	t.Parallel()
	at := uitest.Now().Add(-time.Hour)
	for name, tt := range map[string]struct {
		c           templ.Component
		text, title string
	}{
		"clock": {Clock(at, uitest.Now()), "21 Nov 2026 13:03:05 UTC", "1 h ago"},
		"ago":   {Ago(at, uitest.Now()), "1 h ago", "21 Nov 2026 13:03:05 UTC"},
	} {
		n := uitest.Find(t, tt.c, "datetime", "2026-11-21T13:03:05Z")
		if title, _ := uitest.Attr(n, "title"); uitest.Text(n) != tt.text || title != tt.title {
			t.Errorf("%s: %q with title %q", name, uitest.Text(n), title)
		}
	}
	if got := uitest.Text(uitest.Parse(t, uitest.Render(t, Clock(time.Time{}, uitest.Now())))); got != "never" {
		t.Errorf("the zero time reads %q", got)
	}
}

func TestMissingFactsAreSaid(t *testing.T) {
	t.Parallel()
	c := DescriptionList([]Item{{Label: "HER-id"}})
	if got := uitest.Text(uitest.Parse(t, uitest.Render(t, c))); !strings.Contains(got, "not given") {
		t.Errorf("got %q", got)
	}
}

func TestLivePartRefreshesItself(t *testing.T) {
	t.Parallel()
	part := uitest.Find(t, uitest.With(Live("queue", "/admin/dead-letters?page=2", 5*time.Second), Text("x")), "id", "queue")
	for key, want := range map[string]string{"hx-get": "/admin/dead-letters?page=2", "hx-trigger": "every 5s, schakel:shown", "hx-select": "#queue", "hx-select-oob": "#navigation-items:outerMorph"} {
		if got, _ := uitest.Attr(part, key); got != want {
			t.Errorf("%s = %q, want %q", key, got, want)
		}
	}
}

// TestTimesAreInTheZoneOfTheReader: the title has UTC where the reader has another zone.
func TestTimesAreInTheZoneOfTheReader(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("CET", 60*60)
	ctx := i18n.With(t.Context(), i18n.NewLocale(i18n.Dutch, zone))
	var out strings.Builder
	if err := Clock(uitest.Now().Add(-time.Hour), uitest.Now()).Render(ctx, &out); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); !strings.Contains(got, "21 nov 2026 14:03:05 CET") || !strings.Contains(got, `title="1 u geleden, 21 nov 2026 13:03:05 UTC"`) {
		t.Errorf("got %s", got)
	}
}
