package outbox

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"schakel/delivery/event"
	"schakel/delivery/outbound"
	"schakel/delivery/webhook"
	"schakel/store"
)

// scripted stands for the receivers of a machine. The engine's own table judges their answers.
type scripted struct {
	m       *machine
	real    Webhook
	entered chan struct{} // somebody came
	mu      sync.Mutex
	moods   map[string]string // how endpoints answer; those that are not here take all
	hung    []*attempt
	faults  []wrongStart
	content map[string]string  // what went out under a key
	last    map[string]lastTry // of a delivery
	rekeyed map[string]bool    // deliveries that a person gave a new key
	took    map[string]bool    // deliveries that were answered with 2xx
	tookBy  map[string]string  // the nodes that had sent those
	bodies  map[string]string  // data of events, by client, source and id
}

type lastTry struct {
	key     string
	batched bool
}

// attempt is one that waits for its answer.
type attempt struct {
	endpoint, owner string
	members         int
	answer          chan string
}

func newScripted(m *machine) *scripted {
	return &scripted{
		m: m, real: Webhook{Schedule: schedule(), Now: m.clock.Now}, entered: make(chan struct{}, 1), moods: map[string]string{},
		content: map[string]string{}, last: map[string]lastTry{}, rekeyed: map[string]bool{}, took: map[string]bool{}, tookBy: map[string]string{}, bodies: map[string]string{},
	}
}

// moods of a receiver. A picky one rejects some events, one that loses its answer takes the event all the same.
var moods = []string{"202", "202", "500", "429", "503", "400", "403", "410", "timeout", "lost", "picky", "hang"}

func (w *scripted) Send(ctx context.Context, ep store.Endpoint, c store.Claimed) Result {
	ev, err := event.FromParts(c.Event.Attributes, event.DataKind(c.Event.DataKind), c.Event.Data)
	if err != nil {
		panic("the event of " + c.ID + " cannot be read: " + err.Error())
	}
	out := w.take(ep, []store.Claimed{c}, c.IdempotencyKey, string(ev.AppendJSON(nil)), false)
	return w.real.result(ep, c, out, w.real.schedule(ctx, c), nil)
}

func (w *scripted) SendBatch(ctx context.Context, ep store.Endpoint, b store.Batch, body []byte, members []store.Claimed) []Result {
	out := w.take(ep, members, b.IdempotencyKey, string(body), true)
	return w.real.batchResults(ep, members, out, w.real.schedule(ctx, members[0]))
}

func (w *scripted) take(ep store.Endpoint, members []store.Claimed, key, body string, batched bool) webhook.Outcome {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := webhook.Outcome{StartedAt: w.m.clock.Now()}
	w.begins(ep, members, key, body, batched)
	mood := w.moods[ep.ID]
	if mood == "hang" {
		a := &attempt{endpoint: ep.ID, owner: members[0].LeaseOwner, members: len(members), answer: make(chan string, 1)}
		w.hung = append(w.hung, a)
		w.mu.Unlock()
		signal(w.entered)
		mood = <-a.answer
		w.mu.Lock()
	}
	answer(&out, mood, members)
	if out.Status == 202 {
		for _, c := range members {
			w.took[c.ID], w.tookBy[c.ID] = true, c.LeaseOwner
		}
	}
	return out
}

func answer(out *webhook.Outcome, mood string, members []store.Claimed) {
	switch mood {
	case "timeout", "lost":
		out.Kind = outbound.KindTimeout
	case "crash":
		out.Kind = outbound.KindCanceled
	case "500":
		out.Status = 500
	case "503":
		out.Status, out.RetryAfter = 503, 2*time.Hour
	case "429":
		out.Status, out.RetryAfter = 429, 7*time.Minute
	case "400":
		out.Status = 400
	case "403":
		out.Status = 403
	case "410":
		out.Status = 410
	default:
		out.Status = 202
	}
	for _, c := range members {
		if mood == "picky" && c.Event.CEID <= "2" {
			out.Status = 400
		}
	}
}

