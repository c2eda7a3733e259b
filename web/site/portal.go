package web

import (
	"context"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"schakel/delivery/mutation/export"
	"schakel/delivery/mutation/ingest"
	"schakel/delivery/outbox"
	"schakel/registry"
	"schakel/registry/services"
	"schakel/store"
	"schakel/templates/ui"
)

// PortalConfig configures the pages beyond login. Every field must be set unless its comment allows otherwise.
type PortalConfig struct {
	// DB is read for events, deliveries and attempts.
	DB *store.DB
	// Engine resends, discards and tests; it is told when something changed.
	Engine PortalEngine
	// Registry holds what is agreed.
	Registry *services.Services
	// AMQP is the bridge to message brokers; nil when the program has none.
	AMQP AMQPBridge
	// Exporter lists the deltas and snapshots of datasets. Default one of its own.
	Exporter *export.Exporter
	// Ingester takes mutation files in. Default one of its own.
	Ingester *ingest.Ingester
	// Mailbox shows the mails of this Schakel to everybody who can reach it, at /mailbox. Only for a demonstration.
	Mailbox bool
	// DocumentBytes is the largest contract document. Default 16 MiB.
	DocumentBytes int64
	// Docs are the guides of the documentation, in the order of its index. Optional.
	Docs []Doc
}

// PortalEngine lists the methods of the delivery engine that pages call.
type PortalEngine interface {
	Resend(ctx context.Context, actor outbox.Actor, id string) error
	Release(ctx context.Context, actor outbox.Actor, id string) (outbox.Receipt, error)
	DiscardQuarantined(ctx context.Context, actor outbox.Actor, id, reason string) error
	Discard(ctx context.Context, actor outbox.Actor, id, reason string) error
	jobEngine
	SendTest(ctx context.Context, actor outbox.Actor, endpointID, source string) (eventID, deliveryID string, err error)
	Changed()
}

// portal serves the pages of partners, administrators and integrators: its methods are their handlers.
type portal struct {
	PortalConfig
	*App
	guides guides
}

func newPortal(app *App, cfg PortalConfig) (*portal, error) {
	if cfg.DB == nil || cfg.Engine == nil || cfg.Registry == nil {
		return nil, errors.New("web: DB, Engine and Registry of the portal must be set")
	}
	if cfg.Exporter == nil {
		cfg.Exporter = export.New(export.Config{DB: cfg.DB, Now: app.cfg.Now, Log: app.cfg.Log})
	}
	if cfg.Ingester == nil {
		cfg.Ingester = ingest.New(ingest.Config{DB: cfg.DB})
	}
	if cfg.DocumentBytes <= 0 {
		cfg.DocumentBytes = 16 << 20
	}
	read, err := readGuides(cfg.Docs)
	if err != nil {
		return nil, err
	}
	return &portal{PortalConfig: cfg, App: app, guides: read}, nil
}

// routes calls every file that registers routes of the portal; each holds one area.
func (p *portal) routes() {
	p.routesPublic()
	p.routesContracts()
	p.routesPartner()
	p.routesAdmin()
	p.routesQueues()
	p.routesAMQP()
	p.routesDatasets()
	p.routesDocs()
}

// actor returns the account that is logged in, as the registry knows it; on routes behind requireAccount.
func actor(c echo.Context) registry.Actor { return registry.AccountActor(accountOf(c)) }

// engineActor returns the account that is logged in, as the engine knows it.
func engineActor(c echo.Context) outbox.Actor {
	a := actor(c)
	e := outbox.Actor{Kind: a.Kind, ID: a.ID, Name: a.Name, PartnerID: a.PartnerID}
	if a.Administrator {
		e.PartnerID = ""
	}
	return e
}

// done tells the engine that something changed, leaves a message and goes to a page of ours: the end of every form.
func (p *portal) done(c echo.Context, href, text string) error {
	p.Engine.Changed()
	p.flash(c, ui.KindOK, text)
	return c.Redirect(http.StatusSeeOther, href)
}
