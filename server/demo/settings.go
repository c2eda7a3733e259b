package demo

import (
	"context"
	"fmt"

	"schakel/registry"
	"schakel/registry/profile"
)

// ChangeSettings changes settings of the chain collaboration, by key, and leaves the others as they are.
func (c *Chain) ChangeSettings(ctx context.Context, change map[string]string) error {
	state, err := c.Profile.Load(ctx)
	if err != nil {
		return fmt.Errorf("change settings: %w", err)
	}
	values := state.Values()
	for key, value := range change {
		values[key] = value
	}
	if _, _, err = c.Profile.Save(ctx, registry.SystemActor(), profile.ProfileChange{Version: state.Version, Values: values}); err != nil {
		return fmt.Errorf("change settings: %w", err)
	}
	return nil
}
