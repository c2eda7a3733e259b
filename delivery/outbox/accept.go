package outbox

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"schakel/delivery/event"
	"schakel/store"
)

// Errors of Accept that a caller branches on.
var (
	// ErrKeyReused: the Idempotency-Key was used with other content (422).
	ErrKeyReused = errors.New("the Idempotency-Key was used before with other content")
	// ErrKeyInUse: the first request with this key is not durable yet (409).
	ErrKeyInUse = errors.New("a request with this Idempotency-Key is being handled")
	// ErrUnavailable: the events could not be kept (503).
	ErrUnavailable = errors.New("the events could not be stored")
	// ErrBusy: more waits to be stored than is sensible (503 with Retry-After).
	ErrBusy = errors.New("too many events wait to be stored")
	// ErrNoRecipient: nobody is subscribed to an event, and the submission asked for a recipient of each.
	ErrNoRecipient = errors.New("nobody is subscribed to the event")
)

// operation is the name under which intake keeps its idempotency keys.
const operation = "POST /events/v1/events"

// Submission is one intake request: the events that stand or fall together.
type Submission struct {
	ClientID, PartnerID string
	FromOwn             bool // the client is the own organisation's
	// Key is the Idempotency-Key as a lower-case UUID; empty when the chain does not ask for one.
	Key         string
	Fingerprint []byte // SHA-256 of the request; of the body, and in binary mode of the context headers too (IDEM-08)
	Events      []event.Event
	// Objects are the ids of the objects that hold data kept apart, by event; empty for an event that has its data in it.
	// Nil when none has.
	Objects []string
	// Versions are the versions of its contract that each event fits, with spaces between; empty for an event of which that is
	// not known, which goes to subscriptions to any version (EDU-08). Nil when it is known of none.
	Versions []string
	// Audience is whom the events are for, of those who are subscribed; the zero value is all. It is kept with them, so that
	// a replay and a preview ask the same, and what was accepted before keeps the audience it had.
	Audience store.Audience
	// Quarantine keeps the events aside when the key was used with other content, where ErrKeyReused is the answer
	// otherwise (error E11).
	Quarantine bool
	// NeedRecipient refuses the events with ErrNoRecipient when one of them is new and no subscription takes it: whoever accepts
	// them answers for their delivery (G10).
	NeedRecipient bool
	// Wait waits for the first request with this key, where ErrKeyInUse is the answer otherwise (error E12).
	Wait bool
}

// Accepted is what became of one event of a submission.
type Accepted struct {
	EventID   string `json:"eventId"`
	ID        string `json:"id"`
	Source    string `json:"source"`
	Duplicate bool   `json:"duplicate,omitempty"` // this client sent the event before; it stays one event (G4)
}

// Receipt is the answer to a submission. A repeated request gets the same one (IDEM-14).
type Receipt struct {
	Events []Accepted `json:"events"`
	// Quarantined is under which id the events were kept aside; empty when they were accepted.
	Quarantined string `json:"quarantineId,omitempty"`
	Replayed    bool   `json:"-"`
}

// pending is a submission on its way to the disk.
type pending struct {
	Submission
	receipt Receipt
	err     error
	done    chan struct{}
}

// Accept keeps the events of s with one delivery per approved subscription, and returns once that is on disk. When ctx
// ends first the events may or may not have been kept; the caller repeats the request under the same key.
func (e *Engine) Accept(ctx context.Context, s Submission) (Receipt, error) {
	if e.closing.Load() {
		return Receipt{}, ErrUnavailable
	}
	name := s.ClientID + " " + s.Key
	if s.Key != "" {
		if err := e.inFlight.enter(ctx, name, s.Wait); err != nil {
			return Receipt{}, err
		}
	}
	p := &pending{Submission: s, done: make(chan struct{})}
	select {
	case e.submissions <- p:
	default:
		e.inFlight.leave(name)
		return Receipt{}, ErrBusy
	}
	select {
	case <-p.done:
		if s.Quarantine && s.Audience.Everyone() && errors.Is(p.err, ErrKeyReused) { // the quarantine keeps no audience
			return e.quarantine(ctx, s)
		}
		return p.receipt, p.err
	case <-e.intakeOver:
		return e.unheard(p)
	case <-ctx.Done():
		return Receipt{}, ctx.Err()
	}
}

// unheard answers a submission after the loop that writes events has ended. What that loop took was answered before; nothing
// answers what was queued later.
func (e *Engine) unheard(p *pending) (Receipt, error) {
	select {
	case <-p.done:
		return p.receipt, p.err
	default:
		e.inFlight.leave(p.ClientID + " " + p.Key)
		return Receipt{}, ErrUnavailable
	}
}

// inFlightKeys are the keys whose first request is not durable yet, each with a channel that is closed when it is.
type inFlightKeys struct {
	mu   sync.Mutex
	keys map[string]chan struct{}
}

// enter takes a key. While another request has it, it waits or answers ErrKeyInUse.
func (k *inFlightKeys) enter(ctx context.Context, name string, wait bool) error {
	for {
		busy := k.take(name)
		switch {
		case busy == nil:
			return nil
		case !wait:
			return ErrKeyInUse
		}
		select {
		case <-busy:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// take takes a key, or answers when to try again.
func (k *inFlightKeys) take(name string) (busy <-chan struct{}) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if busy := k.keys[name]; busy != nil {
		return busy
	}
	if k.keys == nil {
		k.keys = make(map[string]chan struct{})
	}
	k.keys[name] = make(chan struct{})
	return nil
}

func (k *inFlightKeys) leave(name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if done := k.keys[name]; done != nil {
		close(done)
		delete(k.keys, name)
	}
}

// rows makes the database rows of the events of a submission, under new ids.
func (p *pending) rows(tx *store.Tx) []store.Event {
	rows := make([]store.Event, len(p.Events))
	for i := range p.Events {
		rows[i] = Row(tx, &p.Events[i], p.PartnerID, p.ClientID)
		rows[i].ContractVersions, rows[i].Audience = p.versions(i), p.Audience
	}
	return rows
}

// versions are those that event i fits.
func (s *Submission) versions(i int) string {
	if len(s.Versions) == 0 {
		return ""
	}
	return s.Versions[i]
}

// Row makes the database row of an event that a client of a partner offered.
func Row(tx *store.Tx, ev *event.Event, partnerID, clientID string) store.Event {
	return store.Event{
		ID: tx.NewID("evt"), PartnerID: partnerID, ClientID: clientID, CEID: ev.ID, CESource: ev.Source, CEType: ev.Type,
		CESubject: ev.Subject, Attributes: ev.Attributes, DataKind: int64(ev.DataKind), Data: ev.Data, AcceptedAt: tx.Now,
	}
}

func (p *pending) expect(rows []store.Event) {
	p.receipt = Receipt{Events: make([]Accepted, len(rows))}
	for i, r := range rows {
		p.receipt.Events[i] = Accepted{EventID: r.ID, ID: r.CEID, Source: r.CESource}
	}
}

func (p *pending) body() []byte {
	body, err := json.Marshal(p.receipt)
	if err != nil {
		panic("a receipt of strings cannot fail to encode: " + err.Error())
	}
	return body
}
