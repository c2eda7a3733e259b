package identity

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"schakel/registry"
	"schakel/registry/identity/token"
	"schakel/store"
)

var _ token.Clients = (*Clients)(nil)

// TokenClient implements token.Clients. A client of a partner that is not
// approved gets no tokens, and those it has stop within seconds.
func (c *Clients) TokenClient(ctx context.Context, clientID string) (token.Client, error) {
	if !utf8.ValidString(clientID) || strings.Contains(clientID, "\x00") {
		return token.Client{}, token.ErrUnknownClient // PostgreSQL would fail on it
	}
	client, err := c.cfg.DB.Client(ctx, clientID)
	if errors.Is(err, store.ErrNotFound) {
		return token.Client{}, token.ErrUnknownClient
	}
	if err != nil {
		return token.Client{}, fmt.Errorf("find client: %w", err)
	}
	partner, err := c.cfg.DB.Partner(ctx, client.PartnerID)
	if err != nil {
		return token.Client{}, fmt.Errorf("find partner of client: %w", err)
	}
	found := token.Client{
		ID: client.ID, PartnerID: client.PartnerID, Name: client.Name, Status: token.StatusActive,
		AuthMethod: client.AuthMethod, SecretHash: client.SecretHash, JWKS: []byte(client.JWKS), JWKSURI: client.JWKSURI,
		Scopes: client.Scopes, TokenVersion: client.TokenVersion,
	}
	if partner.Own {
		found.PartnerID = ""
	}
	switch {
	case client.Status != store.ClientActive:
		found.Status = client.Status
	case partner.Status != store.PartnerApproved:
		found.Status = "partner " + partner.Status
	}
	return found, nil
}

// Actor is a client as the author of a change, for the APIs. It is no
// administrator: a client of the own organisation changes what is the own
// organisation's. What its token's scopes allow is checked before this.
func (c *Clients) Actor(ctx context.Context, clientID string) (registry.Actor, error) {
	client, err := c.cfg.DB.Client(ctx, clientID)
	if err != nil {
		return registry.Actor{}, registry.Found("client", err)
	}
	return registry.Actor{Kind: registry.ActorClient, ID: client.ID, Name: client.Name, PartnerID: client.PartnerID}, nil
}
