package outbox

import (
	"testing"
	"time"

	"schakel/store"
)

// A forecast counts what acceptance would give, and no other event: by sender, route, filter and period.
//
// Rules: EDU-14.
func TestForecastDecidesAsAcceptDoes(t *testing.T) {
	eachChain(t, func(t *testing.T, c *chain) {
		c.accept("nl.a", "1", "2")
		c.accept("nl.b", "3")
		got := c.partner("North", "nl.a")
		sub := store.Subscription{ID: "sub_asked", PartnerID: got.PartnerID, EndpointID: got.EndpointID, Types: []string{"nl.a", "nl.c"}}
		filtered := sub
		filtered.Filters = `[{"exact":{"id":"2"}}]`
		f, err := c.eng.Forecast(t.Context(), Prospect{Subscriptions: []store.Subscription{sub, filtered}})
		must(t, err)
		if a := f.Of[0]["nl.a"]; a.Short != 2 || a.Long != 2 || a.Newest.CEID != "2" || f.Of[0]["nl.c"].Long+f.Of[0]["nl.b"].Long != 0 || !f.Back.IsZero() {
			t.Errorf("without a filter: %+v", f)
		}
		if a := f.Of[1]["nl.a"]; a.Long != 1 || a.Newest.CEID != "2" {
			t.Errorf("with a filter: %+v", f.Of[1])
		}
		// Events of the own organisation need no route, so none of them passes along one.
		route := store.Route{FromPartnerID: got.PartnerID, ToPartnerID: got.PartnerID, EventType: "nl.a"}
		f, err = c.eng.Forecast(t.Context(), Prospect{Subscriptions: []store.Subscription{sub}, Route: &route})
		must(t, err)
		if n := f.Of[0]["nl.a"].Long; n != 0 {
			t.Errorf("%d events pass along a route of nobody's", n)
		}
	})
}

func TestForecastCounted(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	f := Forecast{Back: store.At(now.Add(-10 * 24 * time.Hour))}
	if !f.Counted(ForecastShort, now) || f.Counted(ForecastLong, now) || !(Forecast{}).Counted(ForecastLong, now) {
		t.Error("a period is called counted that is not, or the other way round")
	}
}
