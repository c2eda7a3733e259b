package identity

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"schakel/registry"
	"schakel/registry/identity/token"
	"schakel/store"
	"schakel/templates/i18n"
)

// Whoever has the keys of a client that reads gets by pull what a webhook would be sent. So where a changed destination of a webhook waits
// (sending.new_destination), a scope to read and other keys of a client that has one wait too, for an administrator, since no host answers a
// challenge. The keys that a client has go on meanwhile.

// readScopes are the scopes with which a client reads events and mutations.
var readScopes = []string{ScopeEventsConsume, ScopeMutationsRead}

// FreeScopes lists the scopes a partner may give its clients itself, as the profile says now; the others wait for an administrator. While the
// profile cannot be read, none of them reads.
func (c *Clients) FreeScopes(ctx context.Context) []string {
	free := []string{ScopeSubscriptionsWrite, ScopeRegistryRead}
	if set, err := c.profile.InForce(ctx); err == nil && set.NewDestination == registry.DestinationAtOnce {
		free = append(free, readScopes...)
	}
	return free
}

// clientKeys are the keys of a client: a JWK set or where it is, or the hash of a secret.
type clientKeys struct {
	JWKS       string `json:"jwks,omitempty"`
	JWKSURI    string `json:"jwksUri,omitempty"`
	SecretHash string `json:"secretHash,omitempty"`
}

func clientKeysOf(c store.Client) clientKeys { return clientKeys{c.JWKS, c.JWKSURI, c.SecretHash} }

// AskedKeys returns the client with the keys that it asked for, where some wait.
func AskedKeys(c store.Client) store.Client {
	if c.RequestedKeys == "" {
		return c
	}
	var k clientKeys
	if json.Unmarshal([]byte(c.RequestedKeys), &k) == nil {
		c.JWKS, c.JWKSURI, c.SecretHash = k.JWKS, k.JWKSURI, k.SecretHash
	}
	return c
}

// RequestedKeys describes the keys that wait; empty when none do.
func RequestedKeys(c store.Client) i18n.Message {
	asked := AskedKeys(c)
	switch {
	case c.RequestedKeys == "":
		return ""
	case asked.JWKSURI != "":
		return i18n.M("identity.asked-keys.at", asked.JWKSURI)
	case asked.JWKS != "":
		return i18n.M("identity.asked-keys.given", strings.Join(token.KeyNames(asked.JWKS), ", "))
	}
	return "identity.asked-keys.secret"
}

// KeysWait reports whether other keys that an actor gives a client wait for an administrator.
func (c *Clients) KeysWait(ctx context.Context, actor registry.Actor, client store.Client) bool {
	free := c.FreeScopes(ctx)
	held := func(scope string) bool { return client.Scopes.Contains(scope) && !slices.Contains(free, scope) }
	return !actor.Administrator && slices.ContainsFunc(readScopes, held)
}

// holdKeys makes keys that client has other than before wait for an administrator, where they must.
func (c *Clients) holdKeys(ctx context.Context, actor registry.Actor, before store.Client, client *store.Client) error {
	now, was := clientKeysOf(*client), clientKeysOf(before)
	client.RequestedKeys = ""
	if now == was || !c.KeysWait(ctx, actor, before) {
		return nil
	}
	text, err := json.Marshal(now)
	if err != nil {
		return fmt.Errorf("write keys that wait: %w", err)
	}
	client.RequestedKeys = string(text)
	client.JWKS, client.JWKSURI, client.SecretHash = was.JWKS, was.JWKSURI, was.SecretHash
	return nil
}
