package main

import (
	"context"
	"log/slog"
	"time"

	"schakel/registry"
	"schakel/registry/services"
)

// How often what partners that ended have sent is looked at, and first after the start.
const (
	eraseEvery = time.Hour
	eraseFirst = time.Minute
)

// newErasure makes the service that erases the data of partners that ended, where the settings say so. Several nodes may do it at once.
func newErasure(s *services.Services, log *slog.Logger) *periodic {
	return &periodic{name: "erasure", first: eraseFirst, each: eraseEvery, log: log, turn: func(ctx context.Context) error {
		set, err := s.Profile.Current(ctx)
		if err != nil || set.DataEnded != registry.DataErased {
			return err
		}
		n, err := s.Partners.EraseEnded(ctx)
		if n > 0 {
			log.InfoContext(ctx, "erased the data of partners that ended", "partners", n)
		}
		return err
	}}
}
