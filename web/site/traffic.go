package site

import (
	"context"
	"math"
	"net/url"
	"slices"
	"time"

	"schakel/store"
	"schakel/templates/i18n"
	"schakel/templates/ui"
)

// trafficPeriods are the periods of charts by the word in the address; the first is shown unless another is asked for.
var trafficPeriods = []struct {
	word   string
	period store.TrafficPeriod
}{
	{"24h", store.LastDay}, {"1h", store.LastHour}, {"7d", store.LastWeek}, {"30d", store.LastMonth},
}

// TrafficPeriods lists the words for periods in an address.
func TrafficPeriods() []string {
	words := make([]string, len(trafficPeriods))
	for i, p := range trafficPeriods {
		words[i] = p.word
	}
	return words
}

// TrafficPeriod is the period of a word of [TrafficPeriods].
func TrafficPeriod(word string) store.TrafficPeriod {
	for _, p := range trafficPeriods {
		if p.word == word {
			return p.period
		}
	}
	return trafficPeriods[0].period
}

// Traffic charts what moved at some endpoints in a period, up to now; [store.AllEndpoints] stands for all. here is the address of
// the page with its filter, to which links for other periods lead. The caller has checked that the reader may see the endpoints.
func (p *Portal) Traffic(ctx context.Context, endpoints []string, word, here string, filter url.Values) (ui.TrafficView, error) {
	var v ui.TrafficView
	waits, err := p.waiting(ctx, endpoints)
	if err != nil {
		return v, err
	}
	chosen := trafficPeriods[0]
	for _, t := range trafficPeriods {
		link := ui.Named{Name: i18n.Of(ctx, "site.period", t.word)}
		if t.word == word || word == "" && t.word == trafficPeriods[0].word {
			chosen = t
		} else {
			query := url.Values{"period": {t.word}}
			for name, values := range filter {
				query[name] = values
			}
			link.Href = here + "?" + query.Encode()
		}
		v.Periods = append(v.Periods, link)
	}
	if p.Mailbox {
		v.Sample = i18n.T(ctx, "site.traffic-sample")
	}
	points, err := p.DB.Traffic(ctx, endpoints, chosen.period, store.At(p.Cfg.Now()))
	if err != nil {
		return v, err
	}
	t := newTrafficSeries(points, len(endpoints) == 1 && endpoints[0] == store.AllEndpoints)
	if t.sum == (store.Traffic{}) {
		v.Nothing = i18n.T(ctx, "site.traffic-none", i18n.Of(ctx, "site.period", chosen.word))
		switch {
		case waits > 0:
			v.Nothing = i18n.T(ctx, "site.traffic-none-now", i18n.Of(ctx, "site.period", chosen.word), i18n.CountUpTo(ctx, waits, store.ListBound))
		case t.sampled:
			v.Nothing = i18n.T(ctx, "site.traffic-none-waited", i18n.Of(ctx, "site.period", chosen.word))
		}
		return v, nil
	}
	earlier, err := p.DB.Traffic(ctx, endpoints, chosen.period, chosen.period.Before(store.At(p.Cfg.Now())))
	if err != nil {
		return v, err
	}
	v.Figures, v.Charts = t.figures(ctx, newTrafficSeries(earlier, t.all).sum, waits), t.charts(ctx, chosen.period.Step)
	return v, nil
}

// EndpointTraffic is the panel of an endpoint; more is the address of all its charts.
func (p *Portal) EndpointTraffic(ctx context.Context, e store.Endpoint, more string) (ui.TrafficView, error) {
	v, err := p.TrafficPanel(ctx, []string{e.ID}, ui.Named{Name: i18n.T(ctx, "ui.charts-of-endpoint"), Href: more})
	if err == nil {
		v.Timeline, err = p.EndpointTimeline(ctx, e, trafficPeriods[0].word)
	}
	return v, err
}

// TrafficPanel shows the figures of the last 24 hours of some endpoints with one chart. What waits is counted now, as elsewhere on the pages that it is on.
func (p *Portal) TrafficPanel(ctx context.Context, endpoints []string, more ui.Named) (ui.TrafficView, error) {
	v, err := p.Traffic(ctx, endpoints, "", "", nil)
	v.Periods, v.More = nil, more
	if len(v.Charts) > 0 {
		v.Charts = v.Charts[:1]
	}
	return v, err
}

