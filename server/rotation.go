package main

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"schakel/registry/installation"
	"schakel/registry/services"
	"schakel/templates/i18n"
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

// rotation replaces keys that have signed for as long as the settings allow, each once, whichever node sees first that it is due, and tells of it.
type rotation struct {
	services *services.Services
	alerts   *alerts

	mu     sync.Mutex
	failed error // of the last turn
}

func newRotation(s *services.Services, told *alerts, log *slog.Logger) *periodic {
	r := &rotation{services: s, alerts: told}
	told.more = r.findings
	return &periodic{name: "key rotation", each: rotationEvery, log: log, turn: r.turn}
}

func (r *rotation) turn(ctx context.Context) error {
	err := r.replace(ctx)
	if ctx.Err() == nil {
		r.mu.Lock()
		r.failed = err
		r.mu.Unlock()
	}
	return err
}

// replace replaces what is due. That a key could not be replaced keeps no other from it.
func (r *rotation) replace(ctx context.Context) error {
	set, err := r.services.Profile.InForce(ctx)
	if err != nil {
		return err
	}
	const day = 24 * time.Hour
	kid, err := r.services.SigningKeys.RotateDue(ctx, time.Duration(set.TokenKeyDays)*day)
	if kid != "" {
		r.alerts.replaced(ctx, kid, "installation.rotation.token")
	}
	endpoints, failed := r.services.Endpoints.RotateDue(ctx, time.Duration(set.SignKeyDays)*day)
	for _, e := range endpoints {
		r.alerts.replaced(ctx, e.ID, i18n.M("installation.rotation.endpoint", e.Name))
	}
	return errors.Join(err, failed)
}

// findings says that a key which is due could not be replaced. The mails and events of alerts follow from it: when it lasts, each day, and when it is over.
func (r *rotation) findings() []installation.Finding {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed == nil {
		return nil
	}
	return []installation.Finding{{
		Code: "rotation-failed", Severity: installation.Error, Text: i18n.M("installation.rotation.failed", i18n.Raw(r.failed.Error())),
		Remedy: "installation.rotation.failed-remedy", Href: "/docs/certificates",
	}}
}
