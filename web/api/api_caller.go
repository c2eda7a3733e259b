package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"
	"schakel/delivery/outbox"
	"schakel/registry"
	"schakel/registry/contracts"
	"schakel/store"
)

// caller is the client whose token a request carries, with its partner. What a
// handler looks up, it looks up for caller.partner alone (guarantee G7).
type caller struct {
	client  store.Client
	partner store.Partner
	readKey bool // it is a read-only key of the partner, and client only bears its id and name
}

const contextCaller = "caller"

// withCaller finds the client and the partner of the token, behind requireScope.
func (m *machineAPI) withCaller(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		claims, ok := callerOf(c)
		if !ok {
			return next(c)
		}
		found, err := m.callers.get(c.Request().Context(), claims.ClientID, m.loadCaller)
		if errors.Is(err, store.ErrNotFound) {
			return invalidToken("its client does not exist any more")
		}
		if err != nil {
			return err
		}
		c.Set(contextCaller, found)
		return next(c)
	}
}

func (m *machineAPI) loadCaller(ctx context.Context, clientID string) (*caller, error) {
	client, err := m.DB.Client(ctx, clientID)
	if err != nil {
		return nil, fmt.Errorf("find client of token: %w", err)
	}
	partner, err := m.DB.Partner(ctx, client.PartnerID)
	if err != nil {
		return nil, fmt.Errorf("find partner of token: %w", err)
	}
	return &caller{client: client, partner: partner}, nil
}

// caller returns the client that asks, on routes behind withCaller that need a token.
func (m *machineAPI) caller(c echo.Context) (caller, error) {
	found, ok := c.Get(contextCaller).(*caller)
	if !ok || found.partner.ID == "" {
		return caller{}, newProblem(http.StatusUnauthorized, "token-missing", "Send an access token as Authorization: Bearer.").
			with("WWW-Authenticate", "Bearer")
	}
	return *found, nil
}

// actor is the caller for changes of its own partner's rows. A client is never
// an administrator here, also not one of the own organisation.
func (c caller) actor() registry.Actor {
	return registry.Actor{Kind: registry.ActorClient, ID: c.client.ID, Name: c.client.Name, PartnerID: c.partner.ID}
}

// engineActor is actor for the delivery engine.
func (c caller) engineActor() outbox.Actor {
	return outbox.Actor{Kind: registry.ActorClient, ID: c.client.ID, Name: c.client.Name, PartnerID: c.partner.ID}
}

// downloader is the caller as one that fetches a contract.
func (c caller) downloader() contracts.Downloader {
	kind := store.DownloadClient
	if c.readKey {
		kind = store.DownloadReadKey
	}
	return contracts.Downloader{Kind: kind, ID: c.client.ID, PartnerID: c.partner.ID}
}

func (c caller) scope() registry.Scope { return registry.ScopeOf(c.partner.ID) }