// waiting counts what waits now at some endpoints, or at all.
func (p *Portal) waiting(ctx context.Context, endpoints []string) (waits int, err error) {
	backlogs, err := p.Backlogs(ctx)
	for id, b := range backlogs {
		if slices.Contains(endpoints, id) || slices.Contains(endpoints, store.AllEndpoints) {
			waits += b.Waiting
		}
	}
	return waits, err
}

// trafficSeries holds the points as lines, and their sum.
type trafficSeries struct {
	all                             bool // of all endpoints together, with the events that came in
	times                           []time.Time
	came, delivered, failed, dead   []float64
	rate, p50, p95, pending, oldest []float64
	sum                             store.Traffic // Pending and Oldest are the highest
	sampled                         bool          // what waited was counted at some moment of the period
}

func newTrafficSeries(points []store.Traffic, all bool) trafficSeries {
	t := trafficSeries{all: all}
	for _, p := range points {
		came := p.Made
		if all {
			came = p.Accepted
		}
		t.times = append(t.times, p.At)
		t.came, t.delivered = append(t.came, float64(came)), append(t.delivered, float64(p.Delivered))
		t.failed, t.dead = append(t.failed, float64(p.Failed)), append(t.dead, float64(p.Dead))
		t.rate = append(t.rate, successRate(p))
		t.p50, t.p95 = append(t.p50, quantile(p.Latency, .5)), append(t.p95, quantile(p.Latency, .95))
		pending, oldest := math.NaN(), math.NaN()
		if p.Pending >= 0 {
			pending, oldest = float64(p.Pending), p.Oldest.Seconds()
			t.sampled = true
		}
		t.pending, t.oldest = append(t.pending, pending), append(t.oldest, oldest)
	}
	t.sum = store.SumTraffic(points)
	t.sum.Pending = max(0, t.sum.Pending)
	return t
}

// successRate is the share of attempts that arrived, in percent; not a number when there were none.
func successRate(p store.Traffic) float64 {
	return 100 * float64(p.Delivered) / float64(p.Delivered+p.Failed)
}

// quantile is in seconds; not a number when nothing arrived.
func quantile(l store.Latencies, q float64) float64 {
	d, _, ok := l.Quantile(q)
	if !ok {
		return math.NaN()
	}
	return d.Seconds()
}

// latencyText writes seconds of latency; what is above the last bound of the counts is not known closer.
func latencyText(ctx context.Context, seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	if last := store.LatencyBounds[len(store.LatencyBounds)-1]; d >= last {
		return i18n.T(ctx, "site.latency-more", i18n.Duration(ctx, d))
	}
	if d < 10*time.Millisecond {
		return i18n.T(ctx, "site.latency-less", i18n.Duration(ctx, 10*time.Millisecond))
	}
	return i18n.Duration(ctx, d)
}

// estimateText writes seconds of latency behind "within": they are estimated from counts in classes, but for the first and the last bound.
func estimateText(ctx context.Context, seconds float64) string {
	switch d := time.Duration(seconds * float64(time.Second)); {
	case d < 10*time.Millisecond:
		return i18n.Duration(ctx, 10*time.Millisecond)
	case d >= store.LatencyBounds[len(store.LatencyBounds)-1]:
		return latencyText(ctx, seconds)
	default:
		return i18n.T(ctx, "site.latency-about", i18n.Duration(ctx, d))
	}
}

func countText(ctx context.Context, n float64) string {
	return i18n.Count(ctx, int(n))
}

func percentText(ctx context.Context, n float64) string {
	// Rounded down: not all of 99.99% arrived.
	return i18n.T(ctx, "site.percent", i18n.From(ctx).Decimal(math.Floor(n*10)/10, 1))
}

func ageText(ctx context.Context, seconds float64) string {
	return i18n.Duration(ctx, time.Duration(seconds*float64(time.Second)))
}

func (t *trafficSeries) cameLabel(ctx context.Context) string {
	if t.all {
		return i18n.T(ctx, "site.traffic-accepted")
	}
	return i18n.T(ctx, "site.traffic-new")
}

