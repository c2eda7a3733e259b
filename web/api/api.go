package api

import (
	"context"
	"errors"

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
	Docs    map[string]apiDocument
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
	docs, err := ReadAPIDocuments()
	if err != nil {
		return nil, err
	}
	return &API{
		Config: cfg, App: app, Docs: docs,
		callers: site.NewRecent[*Caller](app.Cfg.Now), running: newRunningKeys(),
	}, nil
}
