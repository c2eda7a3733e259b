package web

import (
	"context"

	"schakel/registry"
	"schakel/registry/profile"
	"schakel/store"
	"schakel/web/account"
	"schakel/web/admin"
	"schakel/web/amqp"
	"schakel/web/api"
	"schakel/web/confirm"
	"schakel/web/contracts"
	"schakel/web/datasets"
	"schakel/web/deliveries"
	"schakel/web/docs"
	"schakel/web/events"
	"schakel/web/partners"
	"schakel/web/search"
	"schakel/web/site"
	"schakel/web/traffic"
)

// Config holds what pages and APIs are made of.
type Config struct {
	site.AppConfig
	// API configures the APIs for machines. Optional: none are served.
	API *api.Config
	// Portal configures the pages beyond login. Optional: none are served.
	Portal *site.PortalConfig
}

// New builds the HTTP layer. Its error names what is missing.
func New(cfg Config) (*site.App, error) {
	if cfg.Navigation == nil && cfg.Portal != nil {
		cfg.Navigation = site.DatabaseNavigation{DB: cfg.Portal.DB, Now: cfg.Now}
	}
	app, err := site.NewApp(cfg.AppConfig, cfg.API != nil)
	if err != nil {
		return nil, err
	}
	var profiles *profile.Profiles
	if cfg.Portal != nil && cfg.Portal.Registry != nil {
		profiles = cfg.Portal.Registry.Profile
	}
	if err := account.Mount(app, profiles); err != nil {
		return nil, err
	}
	var publish events.Publisher
	if cfg.API != nil {
		var bridge site.AMQPBridge
		if cfg.Portal != nil {
			bridge = cfg.Portal.AMQP
		}
		if publish, err = mountAPIs(app, *cfg.API, bridge); err != nil {
			return nil, err
		}
	}
	if cfg.Portal != nil {
		if err := mountPages(app, *cfg.Portal, publish); err != nil {
			return nil, err
		}
	}
	return app, nil
}

// eventsDocument describes the API for events with the parts of all features that serve it.
var eventsDocument = events.Document.With(append(deliveries.EventsParts, amqp.EventsPart, contracts.EventsPart, partners.EventsPart, traffic.EventsPart)...)

// Documents lists the descriptions of our APIs and events.
func Documents() []api.Document {
	return []api.Document{
		contracts.EventsDocument, eventsDocument, contracts.Document, datasets.EventsDocument, datasets.Document, deliveries.EventsDocument, admin.EventsDocument, admin.AuditDocument, api.TokensDocument,
	}
}

// OwnDocuments lists the same for the register (EDU-N03), without what they say of the settings: that is told by
// {base}/openapi.yaml alone.
func OwnDocuments() []registry.OwnDocument {
	var own []registry.OwnDocument
	for _, d := range Documents() {
		own = append(own, d.OwnDocument)
	}
	return own
}

// unreadyOf judges for the APIs as the pages do whether something can be sent. The bridge to brokers knows which certificates are trusted.
func unreadyOf(app *site.App, db *store.DB, bridge site.AMQPBridge) func() partners.Unready {
	p := &site.Portal{PortalConfig: site.PortalConfig{DB: db, AMQP: bridge}, App: app}
	return func() partners.Unready {
		ready := p.Readiness(false)
		return func(ctx context.Context, s store.Subscription) (string, error) {
			unready, err := ready.OfSubscription(ctx, s)
			if err != nil || unready == nil {
				return "", err
			}
			return unready.Why, nil
		}
	}
}

func mountAPIs(app *site.App, cfg api.Config, bridge site.AMQPBridge) (events.Publisher, error) {
	m, err := api.New(app, cfg)
	if err != nil {
		return nil, err
	}
	app.RoutesProblems()
	m.MountTokens()
	publish := events.MountAPI(m, eventsDocument)
	deliveries.MountAPI(m)
	partners.MountAPI(m, unreadyOf(app, m.DB, bridge))
	contracts.MountAPI(m)
	amqp.MountAPI(m)
	datasets.MountAPI(m)
	traffic.MountAPI(m)
	return publish, nil
}

func mountPages(app *site.App, cfg site.PortalConfig, publish events.Publisher) error {
	p, err := site.NewPortal(app, cfg)
	if err != nil {
		return err
	}
	account.MountRegistration(p)
	exchange := amqp.Mount(p)
	sets := datasets.Mount(p)
	sent := deliveries.Mount(p, exchange.AMQPBeside, exchange.AMQPItem)
	events.Mount(p, sent.OtherDeliveries)
	catalogue := contracts.Mount(p)
	partners.Mount(p, partners.Others{
		SubscribedDataset: sets.SubscribedDataset, OrphanedBy: exchange.OrphanedBy, EndpointParty: exchange.EndpointParty,
		FillAdminParty: exchange.FillAdminParty, TakesTests: exchange.TakesTests,
		CheckEvent: catalogue.CheckEvent, Outcome: sent.Outcome, Publish: publish,
	})
	confirm.Mount(p)
	admin.Mount(p, sets.FailedDownloads, sets.FailingDatasets)
	traffic.Mount(p)
	search.Mount(p)
	return docs.Mount(p)
}
