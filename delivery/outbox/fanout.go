package outbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"schakel/delivery/event"
	"schakel/delivery/filter"
	"schakel/store"
)

// index finds the subscriptions an event goes to, as of one epoch of the database.
type index struct {
	epoch  string
	byType map[string]*targets
	routes store.Passages
}

// targets are the subscriptions to one event type. Those to a single subject are found by it; the filters of the others are
// evaluated one by one. A hundred thousand subscriptions to one subject each cost an event one look-up.
type targets struct {
	bySubject map[string][]target
	rest      []target
	health    bool // whether an endpoint of a health party is among them
}

// target is a subscription with its compiled filters.
type target struct {
	store.FanoutTarget
	filter filter.Filter
}

// match lists the targets of an event. An event of the own organisation goes to every subscription; one received from a
// partner goes to the own organisation's subscriptions, and to a partner only along a route (guarantee G3). That holds for the
// sender too: two intermediaries that subscribe to the same types at each other would send every event back, and reject it
// there as not the sender's own. Filters narrow that down, and so do the contract versions that the event fits: a subscription
// to one line of versions gets no other (EDU-08). An event with an audience goes to no other partner, and
// a business message to no other health party than the one that it is addressed to.
func (x *index) match(ev *event.Event, row *store.Event, fromOwn bool) []store.FanoutTarget {
	t := x.byType[ev.Type]
	if t == nil {
		return nil
	}
	var allowed []store.FanoutTarget
	for _, candidates := range [][]target{t.bySubject[ev.Subject], t.rest} {
		for _, c := range candidates {
			if x.routes.May(row.PartnerID, fromOwn, c.PartnerID, c.Own, ev.Type) && row.Audience.Has(c.PartnerID, c.Own) && row.Audience.Reaches(c.HerID) &&
				store.FitsLine(row.ContractVersions, c.Version) && c.filter.Match(ev.Extension) {
				allowed = append(allowed, c.FanoutTarget)
			}
		}
	}
	return allowed
}

func (x *index) add(row store.FanoutTarget) error {
	compiled, err := filter.Parse([]byte(row.Filters))
	if err != nil {
		return fmt.Errorf("subscription %s: %w", row.SubscriptionID, err)
	}
	t := x.byType[row.EventType]
	if t == nil {
		t = &targets{bySubject: make(map[string][]target)}
		x.byType[row.EventType] = t
	}
	t.health = t.health || row.HerID != 0
	if subject, ok := compiled.Exact("subject"); ok {
		t.bySubject[subject] = append(t.bySubject[subject], target{row, compiled})
		return nil
	}
	t.rest = append(t.rest, target{row, compiled})
	return nil
}

// fanout caches the index of the newest epoch seen.
type fanout struct {
	mu    sync.Mutex
	index *index
	fresh freshness
}

// in returns the index that is valid in the transaction: what was approved when the transaction began.
func (f *fanout) in(ctx context.Context, tx *store.Tx) (*index, error) {
	epoch, err := tx.FanoutEpoch(ctx)
	if err != nil {
		return nil, fmt.Errorf("read fan-out epoch: %w", err)
	}
	f.mu.Lock()
	known := f.index
	f.mu.Unlock()
	if known != nil && known.epoch == epoch {
		return known, nil
	}
	read, err := readIndex(ctx, tx, epoch)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	f.index = read
	f.mu.Unlock()
	return read, nil
}

