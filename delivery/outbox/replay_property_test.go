package outbox

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"schakel/delivery/event"
	"schakel/store"
	"schakel/store/storetest"
)

// replayWorld is a random chain as the test remembers it.
type replayWorld struct {
	*chain
	r      *rand.Rand
	subs   []store.Subscription
	prefix map[string]string // of the subject that a subscription wants, by its id
	routes map[string]bool   // "from to type"
	events []replayEvent
}

type replayEvent struct{ id, from, kind, subject string }

func (w *replayWorld) pick(of []string) string { return of[w.r.IntN(len(of))] }

// addSubscriptions adds some in any state, the own organisation's too.
func (w *replayWorld) addSubscriptions(n int, partners []string) {
	for range n {
		s := w.subscribe(w.pick(partners), [][]string{{"nl.a"}, {"nl.b"}, {"nl.a", "nl.b"}}[w.r.IntN(3)]...)
		w.write(func(tx *store.Tx) error {
			now, err := tx.Subscription(w.Context(), s.ID)
			if err != nil {
				return err
			}
			now.Status = w.pick([]string{
				store.SubscriptionApproved, store.SubscriptionApproved, store.SubscriptionApproved,
				store.SubscriptionPaused, store.SubscriptionSuspended, store.SubscriptionEnded, store.SubscriptionRequested,
			})
			if w.prefix[s.ID] = w.pick([]string{"", "", "x", "y1"}); w.prefix[s.ID] != "" {
				now.Filters = fmt.Sprintf(`[{"prefix":{"subject":%q}}]`, w.prefix[s.ID])
			}
			w.subs = append(w.subs, now)
			return tx.UpdateSubscription(w.Context(), &now)
		})
	}
}

func (w *replayWorld) addEvents(n int, partners []string) {
	for range n {
		e := replayEvent{fmt.Sprint(len(w.events)), w.pick(partners), w.pick([]string{"nl.a", "nl.b"}), w.pick([]string{"x1", "y1", "y12", "z"})}
		ev, err := event.ParseJSON(fmt.Appendf(nil, `{"specversion":"1.0","id":%q,"source":"urn:nld:oin:1","type":%q,"subject":%q}`, e.id, e.kind, e.subject), event.Limits{})
		if err != nil {
			w.Fatal(err)
		}
		if _, err := w.eng.Accept(w.Context(), Submission{ClientID: "cli_a", PartnerID: e.from, FromOwn: e.from == w.own.ID, Events: []event.Event{ev}}); err != nil {
			w.Fatal(err)
		}
		w.events = append(w.events, e)
	}
}

// mayGet applies the rules in another way than the engine does (guarantees G2, G3).
func (w *replayWorld) mayGet(s store.Subscription, e replayEvent) bool {
	rights := e.from == w.own.ID || s.PartnerID == w.own.ID || w.routes[e.from+" "+s.PartnerID+" "+e.kind]
	return s.Status == store.SubscriptionApproved && rights && strings.Contains(strings.Join(s.Types, " "), e.kind) && strings.HasPrefix(e.subject, w.prefix[s.ID])
}

// In any chain, replays that run at once, on two nodes where there can be two, make exactly one delivery of each event that
// a subscription may get, and none of any other.
//
// Rules: EDU-18, EDU-N11
func TestReplaysAtOnceOfferEachEventOnce(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		w := &replayWorld{chain: newChain(t, db), r: rand.New(rand.NewPCG(seed, 1)), prefix: map[string]string{}, routes: map[string]bool{}}
		partners := []string{w.own.ID}
		for i := range 3 {
			partners = append(partners, w.partner(fmt.Sprint("Partner ", i), "nl.other").PartnerID)
		}
		w.addSubscriptions(4, partners)
		w.addEvents(40, partners)
		for range 6 {
			from, to, kind := w.pick(partners), w.pick(partners), w.pick([]string{"nl.a", "nl.b"})
			if key := from + " " + to + " " + kind; !w.routes[key] {
				w.routes[key] = true
				w.write(func(tx *store.Tx) error {
					return tx.InsertRoute(t.Context(), &store.Route{FromPartnerID: from, ToPartnerID: to, EventType: kind})
				})
			}
		}
		w.addSubscriptions(8, partners)
		nodes := []*Engine{w.eng}
		if db.Dialect() == store.Postgres {
			nodes = append(nodes, w.node(200*time.Millisecond, map[string]Transport{store.EndpointWebhook: w.rcv}))
		}
		var jobs []string
		for i := range 4 {
			for _, partner := range partners {
				j, err := nodes[i%len(nodes)].StartReplay(t.Context(), anna(), Replay{Mode: ReplayMissing, PartnerID: partner})
				if err == nil {
					jobs = append(jobs, j.ID)
				} else if err != ErrNothingSelected {
					t.Fatal(err)
				}
			}
		}
		for _, id := range jobs {
			w.ended(id)
		}
		w.check()
	})
}

func (w *replayWorld) check() {
	w.Helper()
	for _, s := range w.subs {
		got := w.got(s)
		for _, e := range w.events {
			rows := got[e.id]
			replayed := 0
			for _, d := range rows {
				if d.ReplayOf != "" {
					replayed++
				}
			}
			switch may := w.mayGet(s, e); {
			case may && len(rows) != 1:
				w.Errorf("event %+v has %d deliveries for %+v, want one", e, len(rows), s)
			case !may && replayed != 0:
				w.Errorf("event %+v was replayed to %+v, which may not get it", e, s)
			}
		}
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		got          string // states of the deliveries before, oldest first
		missing, all string // "new", "again" or "" for nothing
	}{
		{"", "new", "new"},
		{"pending", "", ""},
		{"retrying", "", ""},
		{"delivered", "", "new"},
		{"held", "again", "again"},
		{"dead", "again", "again"},
		{"discarded", "", "new"},
		{"delivered pending", "", ""},
		{"delivered dead", "", "again"},
		{"dead pending", "", ""},
		{"discarded dead", "again", "again"},
		{"delivered delivered discarded", "", "new"},
	} {
		var rows []store.Delivery
		for _, status := range strings.Fields(c.got) {
			rows = append(rows, store.Delivery{Status: status})
		}
		for mode, want := range map[string]string{ReplayMissing: c.missing, ReplayAll: c.all} {
			again, offered := judge(mode, rows)
			said := map[bool]string{true: "new", false: ""}[offered]
			if again != nil && offered {
				said = "again"
			}
			if said != want {
				t.Errorf("%s of %q: %q, want %q", mode, c.got, said, want)
			}
		}
	}
}