// figures compares the success and the latency of a period with those of the one before it, of the same length.
func (t *trafficSeries) figures(ctx context.Context, earlier store.Traffic, waits int) []ui.Item {
	compared := func(format func(context.Context, float64) string, now, before float64) string {
		if math.IsNaN(before) {
			return format(ctx, now)
		}
		return i18n.T(ctx, "site.traffic-compared", format(ctx, now), format(ctx, before))
	}
	came := t.sum.Made
	if t.all {
		came = t.sum.Accepted
	}
	items := []ui.Item{
		{Label: t.cameLabel(ctx), Text: i18n.Count(ctx, int(came))},
		{Label: i18n.T(ctx, "site.traffic-delivered"), Text: i18n.Count(ctx, int(t.sum.Delivered))},
		{Label: i18n.T(ctx, "site.traffic-failed"), Text: i18n.Count(ctx, int(t.sum.Failed))},
		{Label: i18n.T(ctx, "site.traffic-dead"), Text: i18n.Count(ctx, int(t.sum.Dead))},
	}
	if rate := successRate(t.sum); !math.IsNaN(rate) {
		items = append(items, ui.Item{Label: i18n.T(ctx, "site.traffic-arrived"), Text: compared(percentText, rate, successRate(earlier))})
	}
	if p50 := quantile(t.sum.Latency, .5); !math.IsNaN(p50) {
		items = append(items, ui.Item{Label: i18n.T(ctx, "site.traffic-half"), Text: compared(estimateText, p50, quantile(earlier.Latency, .5))},
			ui.Item{Label: i18n.T(ctx, "site.traffic-most", 95), Text: compared(estimateText, quantile(t.sum.Latency, .95), quantile(earlier.Latency, .95))})
	}
	return append(items, ui.Item{Label: i18n.T(ctx, "site.traffic-waits"), Text: i18n.CountUpTo(ctx, waits, store.ListBound)})
}

func (t *trafficSeries) charts(ctx context.Context, step time.Duration) []ui.ChartView {
	in := func(format func(context.Context, float64) string) func(float64) string {
		return func(n float64) string { return format(ctx, n) }
	}
	return []ui.ChartView{
		{
			ID: "chart-traffic", Title: i18n.T(ctx, "site.traffic"), Times: t.times, Format: in(countText), Note: i18n.T(ctx, "site.chart-traffic", i18n.Duration(ctx, step)),
			Series: []ui.ChartSeries{{Label: t.cameLabel(ctx), Values: t.came}, {Label: i18n.T(ctx, "site.chart-delivered"), Values: t.delivered}, {Label: i18n.T(ctx, "site.dead-letters"), Values: t.dead}, {Label: i18n.T(ctx, "site.traffic-failed"), Values: t.failed}},
		},
		{
			ID: "chart-success", Title: i18n.T(ctx, "site.traffic-arrived"), Times: t.times, Top: 100, Format: in(percentText), Note: i18n.T(ctx, "site.chart-success"),
			Series: []ui.ChartSeries{{Label: i18n.T(ctx, "site.chart-arrived"), Values: t.rate}},
		},
		{
			ID: "chart-latency", Title: i18n.T(ctx, "site.chart-latency"), Times: t.times, Seconds: true, Format: in(latencyText), Note: i18n.T(ctx, "site.chart-latency-note"),
			Series: []ui.ChartSeries{{Label: i18n.T(ctx, "site.chart-half"), Values: t.p50}, {Label: i18n.T(ctx, "site.chart-most", 95), Values: t.p95}},
		},
		{
			ID: "chart-waiting", Title: i18n.T(ctx, "site.chart-waiting"), Times: t.times, Format: in(countText), Note: i18n.T(ctx, "site.chart-waiting-note", store.ListBound+1, store.ListBound),
			Series: []ui.ChartSeries{{Label: i18n.T(ctx, "site.chart-waiting-line"), Values: t.pending}},
		},
		{
			ID: "chart-oldest", Title: i18n.T(ctx, "site.chart-oldest"), Times: t.times, Seconds: true, Format: in(ageText), Note: i18n.T(ctx, "site.chart-oldest-note", store.ListBound+1),
			Series: []ui.ChartSeries{{Label: i18n.T(ctx, "site.chart-oldest-line"), Values: t.oldest}},
		},
	}
}
