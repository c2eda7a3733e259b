package outbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	// ErrUnavailable: the events could not be stored (503).
	ErrUnavailable = errors.New("the events could not be stored")
	// ErrBusy: too many events wait to be stored (503 with Retry-After).
	ErrBusy = errors.New("too many events wait to be stored")
	// ErrNoRecipient: nobody is subscribed to an event, and the submission asked for a recipient of each.
	ErrNoRecipient = errors.New("nobody is subscribed to the event")
)

// NoPartyError: no approved subscription delivers the event to the health party that its business message is addressed to (422).
type NoPartyError struct{ HerID int64 }

// Error implements error.
func (e *NoPartyError) Error() string {
	return fmt.Sprintf("no subscription delivers to the party with HER-id %d", e.HerID)
}

// operation names intake in the table of idempotency keys.
const operation = "POST /events/v1/events"

// Submission holds the events of one intake request, which are accepted or rejected together.
type Submission struct {
	ClientID, PartnerID string
	FromOwn             bool // the client is the own organisation's
	// Key is the Idempotency-Key as a lower-case UUID; empty when the chain does not ask for one.
	Key         string
	Fingerprint []byte // SHA-256 of the request; of the body, and in binary mode of the context headers too (IDEM-08)
	Events      []event.Event
	// Objects holds the ids of the objects with oversize data, by event: empty for an event that carries its data, nil when
	// all do.
	Objects []string
	// Versions lists, by event and separated by spaces, the contract versions that the event fits. An event without any goes
	// to subscriptions to every version (EDU-08). Nil when they are unknown for all.
	Versions []string
	// Audience restricts the events to some of the subscribers; the zero value to none. It is stored with them, so that a
	// replay and a preview apply the same restriction.
	Audience store.Audience
	// Audiences restrict single events, by their place; the zero value of one to none. Default none of them.
	Audiences []store.Audience
	// Quarantine stores the events in the quarantine when the key was used with other content, instead of answering
	// ErrKeyReused (error E11).
	Quarantine bool
	// NeedRecipient rejects the events with ErrNoRecipient when one of them is new and no subscription takes it: the node that
	// accepts them answers for their delivery (G10).
	NeedRecipient bool
	// Wait waits for the first request with this key, instead of answering ErrKeyInUse (error E12).
	Wait bool
}

// Accepted reports one event of a submission as it was stored.
type Accepted struct {
	EventID   string `json:"eventId"`
	ID        string `json:"id"`
	Source    string `json:"source"`
	Duplicate bool   `json:"duplicate,omitempty"` // this client sent the event before; it stays one event (G4)
}

// Receipt answers a submission. A repeated request gets the same one (IDEM-14).
type Receipt struct {
	Events []Accepted `json:"events"`
	// Quarantined identifies the quarantined request; empty when the events were accepted.
	Quarantined string `json:"quarantineId,omitempty"`
	Replayed    bool   `json:"-"`
}

type pending struct {
	Submission
	sealed  []store.SealedData // the data of each event as it is stored
	receipt Receipt
	err     error
	done    chan struct{}
}

// Accept stores the events of s with one delivery per approved subscription, and returns once that is on disk. When ctx ends
// first the events may or may not have been stored; the caller repeats the request under the same key.
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
	if err := e.sealData(ctx, p); err != nil {
		e.inFlight.leave(name)
		return Receipt{}, err
	}
	select {
	case e.submissions <- p:
	default:
		e.inFlight.leave(name)
		return Receipt{}, ErrBusy
	}
	select {
	case <-p.done:
		if s.Quarantine && s.Audience.Everyone() && len(s.Audiences) == 0 && errors.Is(p.err, ErrKeyReused) { // the quarantine stores no audience
			return e.quarantine(ctx, s)
		}
		return p.receipt, p.err
	case <-e.intakeStopped:
		return e.answerAfterStop(p)
	case <-ctx.Done():
		return Receipt{}, ctx.Err()
	}
}

// sealData encrypts the data of the events of a submission, when data is encrypted: here, where submissions work side by side, and not in the
// one loop that writes. The data of an event that refers to an object stands for it: when the one cannot be read, the other cannot.
func (e *Engine) sealData(ctx context.Context, p *pending) error {
	e.refresh(ctx) // the setting may be new
	p.sealed = make([]store.SealedData, len(p.Events))
	for i := range p.Events {
		ev := &p.Events[i]
		if len(ev.Data) == 0 && (len(p.Objects) == 0 || p.Objects[i] == "") {
			continue
		}
		var err error
		p.sealed[i], err = e.cfg.DB.SealData(ctx, p.PartnerID, store.EventPlace(p.ClientID, ev.Source, ev.ID), ev.Data)
		if err != nil {
			return fmt.Errorf("%w: encrypt data: %w", ErrUnavailable, err)
		}
	}
	return nil
}

// answerAfterStop answers a submission that was queued around the end of the loop that writes events: with its receipt when
// that loop took it, else with ErrUnavailable.
func (e *Engine) answerAfterStop(p *pending) (Receipt, error) {
	select {
	case <-p.done:
		return p.receipt, p.err
	default:
		e.inFlight.leave(p.ClientID + " " + p.Key)
		return Receipt{}, ErrUnavailable
	}
}

// inFlightKeys holds the keys whose first request is not durable yet, each with a channel that is closed when it is.
type inFlightKeys struct {
	mu   sync.Mutex
	keys map[string]chan struct{}
}

// enter claims a key. While another request has it, it waits or returns ErrKeyInUse.
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

// take claims a key, or returns a channel that is closed when the request that has it ends.
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

// rows makes the database rows of the events of a submission, with new ids.
func (p *pending) rows(tx *store.Tx) []store.Event {
	rows := make([]store.Event, len(p.Events))
	for i := range p.Events {
		rows[i] = Row(tx, &p.Events[i], p.PartnerID, p.ClientID)
		rows[i].ContractVersions, rows[i].Audience = p.versions(i), p.audience(i)
		if len(p.sealed) > 0 {
			rows[i].Keep(p.sealed[i])
		}
	}
	return rows
}

// versions returns the contract versions that event i fits.
func (s *Submission) versions(i int) string {
	if len(s.Versions) == 0 {
		return ""
	}
	return s.Versions[i]
}

// audience returns whom event i is for.
func (s *Submission) audience(i int) store.Audience {
	if len(s.Audiences) == 0 {
		return s.Audience
	}
	return s.Audiences[i]
}

// Row makes the database row of an event that a partner's client published.
func Row(tx *store.Tx, ev *event.Event, partnerID, clientID string) store.Event {
	correlation, _ := ev.Extension("correlationid")
	return store.Event{
		ID: tx.NewID("evt"), PartnerID: partnerID, ClientID: clientID, CEID: ev.ID, CESource: ev.Source, CEType: ev.Type,
		CESubject: ev.Subject, Correlation: correlation, Attributes: ev.Attributes, DataKind: int64(ev.DataKind), Data: ev.Data, AcceptedAt: tx.Now,
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
