package web

import (
	"context"
	"errors"

	"schakel/delivery/claimcheck"
	"schakel/delivery/mutation/export"
	"schakel/delivery/mutation/ingest"
	"schakel/delivery/outbox"
	"schakel/delivery/pull"
	"schakel/registry/identity/token"
	"schakel/registry/services"
	"schakel/store"
)

// APIConfig configures the APIs for clients. A field without a default must be
// set.
type APIConfig struct {
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
	AMQP AMQPBridge
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
	jobEngine
	Changed()
}

// machineAPI serves the APIs for machines: its methods are their handlers.
type machineAPI struct {
	APIConfig
	app     *App
	callers *recent[*caller]
	types   *recent[[]store.EventType]
	rates   *clientRates
	running *runningKeys
	large   *largeBodies
	objects *claimcheck.Service
	docs    map[string]apiDocument
	// converted keeps documents in their other form.
	converted *convertedDocuments
}

func newMachineAPI(app *App, cfg APIConfig) (*machineAPI, error) {
	if cfg.DB == nil || cfg.Engine == nil || cfg.Pull == nil || cfg.Issuer == nil || cfg.Registry == nil {
		return nil, errors.New("web: DB, Engine, Pull, Issuer and Registry of the API must be set")
	}
	if cfg.Exporter == nil {
		cfg.Exporter = export.New(export.Config{DB: cfg.DB, Now: app.cfg.Now, Log: app.cfg.Log})
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
	docs, err := readAPIDocuments()
	if err != nil {
		return nil, err
	}
	return &machineAPI{
		APIConfig: cfg, app: app, docs: docs, converted: newConvertedDocuments(),
		callers: newRecent[*caller](app.cfg.Now), types: newRecent[[]store.EventType](app.cfg.Now),
		rates: newClientRates(app.cfg.Now), running: newRunningKeys(), large: newLargeBodies(),
		objects: claimcheck.New(claimcheck.Config{
			Objects: claimcheck.Database{DB: cfg.DB}, Address: func(id string) string { return app.absolute(objectsPath + id) },
		}),
	}, nil
}
