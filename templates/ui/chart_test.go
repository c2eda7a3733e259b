package ui

import (
	"math"
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
	for from, want := range map[time.Time][2][]string{
		until.Add(-24 * time.Hour):      {{"26 Nov 12:12", "27 Nov 12:12 UTC"}, {"26 Nov 18:00", "27 Nov 00:00", "27 Nov 06:00", "27 Nov 12:00 UTC"}},
		until.Add(-time.Hour):           {{"11:12", "12:12 UTC"}, {"11:20", "11:30", "12:00", "12:10 UTC"}},
		until.Add(-30 * 24 * time.Hour): {{"28 Oct 12:12", "27 Nov 12:12 UTC"}, {"2 Nov", "7 Nov", "27 Nov UTC"}},
	} {
		lanes := Lanes(LanesView{ID: "l", Title: "States", From: from, Until: until})
		chart := Chart(ChartView{ID: "c", Title: "Traffic", Times: []time.Time{from, until}, Series: []ChartSeries{{Label: "n", Values: []float64{0, 0}}}, Format: ok})
		for i, c := range []string{uitest.Render(t, lanes), uitest.Render(t, chart)} {
			for _, text := range want[i] {
				if !strings.Contains(c, ">"+text+"<") {
					t.Errorf("%s until %s: no %q in %s", from, until, text, c)
				}
			}
		}
	}
}

// Every second time has room on a wide screen alone, and the last, which has the zone, everywhere.
func TestAxisHasRoomOnAPhone(t *testing.T) {
	t.Parallel()
	until := time.Date(2026, 11, 27, 12, 12, 0, 0, time.UTC)
	var times []time.Time
	for n := range 48 {
		times = append(times, until.Add(time.Duration(n-47)*30*time.Minute))
	}
	ticks := ChartView{Times: times}.ticks(t.Context())
	if len(ticks) < 4 {
		t.Fatalf("%d times", len(ticks))
	}
	for i, tick := range ticks {
		if tick.wide != ((len(ticks)-1-i)%2 == 1) || strings.Contains(tick.class(), "--wide") != tick.wide {
			t.Errorf("time %d of %d is %+v", i, len(ticks), tick)
		}
	}
	if last := ticks[len(ticks)-1]; last.anchor() != "end" {
		t.Errorf("the last is %+v, %s", last, last.anchor())
	}
}

// The axis of values has round numbers at its top and half-way: whole ones of what is counted, and of time what a clock shows.
func TestAxisHasRoundSteps(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		seconds         bool
		most, top, half float64
	}{
		{false, 0, 2, 1},
		{false, 1, 2, 1},
		{false, 5, 10, 5},
		{false, 11, 20, 10},
		{false, 9_999, 10_000, 5_000},
		{true, 0.03, 0.04, 0.02},
		{true, 4, 4, 2},
		{true, 35, 60, 30},
		{true, 900, 1200, 600},
		{true, 1_000, 1200, 600},
		{true, 3_700, 7_200, 3_600},
		{true, 100_000, 172_800, 86_400},
		{true, 2_000_000, 40 * 86_400, 20 * 86_400},
	} {
		v := ChartView{Seconds: c.seconds, Series: []ChartSeries{{Values: []float64{c.most, math.NaN()}}}}
		if math.Abs(v.top()-c.top) > 1e-9 || math.Abs(v.top()/2-c.half) > 1e-9 {
			t.Errorf("most %v, seconds %t: the axis ends at %v, want %v", c.most, c.seconds, v.top(), c.top)
		}
	}
}