// begins checks the start of an attempt against how things were after the last step: nothing changed since.
func (w *scripted) begins(ep store.Endpoint, members []store.Claimed, key, body string, batched bool) {
	ids, now := idsOf(members), w.m.clock.Now()
	for i, c := range members {
		w.allowed(ep, c, now)
		w.inOrder(c, members[:i])
		before, tried := w.last[c.ID]
		if tried && before.key != key && !w.rekeyed[c.ID] && (!before.batched || batched) {
			w.fault("IDEM-09: %s goes under another key than before", c.ID)
		}
		w.last[c.ID] = lastTry{key, batched}
		delete(w.rekeyed, c.ID)
		if data := w.bodies[c.Event.ClientID+" "+c.Event.CESource+" "+c.Event.CEID]; data != string(c.Event.Data) || !strings.Contains(body, data) {
			w.fault("G4: the data of %s are %s, want %s", c.ID, c.Event.Data, data)
		}
	}
	what := strings.Join(ids, " ") + " " + body
	if before, used := w.content[key]; used && before != what {
		w.fault("IDEM-11: one key for %s and for %s", before, what)
	}
	w.content[key] = what
}

func idsOf(members []store.Claimed) []string {
	ids := make([]string, len(members))
	for i, c := range members {
		ids[i] = c.ID
	}
	return ids
}

func (w *scripted) allowed(ep store.Endpoint, c store.Claimed, now time.Time) {
	v := w.m.now
	sub := v.subs[c.SubscriptionID]
	if sub.Status != store.SubscriptionApproved || v.partners[sub.PartnerID] != store.PartnerApproved || v.endpoints[ep.ID].Status != store.EndpointActive {
		w.fault("G2: %s starts for a subscription that is %s of a partner that is %s at an endpoint that is %s",
			c.ID, sub.Status, v.partners[sub.PartnerID], v.endpoints[ep.ID].Status)
	}
	if ep.Windows != "" && !inOffice(now) {
		w.fault("%s starts at %s, outside the window", c.ID, now)
	}
	if !now.Before(c.KeyExpiresAt.Time) {
		w.fault("IDEM-12: %s starts under a key that expired at %s, now %s", c.ID, c.KeyExpiresAt, now)
	}
	if d, there := v.deliveries[c.ID]; there && !isOpen(d) {
		w.fault("%s starts though it is %s", c.ID, d.Status)
	}
}

// inOrder checks guarantee G5: those before it with its key have ended at least once, have arrived by the same node, which has
// yet to write that, or go before it in the same request.
func (w *scripted) inOrder(c store.Claimed, before []store.Claimed) {
	for _, o := range w.m.now.waitsFor(c.Delivery) {
		here := slices.ContainsFunc(before, func(b store.Claimed) bool { return b.ID == o })
		if !here && w.tookBy[o] != c.LeaseOwner {
			w.fault("G5: %s starts before %s has ended", c.ID, o)
		}
	}
}

// wrongStart is a start of an attempt that should not have been.
type wrongStart struct{ rule, text string }

func (w *scripted) fault(format string, args ...any) {
	w.faults = append(w.faults, wrongStart{format, fmt.Sprintf(format, args...)})
}

// check reports what went wrong in attempts.
func (w *scripted) check(m *machine) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.faults) > 0 {
		for _, f := range w.faults {
			m.Logf("%s: %s", m.doing, f.text)
		}
		m.T.Fatal(w.faults[0].rule)
	}
}

func (w *scripted) waiting() []*attempt {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]*attempt(nil), w.hung...)
}

// release answers those that wait.
func (w *scripted) release(which func(*attempt) bool, mood string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var left []*attempt
	for _, a := range w.hung {
		if which(a) {
			a.answer <- mood
		} else {
			left = append(left, a)
		}
	}
	w.hung = left
}

func (w *scripted) mood(endpoint, mood string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.moods[endpoint] = mood
}
