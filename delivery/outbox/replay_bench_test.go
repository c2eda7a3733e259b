package outbox

import (
	"fmt"
	"testing"

	"schakel/store"
	"schakel/store/storetest"
)

// BenchmarkReplay offers 20,000 stored events to a subscription that has none of them, and delivers them.
func BenchmarkReplay(b *testing.B) {
	const events = 20_000
	for name, open := range storetest.Both() {
		b.Run(name, func(b *testing.B) {
			db := open(b)
			own, client := store.Partner{Own: true, Name: "Own", Status: store.PartnerApproved}, "cli_a"
			write := func(fn func(tx *store.Tx) error) {
				b.Helper()
				if err := db.Write(b.Context(), fn); err != nil {
					b.Fatal(err)
				}
			}
			write(func(tx *store.Tx) error { return tx.InsertPartner(b.Context(), &own) })
			for from := 0; from < events; from += 500 {
				write(func(tx *store.Tx) error {
					rows := make([]store.Event, 500)
					for i := range rows {
						id := fmt.Sprint(from + i)
						rows[i] = store.Event{
							ID: tx.NewID("evt"), PartnerID: own.ID, ClientID: client, CEID: id, CESource: "urn:x", CEType: "nl.a", AcceptedAt: tx.Now,
							Attributes: []byte(`{"specversion":"1.0","id":"` + id + `","source":"urn:x","type":"nl.a"}`), DataKind: 1, Data: make([]byte, 700),
						}
					}
					_, err := tx.InsertEvents(b.Context(), rows)
					return err
				})
			}
			rcv := newReceiver()
			rcv.came = make(chan store.Claimed, events)
			eng := New(Config{DB: db, Transports: map[string]Transport{store.EndpointWebhook: rcv}})
			for b.Loop() {
				b.StopTimer()
				sub := benchSubscription(b, db, own.ID)
				b.StartTimer()
				if err := eng.Start(b.Context()); err != nil {
					b.Fatal(err)
				}
				if _, err := eng.StartReplay(b.Context(), Actor{Name: "Anna"}, Replay{Mode: ReplayMissing, SubscriptionIDs: []string{sub}}); err != nil {
					b.Fatal(err)
				}
				for range events {
					<-rcv.came
				}
				b.StopTimer()
				if err := eng.Stop(b.Context()); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
			b.ReportMetric(float64(b.N*events)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

func benchSubscription(b *testing.B, db *store.DB, partnerID string) string {
	b.Helper()
	ep := store.Endpoint{PartnerID: partnerID, Name: "hook", Kind: store.EndpointWebhook, Status: store.EndpointActive, MaxConcurrency: 64, TimeoutMS: 1000}
	s := store.Subscription{PartnerID: partnerID, Status: store.SubscriptionApproved, Types: []string{"nl.a"}}
	err := db.Write(b.Context(), func(tx *store.Tx) error {
		if err := tx.InsertEndpoint(b.Context(), &ep); err != nil {
			return err
		}
		s.EndpointID = ep.ID
		return tx.InsertSubscription(b.Context(), &s)
	})
	if err != nil {
		b.Fatal(err)
	}
	return s.ID
}
