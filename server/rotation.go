package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"schakel/registry/services"
)

// rotationEvery sets how often a node looks whether a key is due.
const rotationEvery = 10 * time.Minute

// lapseEvery sets how often a node looks whether something waited too long for a second person.
const lapseEvery = time.Minute

// newLapse makes the service that ends what waited too long for a second person, and asks for the proof that changed destinations wait for,
// whichever node is first.
func newLapse(s *services.Services, log *slog.Logger) *periodic {
	return &periodic{name: "what waits", each: lapseEvery, log: log, turn: func(ctx context.Context) error {
		return errors.Join(s.Confirmations.ExpireDue(ctx), s.Endpoints.ProveDue(ctx))
	}}
}

// newRotation makes the service that replaces keys that have signed for as long as the settings allow. Each is replaced once, whichever
// node sees first that it is due.
func newRotation(s *services.Services, log *slog.Logger) *periodic {
	return &periodic{name: "key rotation", each: rotationEvery, log: log, turn: func(ctx context.Context) error {
		set, err := s.Profile.InForce(ctx)
		if err != nil {
			return err
		}
		const day = 24 * time.Hour
		return errors.Join(
			s.SigningKeys.RotateDue(ctx, time.Duration(set.TokenKeyDays)*day),
			s.Endpoints.RotateDue(ctx, time.Duration(set.SignKeyDays)*day),
		)
	}}
}
