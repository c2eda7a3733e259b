package outbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"schakel/delivery/event"
	"schakel/delivery/webhook"
	"schakel/store"
	"schakel/store/storetest"
)

// An event that is for some partners goes to them and the own organisation alone: at acceptance, when it is offered again
// later, also on purpose and by an administrator, and in what is counted before. Retention removes it as any other.
//
// Rules: EDU-07, EDU-18.
func TestAudienceIsWhoGetsAnEvent(t *testing.T) {
	eachChain(t, func(t *testing.T, c *chain) {
		names := map[string]string{}
		add := func(name string, s store.Subscription) store.Subscription {
			names[s.ID] = name
			return s
		}
		own := add("own", c.subscribe(c.own.ID, "nl.a"))
		north, south := add("north", c.partner("North", "nl.a")), add("south", c.partner("South", "nl.a"))
		for _, tt := range []struct {
			id       string
			audience store.Audience
			want     string
		}{
			{"all", "", "north, own, south"},
			{"one", store.OnlyFor(north.PartnerID), "north, own"},
			{"two", store.OnlyFor(south.PartnerID, north.PartnerID), "north, own, south"},
			{"nobody", store.OnlyFor(), "own"},
		} {
			s := c.submission(c.own.ID, true, "nl.a", tt.id)
			s.Audience = tt.audience
			r := c.take(s)
			if again, err := c.eng.Accept(t.Context(), c.submission(c.own.ID, true, "nl.a", tt.id)); err != nil || !again.Events[0].Duplicate {
				t.Errorf("%s again, for all: %+v, %v", tt.id, again, err)
			}
			e, err := c.db.Event(t.Context(), r.Events[0].EventID)
			if got := c.subscribers(r.Events[0].EventID, names); err != nil || got != tt.want || e.Audience != tt.audience {
				t.Errorf("%s, for %q, went to %v, want %v (%v)", tt.id, e.Audience, got, tt.want, err)
			}
		}
		late := c.subscribe(south.PartnerID, "nl.a")
		for _, mode := range []string{ReplayMissing, ReplayAll} {
			r := Replay{Mode: mode, SubscriptionIDs: []string{late.ID}}
			p, err := c.eng.PreviewReplay(t.Context(), anna(), r)
			if j := c.replay(anna(), r); err != nil || p.Total != 2 || j.Done != 2 {
				t.Errorf("%s: counted %d, offered %d, want all and two (%v)", mode, p.Total, j.Done, err)
			}
			c.waitFor(func() bool { return c.count(store.DeliveryPending)+c.count(store.DeliveryRetrying) == 0 })
		}
		if got := c.got(late); len(got) != 2 || len(got["all"]) != 2 || len(got["two"]) != 2 {
			t.Errorf("a later subscription got %v", got)
		}
		if j := c.replay(anna(), Replay{Mode: ReplayAll, SubscriptionIDs: []string{own.ID}}); j.Done != 4 {
			t.Errorf("%d offered to the own organisation again", j.Done)
		}
	})
}

