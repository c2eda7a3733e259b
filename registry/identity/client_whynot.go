package identity

import (
	"context"
	"errors"
	"slices"

	"schakel/registry"
	"schakel/store"
)

// WhyNot tells why a client may not publish events of a type and source now, as a sentence; empty when it may. It
// judges what intake judges of a token and of an event: the scope, the type, and the source as the profile binds it (CE-10).
func (c *Clients) WhyNot(ctx context.Context, client store.Client, eventType, source string) (string, error) {
	state, err := c.profile.InForce(ctx)
	if err != nil {
		return "", err
	}
	err = MayPublishNow(client, eventType)
	if err == nil && state.SourceBinding == registry.PolicyEnforce {
		err = MayPublishFrom(client, source)
	}
	if e, ok := errors.AsType[*registry.Error](err); ok {
		return e.Message, nil
	}
	return "", err
}

// MayPublishNow is MayPublishType for a client whose token is not at hand: it must have the scope as well.
func MayPublishNow(client store.Client, eventType string) error {
	if !slices.Contains(client.Scopes, ScopeEventsPublish) {
		return &registry.Error{Code: registry.CodeForbidden, Message: "This client does not have the scope " + ScopeEventsPublish + "."}
	}
	return MayPublishType(client, eventType)
}
