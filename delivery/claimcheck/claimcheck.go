// Package claimcheck stores the data of events that is too large to travel inside them (EDU-01a, CE-21): the data becomes an
// object, and the event goes on with a dataref, the address from which its receivers fetch the object.
//
// An object is written before its event, in a transaction of its own, so that the intake of others does not wait for it. It
// belongs to the event from the transaction on that writes the event. The known hole is a crash between the two: it leaves an
// object without an event, which is removed within two hours; the sender got no 202 and sends again.
package claimcheck

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"slices"
	"strconv"

	"schakel/delivery/event"
	"schakel/store"
	"schakel/templates/i18n"
)

// Objects is an object store.
type Objects interface {
	// NewID makes the id of a new object.
	NewID() string
	// Put stores the bytes of an object.
	Put(ctx context.Context, o store.Object, data []byte) error
	// Open reads the bytes of an object; ctx bounds the life of the reader.
	Open(ctx context.Context, o store.Object) io.ReadSeeker
	// Drop removes an object that belongs to nothing.
	Drop(ctx context.Context, id string) error
}

// Config configures a Service. All must be set.
type Config struct {
	Objects Objects
	// Address returns the absolute URL from which an object can be fetched.
	Address func(id string) string
}

// Service stores oversize data of events as objects. It is safe for concurrent use.
type Service struct{ cfg Config }

// New makes a Service.
func New(cfg Config) *Service { return &Service{cfg} }

// Limits decide which data is oversize.
type Limits struct {
	EventBytes int // most bytes of an event on the wire; data of a larger one is stored apart
	DataBytes  int // most bytes of stored data of one event
}

// Sender identifies the sender of the events.
type Sender struct{ PartnerID, ClientID string }

// Problem reports why the data of an event cannot be stored apart.
type Problem struct {
	Index int // of the event, from 0
	// Twice: the event refers to data of its own, so that it cannot refer to ours.
	Twice bool
	// Max and Got are bytes: of data, or with Bare of the event without its data.
	Max, Got int
	Bare     bool
}

// Error explains to the sender what to do.
func (p *Problem) Error() string { return p.Message().String() }

// Message explains to the sender what to do.
func (p *Problem) Message() i18n.Message {
	got, most := strconv.Itoa(p.Got), strconv.Itoa(p.Max)
	switch {
	case p.Twice:
		return "events.too-large.twice"
	case p.Bare:
		return i18n.M("events.too-large.bare", got, most)
	}
	return i18n.M("events.too-large.data", got, most)
}

// Stored holds the events of a request, oversize data replaced by references.
type Stored struct {
	Events []event.Event
	// Objects holds the ids of the objects, by event; empty for an event that carries its data. Nil when all do.
	Objects []string
}

// Store stores the oversize data of events as objects. The errors are *Problem, or of the store; then nothing is stored.
// Events that fit stay unchanged.
func (s *Service) Store(ctx context.Context, from Sender, events []event.Event, limits Limits) (Stored, error) {
	stored := Stored{Events: events}
	for i := range events {
		if events[i].Size() <= limits.EventBytes {
			continue
		}
		if stored.Objects == nil {
			stored = Stored{Events: slices.Clone(events), Objects: make([]string, len(events))}
		}
		id := s.cfg.Objects.NewID()
		light, err := refer(&events[i], s.cfg.Address(id), limits)
		if err != nil {
			err.Index = i
			return Stored{}, err
		}
		stored.Events[i], stored.Objects[i] = light, id
	}
	for i, id := range stored.Objects {
		if id == "" {
			continue
		}
		if err := s.put(ctx, from, id, &events[i]); err != nil {
			s.Drop(ctx, stored.Objects)
			return Stored{}, err
		}
	}
	return stored, nil
}

// refer makes the event without its data, and returns a problem unless both are accepted.
func refer(e *event.Event, address string, limits Limits) (event.Event, *Problem) {
	light, err := e.Refer(address)
	if errors.Is(err, event.ErrDataRef) {
		return light, &Problem{Twice: true}
	}
	if err != nil {
		panic("the attributes of an event that was read cannot be read: " + err.Error())
	}
	if size := light.Size(); size > limits.EventBytes {
		return light, &Problem{Bare: true, Max: limits.EventBytes, Got: size}
	}
	if len(e.Data) > limits.DataBytes {
		return light, &Problem{Max: limits.DataBytes, Got: len(e.Data)}
	}
	return light, nil
}

func (s *Service) put(ctx context.Context, from Sender, id string, e *event.Event) error {
	sum := sha256.Sum256(e.Data)
	return s.cfg.Objects.Put(ctx, store.Object{
		ID: id, PartnerID: from.PartnerID, ClientID: from.ClientID, ContentType: e.DataType(), Size: int64(len(e.Data)), Digest: sum[:],
	}, e.Data)
}

// Drop removes objects without an event: those that belong to one stay. An object that it cannot remove now is removed within
// two hours, so it returns no error.
func (s *Service) Drop(ctx context.Context, ids []string) {
	for _, id := range ids {
		if id != "" {
			_ = s.cfg.Objects.Drop(context.WithoutCancel(ctx), id)
		}
	}
}

// Database stores objects in the database, so that every node has them and so does every backup.
type Database struct{ DB *store.DB }

// NewID implements Objects.
func (d Database) NewID() string { return d.DB.NewID("obj") }

// Put implements Objects.
func (d Database) Put(ctx context.Context, o store.Object, data []byte) error {
	return d.DB.PutObject(ctx, o, data)
}

// Open implements Objects.
func (d Database) Open(ctx context.Context, o store.Object) io.ReadSeeker {
	return d.DB.OpenObject(ctx, o)
}

// Drop implements Objects.
func (d Database) Drop(ctx context.Context, id string) error {
	return d.DB.Write(ctx, func(tx *store.Tx) error { return tx.DropObject(ctx, id) })
}
