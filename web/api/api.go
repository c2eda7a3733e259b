// Package api carries the APIs of all features: callers, strict JSON, idempotency keys, problem documents, and the OpenAPI documents
// that are served.
//
// It knows no feature: features embed [API] and register their routes with [API.Scoped]. A request with an Idempotency-Key is
// answered from its record when it is repeated (IDEM-07); the record is written with the change, so a crash between the two
// is no second change. Bodies are bounded, and unknown members are refused with their place.
package api

import (
	"context"
	"errors"

	"schakel/delivery/endpointcheck"
	"schakel/delivery/jwe"
	"schakel/delivery/mutation/export"
	"schakel/delivery/mutation/ingest"
	"schakel/delivery/outbox"
	"schakel/delivery/pull"
	"schakel/registry/identity/token"
	"schakel/registry/services"
	"schakel/store"
	"schakel/web/site"
)

// Config configures the APIs for clients. A field without a default must be
// set.
type Config struct {
	// DB is read for events, deliveries and clients.
	DB *store.DB
	// Engine takes events in and resends deliveries.
	Engine Engine
	// Pull hands out what waits at endpoints of kind pull.
	Pull *pull.Service
	// Issuer is our token endpoint.
	Issuer *token.Issuer
	// Registry holds subscriptions and contracts.
	Registry *services.Services
	// AMQP decides about messages of message brokers. Default nothing can be decided about them.
	AMQP site.AMQPBridge
	// Exporter makes deltas, snapshots and downloads of datasets. Default one of its own.
	Exporter *export.Exporter
	// Ingester takes in what is published in datasets. Default one of its own.
	Ingester *ingest.Ingester
	// Checks holds endpoints against the profile. Default none can be checked.
	Checks *endpointcheck.Runner
	// Encrypter encrypts data for the receivers of subscriptions. Default none: what must be encrypted is not handed out.
	Encrypter *jwe.Service
	// DocumentBytes is the largest contract document. Default 16 MiB.
	DocumentBytes int64
	// Advised is told the code of each advice that the sender of accepted events
	// got. Default nobody.
	Advised func(code string)
}

// Engine lists the methods of the delivery engine that the APIs call.
type Engine interface {
	Accept(ctx context.Context, s outbox.Submission) (outbox.Receipt, error)
	Resend(ctx context.Context, actor outbox.Actor, id string) error
	Release(ctx context.Context, actor outbox.Actor, id string) (outbox.Receipt, error)
	DiscardQuarantined(ctx context.Context, actor outbox.Actor, id, reason string) error
	site.JobEngine
	Changed()
}

// machineAPI serves the APIs for machines: its methods are their handlers.
type API struct {
	Config
	App     *site.App
	callers *site.Recent[*Caller]
	running *runningKeys
	// Described has the names of the APIs that serve a document.
	Described map[string]bool
}

// New builds the kernel of the APIs. Its error names what is missing.
func New(app *site.App, cfg Config) (*API, error) {
	if cfg.DB == nil || cfg.Engine == nil || cfg.Pull == nil || cfg.Issuer == nil || cfg.Registry == nil {
		return nil, errors.New("web: DB, Engine, Pull, Issuer and Registry of the API must be set")
	}
	if cfg.Exporter == nil {
		cfg.Exporter = export.New(export.Config{DB: cfg.DB, Now: app.Cfg.Now, Log: app.Cfg.Log})
	}
	if cfg.Ingester == nil {
		cfg.Ingester = ingest.New(ingest.Config{DB: cfg.DB})
	}
	if cfg.Advised == nil {
		cfg.Advised = func(string) {}
	}
	if cfg.DocumentBytes <= 0 {
		cfg.DocumentBytes = 16 << 20
	}
	return &API{
		Config: cfg, App: app, Described: map[string]bool{},
		callers: site.NewRecent[*Caller](app.Cfg.Now), running: newRunningKeys(),
	}, nil
}

// EventsBase begins the paths of the API for events; several features serve a part of it.
const EventsBase = "/events/v1"

// Scoped makes a group of routes of an API for callers whose token has one of scopes.
func (m *API) Scoped(base string, scopes ...string) site.RouteGroup {
	return m.App.API(MaxJSONBytes, base, m.App.RequireScope(scopes...), m.WithCaller)
}

// MountTokens registers the token endpoint and what describes it.
func (m *API) MountTokens() {
	g := m.App.API(MaxTokenForm*2, "/oauth")
	g.POST("/token", m.postToken)
	g.GET("/jwks", m.showJWKS)
	m.Describe(g, TokensDocument)
	known := m.App.API(MaxJSONBytes, "/.well-known")
	known.GET("/oauth-authorization-server", m.showMetadata)
}