func readIndex(ctx context.Context, tx *store.Tx, epoch string) (*index, error) {
	rows, err := tx.FanoutTargets(ctx)
	if err != nil {
		return nil, fmt.Errorf("read fan-out: %w", err)
	}
	routes, err := tx.Routes(ctx)
	if err != nil {
		return nil, fmt.Errorf("read routes: %w", err)
	}
	x := &index{epoch: epoch, byType: make(map[string]*targets), routes: store.NewPassages(routes)}
	for _, row := range rows {
		if err := x.add(row); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// missing says which recipient an event of a submission needs and lacks; nil when it lacks none. A submission may ask for any. The own
// organisation's business messages need the party that they are addressed to: they would reach nobody, and nobody would be told.
func (x *index) missing(p *pending, n int, row *store.Event) error {
	to, t := row.Audience.HerID(), x.byType[row.CEType]
	if to == 0 || !p.FromOwn || t == nil || !t.health {
		if p.NeedRecipient && len(x.match(&p.Events[n], row, p.FromOwn)) == 0 {
			return ErrNoRecipient
		}
		return nil
	}
	if slices.ContainsFunc(x.match(&p.Events[n], row, true), func(t store.FanoutTarget) bool { return t.HerID == to }) {
		return nil
	}
	return &NoPartyError{HerID: to}
}

// rejectUnwanted rejects the submissions that need a recipient and lack it, in the transaction in which they would be
// written: a subscription that ends at this moment either gets the event or has it rejected. It accepts an event that this
// client sent before, for that has its deliveries.
func rejectUnwanted(ctx context.Context, tx *store.Tx, index *index, group []*pending, rows [][]store.Event) error {
	for i, p := range group {
		if !p.isNew() {
			continue
		}
		for n := range rows[i] {
			missing := index.missing(p, n, &rows[i][n])
			if missing == nil {
				continue
			}
			_, err := tx.EventIDByIdentity(ctx, p.ClientID, rows[i][n].CESource, rows[i][n].CEID)
			if errors.Is(err, store.ErrNotFound) {
				p.err = missing
				break
			}
			if err != nil {
				return fmt.Errorf("find event sent before: %w", err)
			}
		}
	}
	return nil
}

// Policy holds the settings of the engine that can change while it runs. A zero member is as in Config.
type Policy struct {
	// KeyLifetime is the validity of an Idempotency-Key that begins now (IDEM-07).
	KeyLifetime time.Duration
	// Circuit configures when the circuit of a failing endpoint opens (EDU-12).
	Circuit CircuitPolicy
	// Dedupe leaves repeated events out of every subscription, also of those that do not ask for it (EDU-18b).
	Dedupe bool
}

// refresh reads the policy again. Call it before a transaction or a lock, never within: the answer may come from the database.
// On an error the last one stays.
func (e *Engine) refresh(ctx context.Context) {
	if e.cfg.Live == nil {
		return
	}
	p, err := e.cfg.Live(ctx)
	if err != nil {
		e.cfg.Log.Error("read policy failed", "error", err)
		return
	}
	p.KeyLifetime = cmp.Or(p.KeyLifetime, e.cfg.KeyLifetime)
	p.Circuit = p.Circuit.withDefaults()
	e.live.Store(&p)
}

// policy returns the policy that applies now.
func (e *Engine) policy() Policy {
	if p := e.live.Load(); p != nil {
		return *p
	}
	return Policy{KeyLifetime: e.cfg.KeyLifetime, Circuit: e.cfg.Circuit}
}

// deduper collects new deliveries of subscriptions that ask for no repeated events, so that an event that the subscription was
// handed before, by its (source, id), makes no delivery (EDU-18b). Resends and replays of all events bypass it.
//
// The known hole: a crash after an attempt and before its outcome is written has that delivery sent once more. No intermediary
// can close it; only the consumer can, by storing (source, id) in the transaction of its work (EDU-18a).
type deduper struct {
	identity map[int]store.Handed // by index of the delivery
}

// add notes the delivery at an index as one of such a subscription.
func (h *deduper) add(index int, d *store.Delivery, row *store.Event) {
	if h.identity == nil {
		h.identity = make(map[int]store.Handed)
	}
	h.identity[index] = store.Handed{SubscriptionID: d.SubscriptionID, Identity: store.EventIdentity(row.CESource, row.CEID)}
}

// dropRepeated records what is handed over now, and drops the deliveries of what was handed over before, which shows on the
// page of the event.
func (h *deduper) dropRepeated(ctx context.Context, tx *store.Tx, deliveries []fanoutDelivery) ([]fanoutDelivery, error) {
	if len(h.identity) == 0 {
		return deliveries, nil
	}
	all := make([]store.Handed, 0, len(h.identity))
	for _, identity := range h.identity {
		all = append(all, identity)
	}
	fresh, err := tx.InsertHanded(ctx, all)
	if err != nil {
		return nil, err
	}
	wanted := make([]fanoutDelivery, 0, len(deliveries))
	var out []store.LeftOut
	for i, d := range deliveries {
		identity, asked := h.identity[i]
		if asked && !fresh[identity] {
			out = append(out, store.LeftOut{EventID: d.EventID, SubscriptionID: d.SubscriptionID, PartnerID: d.PartnerID})
			continue
		}
		delete(fresh, identity) // a second one in the same group is a repeat
		wanted = append(wanted, d)
	}
	return wanted, tx.InsertLeftOut(ctx, out)
}

// linkObjects gives the objects of new events to them, in the transaction that writes the events.
func linkObjects(ctx context.Context, tx *store.Tx, p *pending, n int, row *store.Event) error {
	if len(p.Objects) == 0 || p.Objects[n] == "" {
		return nil
	}
	if err := tx.LinkObject(ctx, p.Objects[n], row.ID); err != nil {
		return fmt.Errorf("link object of event: %w", err)
	}
	return nil
}