// A business message makes deliveries to the health party that it is addressed to, and to whoever is subscribed by other means; another health
// party never sees it, at acceptance, in a forecast or by a replay. One that no party gets is refused, for it would reach nobody.
//
// Rules: AMQP-109, EDU-07.
func TestBusinessMessageReachesItsPartyAlone(t *testing.T) {
	eachChain(t, func(t *testing.T, c *chain) {
		names := map[string]string{}
		var broker store.AMQPBroker
		clinic := func(name string, herID int64) store.Subscription {
			s := c.partner(name, "nl.a")
			names[s.ID] = name
			c.write(func(tx *store.Tx) error {
				if broker.ID == "" {
					broker = store.AMQPBroker{Name: "broker", URL: "amqps://broker.example"}
					must(t, tx.InsertAMQPBroker(c.Context(), &broker))
				}
				return tx.InsertAMQPParty(c.Context(), &store.AMQPParty{
					PartnerID: s.PartnerID, EndpointID: s.EndpointID, BrokerID: broker.ID, Kind: store.AMQPHealth, Name: name, HerID: herID, Enabled: true,
				})
			})
			return s
		}
		message := func(id string, to int64) Submission {
			s := c.submission(c.own.ID, true, "nl.a", id)
			if to != 0 {
				s.Audience = s.Audience.AddressedTo(to)
			}
			return s
		}
		r := c.take(message("before there is any party", 300))
		north, south, hook := clinic("north", 100), clinic("south", 200), c.partner("hook", "nl.a")
		names[hook.ID] = "hook"
		for to, want := range map[int64]string{0: "hook, north, south", 100: "hook, north", 200: "hook, south"} {
			r = c.take(message(fmt.Sprintf("to %d", to), to))
			if got := c.subscribers(r.Events[0].EventID, names); got != want {
				t.Errorf("a message to %d went to %s, want %s", to, got, want)
			}
		}
		_, err := c.eng.Accept(t.Context(), message("to nobody", 300))
		if missing, ok := errors.AsType[*NoPartyError](err); !ok || missing.HerID != 300 {
			t.Errorf("a message to a party that is not there: %v", err)
		}
		if r, err := c.eng.Accept(t.Context(), message("before there is any party", 300)); err != nil || !r.Events[0].Duplicate {
			t.Errorf("one that was accepted before: %+v, %v", r, err)
		}
		f, err := c.eng.Forecast(t.Context(), Prospect{Subscriptions: []store.Subscription{north, south, hook}})
		if err != nil || f.Of[0]["nl.a"].Long != 2 || f.Of[1]["nl.a"].Long != 2 || f.Of[2]["nl.a"].Long != 4 {
			t.Errorf("forecast %+v (%v)", f, err)
		}
		c.waitFor(func() bool { return c.count(store.DeliveryPending)+c.count(store.DeliveryRetrying) == 0 }) // what is under way is not offered
		if j := c.replay(anna(), Replay{Mode: ReplayAll, SubscriptionIDs: []string{south.ID}}); j.Done != 2 {
			t.Errorf("%d offered to the south again", j.Done)
		}
		c.write(func(tx *store.Tx) error { // the address registry says that the HER-id changed
			p, err := tx.AMQPPartyByEndpoint(c.Context(), north.EndpointID)
			must(t, err)
			p.HerID = 300
			return tx.UpdateAMQPParty(c.Context(), &p)
		})
		if got := c.subscribers(c.take(message("to the new HER-id", 300)).Events[0].EventID, names); got != "hook, north" {
			t.Errorf("after the change it went to %s", got)
		}
	})
}

// A key used for other content is rejected for an event that is not for all, where the quarantine would lose for whom it is.
func TestAudienceIsNotQuarantined(t *testing.T) {
	eachChain(t, func(t *testing.T, c *chain) {
		first, second := c.submission(c.own.ID, true, "nl.a", "1"), c.submission(c.own.ID, true, "nl.a", "2")
		second.Key, second.Quarantine, second.Audience = first.Key, true, store.OnlyFor()
		second.Fingerprint = []byte(time.Now().String())
		if first.Key == "" {
			t.Fatal("the first has no key")
		}
		c.take(first)
		if r, err := c.eng.Accept(t.Context(), second); err == nil {
			t.Errorf("answered %+v", r)
		}
	})
}

