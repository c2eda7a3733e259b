// Package claimcheck keeps the data of events apart that is too large to travel inside them (EDU-01a, CE-21): the data
// becomes an object, and the event goes on with a dataref, the address where receivers of the event fetch the object.
//
// An object is written before its event, in transactions of its own, so that the intake of others does not wait for it. It
// belongs to the event from the transaction on that writes the event. The known hole is a crash between the two: it
// leaves an object that belongs to nothing, which is removed within two hours; the sender got no 202 and sends again.
package claimcheck

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"schakel/delivery/event"
	"schakel/store"
)

// Objects is where objects are kept.
type Objects interface {
	// NewID makes the id of a new object.
	NewID() string
	// Put keeps the bytes of an object.
	Put(ctx context.Context, o store.Object, data []byte) error
	// Open reads the bytes of an object; ctx bounds the life of the reader.
	Open(ctx context.Context, o store.Object) io.ReadSeeker
	// Drop removes an object that belongs to nothing.
	Drop(ctx context.Context, id string) error
}

// Config of a Keeper. All must be set.
type Config struct {
	Objects Objects
	// Address is the absolute URL where an object can be fetched.
	Address func(id string) string
}

// Keeper keeps data apart. It is safe for concurrent use.
type Keeper struct{ cfg Config }

// New makes a Keeper.
func New(cfg Config) *Keeper { return &Keeper{cfg} }

// Limits says which data is kept apart.
type Limits struct {
	EventBytes int // what an event may take on the wire; data of a larger one is kept apart
	DataBytes  int // the most data of one event that is kept
}

// Sender is who sent the events.
type Sender struct{ PartnerID, ClientID string }

// Problem says why the data of an event cannot be kept apart.
type Problem struct {
	Index int // of the event, from 0
	// Twice: the event refers to data of its own, so that it cannot refer to ours.
	Twice bool
	// Max and Got are bytes: of data, or with Bare of the event without its data.
	Max, Got int
	Bare     bool
}

// Error tells the sender what to do.
func (p *Problem) Error() string {
	switch {
	case p.Twice:
		return "the event has a dataref and data that is too large to travel with it; send the event with the dataref alone, or without it"
	case p.Bare:
		return fmt.Sprintf("the event is too large even without its data: %d bytes, at most %d are taken; move attributes into the data", p.Got, p.Max)
	}
	return fmt.Sprintf("the data is too large: %d bytes, at most %d are taken", p.Got, p.Max)
}

// Kept is what became of the events of a request.
type Kept struct {
	Events []event.Event
	// Objects are the ids of the objects, by event; empty for an event that has its data in it. Nil when none has.
	Objects []string
}

// Keep puts the data of the events that are too large apart. The errors are *Problem, or of the store; then nothing is
// kept. Events that fit are not touched.
func (k *Keeper) Keep(ctx context.Context, from Sender, events []event.Event, limits Limits) (Kept, error) {
	kept := Kept{Events: events}
	for i := range events {
		if events[i].Size() <= limits.EventBytes {
			continue
		}
		if kept.Objects == nil {
			kept = Kept{Events: append([]event.Event{}, events...), Objects: make([]string, len(events))}
		}
		id := k.cfg.Objects.NewID()
		light, err := refer(&events[i], k.cfg.Address(id), limits)
		if err != nil {
			err.Index = i
			return Kept{}, err
		}
		kept.Events[i], kept.Objects[i] = light, id
	}
	for i, id := range kept.Objects {
		if id == "" {
			continue
		}
		if err := k.put(ctx, from, id, &events[i]); err != nil {
			k.Drop(ctx, kept.Objects)
			return Kept{}, err
		}
	}
	return kept, nil
}

// refer makes the event without its data, and tells whether both are taken.
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

func (k *Keeper) put(ctx context.Context, from Sender, id string, e *event.Event) error {
	sum := sha256.Sum256(e.Data)
	return k.cfg.Objects.Put(ctx, store.Object{
		ID: id, PartnerID: from.PartnerID, ClientID: from.ClientID, ContentType: e.DataType(), Size: int64(len(e.Data)), Digest: sum[:],
	}, e.Data)
}

// Drop removes objects of which no event came: those that belong to one stay. What it cannot remove now is removed within
// two hours, so that it answers nothing.
func (k *Keeper) Drop(ctx context.Context, ids []string) {
	for _, id := range ids {
		if id != "" {
			_ = k.cfg.Objects.Drop(context.WithoutCancel(ctx), id)
		}
	}
}
