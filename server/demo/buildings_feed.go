package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"
)

// firstBuildings sets the number of buildings at first.
const firstBuildings = 120

// BuildingsFeed publishes the buildings and what happens to them, as their register would: with a token, at the public API.
type BuildingsFeed struct {
	System *Trickle // as whom; its types and pace do not count
	Every  time.Duration

	register *register
}

// Load publishes all buildings there are, each with its earlier versions.
func (f *BuildingsFeed) Load(ctx context.Context) error {
	f.register = newRegister(20260101, f.System.Now)
	var groups []group
	for i := range firstBuildings {
		groups = append(groups, f.register.open(f.System.Now().UTC().AddDate(-3, 0, -i)))
		if i%4 == 0 {
			groups = append(groups, f.register.renew(i, func(b *building) { b.h *= 1.3 })...)
		}
	}
	return f.publish(ctx, groups)
}

// Run publishes what happens until the context ends. What fails is logged, and sent again with the next.
func (f *BuildingsFeed) Run(ctx context.Context) {
	tick := time.NewTicker(f.Every)
	defer tick.Stop()
	var waiting []group
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		waiting = append(waiting, f.register.happen()...)
		if err := f.publish(ctx, waiting); err != nil {
			if ctx.Err() == nil {
				f.System.Log.WarnContext(ctx, "demo mutations not published", "error", err)
			}
			continue
		}
		waiting = nil
	}
}

func (f *BuildingsFeed) publish(ctx context.Context, groups []group) error {
	f.System.http.Timeout = time.Minute
	if err := f.System.ensureToken(ctx); err != nil {
		return fmt.Errorf("get token: %w", err)
	}
	body, err := json.Marshal(map[string]any{"groups": groups})
	if err != nil {
		return err
	}
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, f.System.Base+"/mutations/v1/datasets/"+BuildingsID+"/mutation-groups", bytes.NewReader(body))
	if err != nil {
		return err
	}
	q.Header.Set("Content-Type", "application/json")
	q.Header.Set("Idempotency-Key", `"`+uuid.NewString()+`"`)
	q.Header.Set("Authorization", "Bearer "+f.System.token)
	return f.System.do(q, http.StatusCreated, nil)
}
