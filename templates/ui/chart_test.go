package ui

import (
	"strings"
	"testing"
	"time"

	"schakel/templates/ui/uitest"
)

// An axis of a whole day does not begin and end with the same time of the day and nothing else.
func TestAxisAcrossMidnightHasDates(t *testing.T) {
	t.Parallel()
	until := time.Date(2026, 11, 27, 12, 12, 0, 0, time.UTC)
	ok := func(float64) string { return "0" }
	for from, want := range map[time.Time][]string{
		until.Add(-24 * time.Hour): {"26 Nov 12:12", "27 Nov 12:12 UTC"},
		until.Add(-time.Hour):      {"11:12", "12:12 UTC"},
	} {
		lanes := Lanes(LanesView{ID: "l", Title: "States", From: from, Until: until})
		chart := Chart(ChartView{ID: "c", Title: "Traffic", Times: []time.Time{from, until}, Series: []ChartSeries{{Label: "n", Values: []float64{0, 0}}}, Format: ok})
		for _, c := range []string{uitest.Render(t, lanes), uitest.Render(t, chart)} {
			for _, text := range want {
				if !strings.Contains(c, ">"+text+"<") {
					t.Errorf("%s until %s: no %q in %s", from, until, text, c)
				}
			}
		}
	}
}