// Every subscriber gets exactly the versions that it subscribed to, also of a producer that sends two side by side.
//
// Rules: EDU-08, CE-16.
func TestVersionsSideBySide(t *testing.T) {
	eachChain(t, func(t *testing.T, c *chain) {
		// What each subscriber wants, by type; an empty version is any.
		wants := map[string]map[string]string{
			"first":       {"nl.a": "1"},
			"second":      {"nl.a": "2"},
			"any":         {"nl.a": ""},
			"both types":  {"nl.a": "2", "nl.b": "0.3"},
			"other type":  {"nl.b": "0.4"},
			"type per v2": {"nl.a.v2": "2"},
		}
		names := map[string]string{}
		for name, versions := range wants {
			names[c.partnerAt(name, versions).ID] = name
		}
		for i, tt := range []struct{ eventType, versions, subscribers string }{
			{"nl.a", "1.4.0", "any, first"},
			{"nl.a", "2.0.1", "any, both types, second"},
			{"nl.a", "2.0.1 1.4.0", "any, both types, first, second"},
			{"nl.a", "", "any, both types, first, second"},
			{"nl.a", "3.0.0", "any"},
			{"nl.b", "0.3.9", "both types"},
			{"nl.b", "0.4.0", "other type"},
			{"nl.a.v2", "2.1.0", "type per v2"},
		} {
			s := c.submission(c.own.ID, true, tt.eventType, fmt.Sprint(i))
			s.Versions = []string{tt.versions}
			r := c.take(s)
			if got := c.subscribers(r.Events[0].EventID, names); got != tt.subscribers {
				t.Errorf("%s %q went to %s, want %s", tt.eventType, tt.versions, got, tt.subscribers)
			}
			row, err := c.db.Event(t.Context(), r.Events[0].EventID)
			if err != nil || row.ContractVersions != tt.versions {
				t.Errorf("kept versions %q, want %q (%v)", row.ContractVersions, tt.versions, err)
			}
		}
		c.replaysAlike(names)
	})
}

// replaysAlike holds that a replay would offer each subscription what acceptance sent it.
func (c *chain) replaysAlike(names map[string]string) {
	c.Helper()
	events, _, err := c.db.Events(c.Context(), store.EventFilter{Page: store.Page{Number: 1, Size: 100}})
	must(c, err)
	for id, name := range names {
		s, err := c.eng.newScanner(c.Context(), &c.db.Queries, Replay{}, store.ReplayPart{SubscriptionID: id})
		must(c, err)
		for _, row := range events {
			_, gets, err := s.matches(row)
			if got := c.subscribers(row.ID, names); err != nil || gets != slices.Contains(strings.Split(got, ", "), name) {
				c.Errorf("a replay offers %s %q to %s: %t (%v); it went to %s", row.CEType, row.ContractVersions, name, gets, err, got)
			}
		}
	}
}

// partnerAt adds an approved partner that subscribes to types at versions.
func (c *chain) partnerAt(name string, versions map[string]string) store.Subscription {
	c.Helper()
	s := c.partner(name)
	c.write(func(tx *store.Tx) error {
		var types []string
		for eventType := range versions {
			types = append(types, eventType)
		}
		return tx.SetSubscriptionTypes(c.Context(), s.ID, types, versions)
	})
	return s
}

// subscribers names who got an event, sorted.
func (c *chain) subscribers(eventID string, names map[string]string) string {
	c.Helper()
	rows, err := c.db.DeliveriesOf(c.Context(), eventID)
	must(c, err)
	var got []string
	for _, d := range rows {
		got = append(got, names[d.SubscriptionID])
	}
	slices.Sort(got)
	return strings.Join(got, ", ")
}

// Rules: EDU-N08.
func TestFiltersNarrowWhatASubscriptionGets(t *testing.T) {
	eachChain(t, func(t *testing.T, c *chain) {
		tests := []struct{ name, filters string }{
			{"everything", ``},
			{"one subject", `[{"exact":{"subject":"4711"}}]`},
			{"another subject", `[{"exact":{"subject":"4712"}}]`},
			{"source", `[{"prefix":{"source":"urn:nld:oin:"}}]`},
			{"not this source", `[{"not":{"prefix":{"source":"urn:nld:oin:"}}}]`},
			{"extension", `[{"any":[{"exact":{"grade":"7"}},{"exact":{"grade":"8"}}]}]`},
		}
		want := map[string]bool{"everything": true, "one subject": true, "source": true, "extension": true}
		names := map[string]string{}
		for _, tt := range tests {
			s := c.partner(tt.name, "nl.a")
			names[s.ID] = tt.name
			c.changeSubscription(s.ID, func(s *store.Subscription) { s.Filters = tt.filters })
		}
		ev, err := event.ParseJSON([]byte(`{"specversion":"1.0","id":"1","source":"urn:nld:oin:1","type":"nl.a","subject":"4711","grade":7}`), event.Limits{})
		must(t, err)
		r := c.take(Submission{ClientID: "cli_a", PartnerID: c.own.ID, FromOwn: true, Events: []event.Event{ev}})
		rows, err := c.db.DeliveriesOf(t.Context(), r.Events[0].EventID)
		if err != nil || len(rows) != len(want) {
			t.Errorf("%d deliveries, want %d (%v)", len(rows), len(want), err)
		}
		for _, d := range rows {
			if !want[names[d.SubscriptionID]] {
				t.Errorf("it went to %q", names[d.SubscriptionID])
			}
		}
	})
}

