package demo

import (
	"testing"
	"time"

	"schakel/store"
	"schakel/store/storetest"
)

// Every period of the charts has sample counts, with failures in a month, and the period before has too.
func TestSeedTraffic(t *testing.T) {
	t.Parallel()
	db := storetest.SQLite(t)
	write := func(fn func(tx *store.Tx) error) {
		t.Helper()
		if err := db.Write(t.Context(), fn); err != nil {
			t.Fatal(err)
		}
	}
	partner := store.Partner{Name: "Kompas", OIN: "00000001123456789000", Status: store.PartnerApproved}
	write(func(tx *store.Tx) error { return tx.InsertPartner(t.Context(), &partner) })
	var ids []string
	for _, name := range []string{"one", "two", "three"} {
		e := store.Endpoint{PartnerID: partner.ID, Name: name, Kind: store.EndpointWebhook, Status: store.EndpointActive}
		write(func(tx *store.Tx) error { return tx.InsertEndpoint(t.Context(), &e) })
		ids = append(ids, e.ID)
	}
	now := time.Date(2026, 3, 4, 11, 30, 0, 0, time.UTC) // a Wednesday at school
	if err := SeedTraffic(t.Context(), db, now); err != nil {
		t.Fatal(err)
	}
	for name, period := range map[string]store.TrafficPeriod{"hour": store.LastHour, "day": store.LastDay, "week": store.LastWeek, "month": store.LastMonth} {
		for when, at := range map[string]store.Time{"now": store.At(now), "before": period.Before(store.At(now))} {
			points, err := db.Traffic(t.Context(), ids, period, at)
			if err != nil {
				t.Fatal(err)
			}
			sum := store.SumTraffic(points)
			if sum.Delivered == 0 || sum.Made < sum.Delivered || name == "month" && sum.Failed == 0 || sum.Pending < 0 {
				t.Errorf("%s %s: %+v", name, when, sum)
			}
		}
		all, err := db.Traffic(t.Context(), []string{store.AllEndpoints}, period, store.At(now))
		if sum := store.SumTraffic(all); err != nil || sum.Accepted == 0 {
			t.Errorf("%s: no events, %v", name, err)
		}
	}
}
