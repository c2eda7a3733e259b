package traffic

import (
	_ "embed"
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
	"schakel/web/api"
	"schakel/web/site"
)

//go:embed openapi.yaml
var openapiYAML []byte

// EventsPart describes in the API for events the counts behind the charts.
var EventsPart = api.NewPart("traffic", openapiYAML)

type handlers struct{ *api.API }

// MountAPI registers the API.
func MountAPI(m *api.API) {
	h := &handlers{m}
	m.Scoped(api.EventsBase, site.ScopeEventsConsume).GET("/traffic", m.ByCaller(h.show))
}

// trafficAnswer holds the traffic of some endpoints, as the charts show it.
type trafficAnswer struct {
	Period     string    `json:"period"`
	Step       string    `json:"step"`
	EndpointID string    `json:"endpointId,omitempty"`
	From       time.Time `json:"from"`
	// Points go from From on, each Step long; the last one goes on.
	Points   []trafficPoint `json:"points"`
	Total    trafficCounts  `json:"total"`
	Previous trafficCounts  `json:"previous"`
}

// trafficCounts are sums. What cannot be told, because nothing arrived or was tried, is null.
type trafficCounts struct {
	Created        int64    `json:"created"`
	Delivered      int64    `json:"delivered"`
	FailedAttempts int64    `json:"failedAttempts"`
	Dead           int64    `json:"dead"`
	SuccessRate    *float64 `json:"successRate"`
	LatencyP50     *float64 `json:"latencyP50"`
	LatencyP95     *float64 `json:"latencyP95"`
}

type trafficPoint struct {
	At time.Time `json:"at"`
	trafficCounts
	Pending   *int64   `json:"pending"`
	OldestAge *float64 `json:"oldestAge"`
}

// show answers what moved at an endpoint of the caller's partner, or at all of them; another's endpoint is not there
// (guarantee G7).
func (h *handlers) show(c echo.Context, who api.Caller) error {
	word, step := c.QueryParam("period"), c.QueryParam("step")
	if word == "" {
		word = site.TrafficPeriods()[0]
	}
	period, step, err := periodOf(word, step)
	if err != nil {
		return err
	}
	ctx, scope, ids := c.Request().Context(), registry.ScopeOf(who.Partner.ID), []string(nil)
	id := c.QueryParam("endpointId")
	if id != "" {
		if _, err := h.Registry.Endpoints.Get(ctx, scope, id); err != nil {
			return err
		}
		ids = []string{id}
	} else {
		endpoints, err := h.Registry.Endpoints.List(ctx, scope, who.Partner.ID)
		if err != nil {
			return err
		}
		for _, e := range endpoints {
			ids = append(ids, e.ID)
		}
	}
	now := store.At(h.DB.Now())
	points, err := h.DB.Traffic(ctx, ids, period, now)
	if err != nil {
		return err
	}
	before, err := h.DB.Traffic(ctx, ids, period, period.Before(now))
	if err != nil {
		return err
	}
	answer := trafficAnswer{
		Period: word, Step: step, EndpointID: id, From: points[0].At,
		Total: newTrafficCounts(store.SumTraffic(points)), Previous: newTrafficCounts(store.SumTraffic(before)),
	}
	for _, p := range points {
		point := trafficPoint{At: p.At, trafficCounts: newTrafficCounts(p)}
		if age := p.Oldest.Seconds(); p.Pending >= 0 {
			point.Pending, point.OldestAge = &p.Pending, &age
		}
		answer.Points = append(answer.Points, point)
	}
	return c.JSON(http.StatusOK, answer)
}

// steps lists by the word for a period the words for its steps; the first is that of the charts.
var steps = map[string][]string{
	"1h": {"1m", "5m", "15m"}, "24h": {"30m", "15m", "1h"}, "7d": {"3h", "1h", "24h"}, "30d": {"12h", "1h", "24h"},
}

// periodOf reads a period and its step; wrong ones are a 400 that lists the valid ones.
func periodOf(word, step string) (store.TrafficPeriod, string, error) {
	if !slices.Contains(site.TrafficPeriods(), word) {
		return store.TrafficPeriod{}, "", site.FieldProblem("period", "traffic.api.period")
	}
	known := steps[word]
	if step == "" {
		step = known[0]
	}
	if !slices.Contains(known, step) {
		return store.TrafficPeriod{}, "", site.FieldProblem("step", i18n.M("traffic.api.step", word, known[0], known[1], known[2]))
	}
	length, err := time.ParseDuration(step)
	period := site.TrafficPeriod(word)
	period.Step = length
	return period, step, err
}

func newTrafficCounts(t store.Traffic) trafficCounts {
	c := trafficCounts{Created: t.Made, Delivered: t.Delivered, FailedAttempts: t.Failed, Dead: t.Dead}
	if tried := t.Delivered + t.Failed; tried > 0 {
		rate := math.Floor(1e4*float64(t.Delivered)/float64(tried)) / 1e4 // rounded down: not all of 0.99999 arrived
		c.SuccessRate = &rate
	}
	quantile := func(q float64) *float64 {
		d, _, ok := t.Latency.Quantile(q)
		if !ok {
			return nil
		}
		seconds := d.Seconds()
		return &seconds
	}
	c.LatencyP50, c.LatencyP95 = quantile(.5), quantile(.95)
	return c
}