// BenchmarkFanout finds the one subscription out of many that wants the subject of an event.
func BenchmarkFanout(b *testing.B) {
	for _, subscriptions := range []int{1, 1000, 100_000} {
		b.Run(fmt.Sprintf("subscriptions=%d", subscriptions), func(b *testing.B) {
			x := &index{byType: make(map[string]*targets)}
			for i := range subscriptions {
				row := store.FanoutTarget{EventType: "nl.a", Version: "1", SubscriptionID: uuid.NewString(), Filters: fmt.Sprintf(`[{"exact":{"subject":"s%d"}}]`, i)}
				must(b, x.add(row))
			}
			ev, err := event.ParseJSON([]byte(`{"specversion":"1.0","id":"1","source":"urn:nld:oin:1","type":"nl.a","subject":"s0"}`), event.Limits{})
			must(b, err)
			row := &store.Event{ContractVersions: "1.0.0"}
			b.ReportAllocs()
			for b.Loop() {
				if len(x.match(&ev, row, true)) != 1 {
					b.Fatal("not one target")
				}
			}
		})
	}
}

// TestLivePolicy: what is decided from now on follows the policy of now, and when it cannot be read the last one holds.
func TestLivePolicy(t *testing.T) {
	t.Parallel()
	var live atomic.Pointer[Policy]
	live.Store(&Policy{})
	e := &Engine{cfg: Config{
		KeyLifetime: time.Hour, Circuit: CircuitPolicy{}.withDefaults(), Log: slog.New(slog.DiscardHandler), Now: time.Now,
		Live: func(context.Context) (Policy, error) {
			p := live.Load()
			if p == nil {
				return Policy{}, errors.New("away")
			}
			return *p, nil
		},
	}}
	now := time.Unix(1000, 0)
	for name, tc := range map[string]struct {
		policy   *Policy
		lifetime time.Duration
		failures int
	}{
		"as configured": {&Policy{}, time.Hour, 10},
		"changed":       {&Policy{KeyLifetime: 2 * time.Hour, Circuit: CircuitPolicy{Failures: 2}}, 2 * time.Hour, 2},
	} {
		live.Store(tc.policy)
		e.refresh(t.Context())
		for range 2 { // and the same while it cannot be read
			if got := e.keyExpiry(now).Sub(now); got != tc.lifetime {
				t.Errorf("%s: IDEM-07: keys live %s, want %s", name, got, tc.lifetime)
			}
			if got := e.failuresToOpen(); got != tc.failures {
				t.Errorf("%s: EDU-12: opens after %d failures, want %d", name, got, tc.failures)
			}
			live.Store(nil)
			e.refresh(t.Context())
		}
	}
}

// failuresToOpen fails attempts until the circuit opens.
func (e *Engine) failuresToOpen() int {
	q := &endpointQueue{endpoint: store.Endpoint{}}
	failed := sendResult{queue: q, ep: new(store.Endpoint), outcome: &store.Outcome{}, result: &Result{Attempt: store.Attempt{StatusCode: 500}}}
	for n := 1; n <= 1000; n++ {
		if len(e.moveCircuits([]sendResult{failed})) > 0 {
			return n
		}
	}
	return -1
}

