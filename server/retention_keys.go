package main

import (
	"context"
	"fmt"
	"time"

	"schakel/registry/profile"
)

// liveKeyLifetime sets how long an Idempotency-Key lives by the profile.
func liveKeyLifetime(profiles *profile.Profiles) lifetime {
	return func(ctx context.Context) (time.Duration, error) {
		p, err := profiles.Current(ctx)
		if err != nil {
			return 0, fmt.Errorf("lifetime of keys: %w", err)
		}
		return p.KeyLifetime, nil
	}
}
