package ui

import (
	"context"
	"math"
	"time"

	"schakel/templates/i18n"
)

// timeSteps are the lengths of time, in seconds, that an axis counts in.
var timeSteps = [...]float64{1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 432000}

// day is the length of a day in seconds.
const day = 86400

// step is the smallest round number at or above n: 1, 2 or 5 times a power of ten, and of seconds one that a clock shows.
func (v ChartView) step(n float64) float64 {
	if v.Seconds && n > 0.5 {
		for _, s := range timeSteps {
			if s >= n {
				return s
			}
		}
		return day * round125(n/day)
	}
	if v.Seconds {
		return round125(n)
	}
	return max(1, round125(n))
}

// round125 is the smallest 1, 2 or 5 times a power of ten at or above n, which is above 0.
func round125(n float64) float64 {
	unit := math.Pow(10, math.Floor(math.Log10(n)))
	for _, step := range []float64{1, 2, 5} {
		if step*unit >= n {
			return step * unit
		}
	}
	return 10 * unit
}

// top is the end of the axis, two steps up, at or above the highest value.
func (v ChartView) top() float64 {
	if v.Top > 0 {
		return v.Top
	}
	most := 0.0
	for _, s := range v.Series {
		for _, n := range s.Values {
			most = max(most, known(n))
		}
	}
	if most <= 0 {
		return 2
	}
	return 2 * v.step(most/2)
}

// known is n, or 0 for what is no number.
func known(n float64) float64 {
	if math.IsNaN(n) {
		return 0
	}
	return n
}

// tick writes a value beside the axis.
func (v ChartView) tick(ctx context.Context, n float64) string {
	if v.Seconds {
		return i18n.Duration(ctx, time.Duration(n*float64(time.Second)).Round(time.Microsecond))
	}
	return v.Format(n)
}

// mostTicks bounds the times below a chart: more would touch each other.
const mostTicks = 6

// chartTick is a time below a chart.
type chartTick struct {
	x    float64
	text string
	wide bool // shown where there is room: a phone has twice as large letters
}

func (t chartTick) class() string {
	if t.wide {
		return "schakel-chart__text schakel-chart__text--wide"
	}
	return "schakel-chart__text"
}

// ticks are round times of the reader's clock below the points, the last with the zone.
func (v ChartView) ticks(ctx context.Context) []chartTick {
	if len(v.Times) < 2 {
		return nil
	}
	l := i18n.From(ctx)
	first, last := v.Times[0].In(l.Zone), v.Times[len(v.Times)-1].In(l.Zone)
	step := tickStep(last.Sub(first))
	apart := last.Sub(first) / time.Duration(len(v.Times)-1)
	var list []chartTick
	for n := 0; ; n++ {
		at := time.Date(first.Year(), first.Month(), first.Day(), 0, 0, n*int(step/time.Second), 0, l.Zone)
		if at.After(last) {
			break
		}
		if at.Before(first) {
			continue
		}
		list = append(list, chartTick{x: v.x(0) + chartWidth*float64(at.Sub(first))/float64(apart)/float64(len(v.Times)), text: tickText(l, at, step, otherDay(l, first, last))})
	}
	for i := range list {
		list[i].wide = (len(list)-1-i)%2 == 1
	}
	if n := len(list); n > 0 {
		list[n-1].text += " " + l.ZoneName(last)
	}
	return list
}

// tickStep is the smallest round length of time that a period has at most mostTicks of.
func tickStep(length time.Duration) time.Duration {
	least := length.Seconds() / mostTicks
	for _, s := range timeSteps {
		if s >= max(60, least) {
			return time.Duration(s) * time.Second
		}
	}
	return time.Duration(round125(least/day)) * 24 * time.Hour
}

// tickText writes a time of the day, with the date where the axis crosses midnight; of whole days the date alone.
func tickText(l *i18n.Locale, at time.Time, step time.Duration, days bool) string {
	switch {
	case step >= 24*time.Hour:
		return l.ShortDay(at)
	case days:
		return l.ShortDay(at) + at.Format(" 15:04")
	}
	return at.Format("15:04")
}

// anchor keeps a time at the edge of a chart inside it.
func (t chartTick) anchor() string {
	const half, last = 80, 105 // of the widest text on a phone, without a zone and with it
	switch {
	case t.x < half:
		return "start"
	case t.x > chartWidth-last:
		return "end"
	}
	return "middle"
}