// TestLiveSchedule: an attempt is judged by the schedule of now.
func TestLiveSchedule(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	live := webhook.Schedule{Waits: []time.Duration{time.Hour}, MaxAttempts: 2}
	var broken bool
	w := &Webhook{
		Now: func() time.Time { return now }, Schedule: webhook.Schedule{Waits: []time.Duration{time.Second}, MaxAttempts: 9},
		Live: func(context.Context) (webhook.Schedule, error) {
			if broken {
				return webhook.Schedule{}, errors.New("away")
			}
			return live, nil
		},
	}
	failed := webhook.Outcome{Status: 503}
	first := w.result(store.Endpoint{}, store.Claimed{}, failed, w.schedule(t.Context(), store.Claimed{}), nil)
	if first.Status != store.DeliveryRetrying || !first.DueAt.Equal(now.Add(time.Hour)) {
		t.Errorf("first failure: %s at %s", first.Status, first.DueAt)
	}
	second := w.result(store.Endpoint{}, store.Claimed{Delivery: store.Delivery{Round: 1}}, failed, w.schedule(t.Context(), store.Claimed{}), nil)
	if second.Status != store.DeliveryDead || second.Reason != webhook.ReasonAttempts {
		t.Errorf("second failure: %s, %s", second.Status, second.Reason)
	}
	broken = true
	if got := w.result(store.Endpoint{}, store.Claimed{}, failed, w.schedule(t.Context(), store.Claimed{}), nil); !got.DueAt.Equal(now.Add(time.Second)) {
		t.Errorf("without an answer: %s", got.DueAt)
	}
}

// A subscription that asks for it is handed each (source, id) once, whoever sends it and in whatever group, until that is
// forgotten; others get every one. What a person resends is delivered again.
// Rules: EDU-18b, OPEN-07.
func TestRepeatedEventsAreLeftOut(t *testing.T) {
	eachChain(t, func(t *testing.T, c *chain) {
		careful, legacy := c.partner("Careful", "nl.a"), c.partner("Legacy", "nl.a")
		c.write(func(tx *store.Tx) error {
			legacy.Dedupe = true
			return tx.UpdateSubscription(t.Context(), &legacy)
		})
		send := func(client string, ids ...string) Receipt {
			s := c.submission(c.own.ID, true, "nl.a", ids...)
			s.ClientID = client
			r := c.take(s)
			return r
		}
		handed := func(r Receipt, s store.Subscription) (n int) {
			for _, e := range r.Events {
				rows, err := c.db.DeliveriesOf(t.Context(), e.EventID)
				must(t, err)
				for _, d := range rows {
					if d.SubscriptionID == s.ID {
						n++
					}
				}
			}
			return n
		}
		first, second := send("cli_a", "1"), send("cli_b", "1", "2")
		if handed(first, legacy) != 1 || handed(second, legacy) != 1 || handed(second, careful) != 2 {
			t.Errorf("legacy got %d and %d, careful %d", handed(first, legacy), handed(second, legacy), handed(second, careful))
		}
		rows, err := c.db.LeftOutOf(t.Context(), second.Events[0].EventID)
		if err != nil || len(rows) != 1 || rows[0].SubscriptionID != legacy.ID || rows[0].PartnerID != legacy.PartnerID {
			t.Errorf("left out %+v, %v", rows, err)
		}
		c.write(func(tx *store.Tx) error {
			_, err := tx.PruneHanded(t.Context(), store.At(tx.Now.AddDate(0, 0, 1)), "", 500)
			return err
		})
		if third := send("cli_c", "1"); handed(third, legacy) != 1 {
			t.Error("what was forgotten is still left out")
		}
	})
}

// The chain's setting leaves repeats out of every subscription, and two alike in one group of commits too.
func TestRepeatsLeftOutForAll(t *testing.T) {
	t.Parallel()
	c := newChain(t, storetest.SQLite(t), func(cfg *Config) {
		cfg.Live = func(context.Context) (Policy, error) { return Policy{Dedupe: true}, nil }
	})
	c.partner("North", "nl.a")
	a, b := c.submission(c.own.ID, true, "nl.a", "1"), c.submission(c.own.ID, true, "nl.a", "1")
	a.ClientID, b.ClientID = "cli_a", "cli_b"
	group := []*pending{{Submission: a, done: make(chan struct{})}, {Submission: b, done: make(chan struct{})}}
	c.eng.commit(t.Context(), group)
	if group[0].err != nil || group[1].err != nil {
		t.Fatal(group[0].err, group[1].err)
	}
	if _, n, err := c.db.Deliveries(t.Context(), store.DeliveryFilter{}); n != 1 || err != nil {
		t.Errorf("%d deliveries, want 1 (%v)", n, err)
	}
}
