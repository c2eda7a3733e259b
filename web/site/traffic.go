package site

import (
	"context"
	"math"
	"net/url"
	"strconv"
	"time"

	"schakel/store"
	"schakel/templates/ui"
)

// trafficPeriods are the periods of charts by the word in the address; the first is shown unless another is asked for.
var trafficPeriods = []struct {
	word, label string
	period      store.TrafficPeriod
}{
	{"24h", "24 hours", store.LastDay}, {"1h", "1 hour", store.LastHour}, {"7d", "7 days", store.LastWeek}, {"30d", "30 days", store.LastMonth},
}

// TrafficPeriods lists the words for periods in an address.
func TrafficPeriods() []string {
	words := make([]string, len(trafficPeriods))
	for i, p := range trafficPeriods {
		words[i] = p.word
	}
	return words
}

// Traffic charts what moved at some endpoints in a period, up to now; [store.AllEndpoints] stands for all. here is the address of
// the page with its filter, to which links for other periods lead. The caller has checked that the reader may see the endpoints.
func (p *Portal) Traffic(ctx context.Context, endpoints []string, word, here string, filter url.Values) (ui.TrafficView, error) {
	var v ui.TrafficView
	chosen := trafficPeriods[0]
	for _, t := range trafficPeriods {
		link := ui.Named{Name: t.label}
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
	points, err := p.DB.Traffic(ctx, endpoints, chosen.period, store.At(p.Cfg.Now()))
	if err != nil {
		return v, err
	}
	t := newTrafficSeries(points, len(endpoints) == 1 && endpoints[0] == store.AllEndpoints)
	if t.sum == (store.Traffic{}) {
		v.Nothing = "Nothing moved in the last " + chosen.label + ". What waited was not counted."
		if t.sampled {
			v.Nothing = "Nothing moved and nothing waited in the last " + chosen.label + "."
		}
		return v, nil
	}
	v.Figures, v.Charts = t.figures(), t.charts(chosen.period.Step)
	return v, nil
}

// EndpointTraffic is the panel of an endpoint: the figures of the last 24 hours with one chart.
func (p *Portal) EndpointTraffic(ctx context.Context, endpointID, more string) (ui.TrafficView, error) {
	v, err := p.Traffic(ctx, []string{endpointID}, "", "", nil)
	v.Periods, v.More = nil, more
	if len(v.Charts) > 0 {
		v.Charts = v.Charts[:1]
	}
	return v, err
}

// trafficSeries holds the points as lines, and their sum.
type trafficSeries struct {
	all                             bool // of all endpoints together, with the events that came in
	times                           []time.Time
	came, delivered, failed, dead   []float64
	rate, p50, p95, pending, oldest []float64
	sum                             store.Traffic // Pending and Oldest are the highest
	lastPending                     int64
	sampled                         bool // what waited was counted at some moment of the period
	fresh                           bool // and lately: lastPending is of the last two points
}

func newTrafficSeries(points []store.Traffic, all bool) trafficSeries {
	t := trafficSeries{all: all}
	for i, p := range points {
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
			if i >= len(points)-2 { // an older one is no news of now
				t.lastPending, t.fresh = p.Pending, true
			}
		}
		t.pending, t.oldest = append(t.pending, pending), append(t.oldest, oldest)
		t.add(p)
	}
	return t
}

func (t *trafficSeries) add(p store.Traffic) {
	s := &t.sum
	s.Accepted, s.Made, s.Delivered, s.Failed, s.Dead = s.Accepted+p.Accepted, s.Made+p.Made, s.Delivered+p.Delivered, s.Failed+p.Failed, s.Dead+p.Dead
	s.Pending, s.Oldest = max(s.Pending, p.Pending), max(s.Oldest, p.Oldest)
	for i, n := range p.Latency {
		s.Latency[i] += n
	}
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
func latencyText(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	if last := store.LatencyBounds[len(store.LatencyBounds)-1]; d >= last {
		return ui.Duration(d) + " or more"
	}
	if d < 10*time.Millisecond {
		return "under 10 ms"
	}
	return ui.Duration(d)
}

func countText(n float64) string {
	if n != math.Trunc(n) {
		return "" // half of an odd number names no line of the axis
	}
	return ui.Count(int(n))
}

func percentText(n float64) string {
	// Rounded down: not all of 99.99% arrived.
	return strconv.FormatFloat(math.Floor(n*10)/10, 'f', -1, 64) + "%"
}

func ageText(seconds float64) string {
	return ui.Duration(time.Duration(seconds * float64(time.Second)))
}

func (t *trafficSeries) cameLabel() string {
	if t.all {
		return "Events accepted"
	}
	return "New deliveries"
}

func (t *trafficSeries) figures() []ui.Item {
	came := t.sum.Made
	if t.all {
		came = t.sum.Accepted
	}
	items := []ui.Item{
		{Label: t.cameLabel(), Text: ui.Count(int(came))},
		{Label: "Deliveries delivered", Text: ui.Count(int(t.sum.Delivered))},
		{Label: "Failed attempts", Text: ui.Count(int(t.sum.Failed))},
		{Label: "Became dead letters", Text: ui.Count(int(t.sum.Dead))},
	}
	if rate := successRate(t.sum); !math.IsNaN(rate) {
		items = append(items, ui.Item{Label: "Attempts that arrived", Text: percentText(rate)})
	}
	if p50 := quantile(t.sum.Latency, .5); !math.IsNaN(p50) {
		items = append(items, ui.Item{Label: "Half arrived within", Text: latencyText(p50)}, ui.Item{Label: "95% arrived within", Text: latencyText(quantile(t.sum.Latency, .95))})
	}
	if t.fresh {
		items = append(items, ui.Item{Label: "Waited at the last look", Text: ui.CountUpTo(int(t.lastPending), store.ListBound)})
	}
	return items
}

func (t *trafficSeries) charts(step time.Duration) []ui.ChartView {
	each := "Each point counts " + ui.Duration(step) + "; the last one goes on. "
	return []ui.ChartView{
		{
			ID: "chart-traffic", Title: "Traffic", Times: t.times, Format: countText, Note: each + "The counts of the last 10 seconds may lack.",
			Series: []ui.ChartSeries{{Label: t.cameLabel(), Values: t.came}, {Label: "Delivered", Values: t.delivered}, {Label: "Dead letters", Values: t.dead}, {Label: "Failed attempts", Values: t.failed}},
		},
		{
			ID: "chart-success", Title: "Attempts that arrived", Times: t.times, Top: 100, Format: percentText, Note: "Points without attempts are left out.",
			Series: []ui.ChartSeries{{Label: "Arrived", Values: t.rate}},
		},
		{
			ID: "chart-latency", Title: "Latency", Times: t.times, Format: latencyText, Note: "From the acceptance of a delivery until it arrived, waits and retries included. Estimated from counts in 16 classes.",
			Series: []ui.ChartSeries{{Label: "Half arrived within (p50)", Values: t.p50}, {Label: "95% arrived within (p95)", Values: t.p95}},
		},
		{
			ID: "chart-waiting", Title: "Waiting deliveries", Times: t.times, Format: countText, Note: "The most at a look once a minute. Of each endpoint up to 10,001 are counted, which stands for more than 10,000.",
			Series: []ui.ChartSeries{{Label: "Waiting", Values: t.pending}},
		},
		{
			ID: "chart-oldest", Title: "Age of the oldest waiting delivery", Times: t.times, Format: ageText, Note: "The highest at a look once a minute, among up to 10,001 deliveries of each endpoint.",
			Series: []ui.ChartSeries{{Label: "Oldest", Values: t.oldest}},
		},
	}
}
