package site

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
	"schakel/delivery/amqp"
	"schakel/delivery/endpointcheck"
	"schakel/delivery/event"
	"schakel/delivery/jwe"
	"schakel/delivery/mutation/export"
	"schakel/delivery/mutation/ingest"
	"schakel/delivery/outbound"
	"schakel/delivery/outbox"
	"schakel/delivery/webhook"
	"schakel/registry"
	"schakel/registry/services"
	"schakel/store"
	"schakel/templates/i18n"
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
	// AskToken asks a token endpoint once and stores nothing; its error is a *webhook.TokenError, or that of ctx. Optional: endpoints
	// are added without it being asked.
	AskToken func(ctx context.Context, cfg webhook.TokenConfig) (lifetime time.Duration, err error)
	// ClientCertificate opens the certificate that an endpoint is shown now; nil for none. Optional: then token endpoints are tried without.
	ClientCertificate func(e store.Endpoint) (*outbound.Certificate, time.Time, error)
	// Checks holds endpoints against the profile. Optional: without it no page offers a check.
	Checks *endpointcheck.Runner
	// Encrypter encrypts data for the receivers of subscriptions. Optional: without it no page shows their keys.
	Encrypter *jwe.Service
	// Mailbox shows the mails of this Schakel to everybody who can reach it, at /mailbox. Only for a demonstration.
	Mailbox bool
	// DocumentBytes is the largest contract document. Default 16 MiB.
	DocumentBytes int64
	// Files lie beside the guides at /docs/files/{name}, for guides to link to. Optional.
	Files []DocFile
	// Docs are the guides of the documentation, in the order of its index. Optional.
	Docs []Doc
	// Tested is the day on which all tests passed for this build, as 2006-01-02. Optional: then pages say that it is not recorded.
	Tested string
}

// PortalEngine lists the methods of the delivery engine that pages call.
type PortalEngine interface {
	Resend(ctx context.Context, actor outbox.Actor, id string) error
	Release(ctx context.Context, actor outbox.Actor, id string) (outbox.Receipt, error)
	DiscardQuarantined(ctx context.Context, actor outbox.Actor, id, reason string) error
	Discard(ctx context.Context, actor outbox.Actor, id, reason string) error
	JobEngine
	SendTest(ctx context.Context, actor outbox.Actor, endpointID, source string) (eventID, deliveryID string, err error)
	SendTestEvent(ctx context.Context, actor outbox.Actor, endpointID string, ev event.Event) (eventID, deliveryID string, err error)
	// Forecast counts what subscriptions would have got of the newest events.
	Forecast(ctx context.Context, p outbox.Prospect) (outbox.Forecast, error)
	Changed()
}

// portal serves the pages of partners, administrators and integrators: its methods are their handlers.
type Portal struct {
	PortalConfig
	*App
	exports *Shares
}

// NewPortal builds the kernel of the pages. Its error names what is missing.
func NewPortal(app *App, cfg PortalConfig) (*Portal, error) {
	if cfg.DB == nil || cfg.Engine == nil || cfg.Registry == nil {
		return nil, errors.New("web: DB, Engine and Registry of the portal must be set")
	}
	if cfg.Exporter == nil {
		cfg.Exporter = export.New(export.Config{DB: cfg.DB, Now: app.Cfg.Now, Log: app.Cfg.Log})
	}
	if cfg.Ingester == nil {
		cfg.Ingester = ingest.New(ingest.Config{DB: cfg.DB})
	}
	if cfg.DocumentBytes <= 0 {
		cfg.DocumentBytes = 16 << 20
	}
	return &Portal{PortalConfig: cfg, App: app, exports: NewShares(exportsAtOnce)}, nil
}

// Actor returns the account that is logged in, as the registry knows it; on routes behind requireAccount.
func Actor(c echo.Context) registry.Actor { return registry.AccountActor(AccountOf(c)) }

// EngineActor returns the account that is logged in, as the engine knows it.
func EngineActor(c echo.Context) outbox.Actor { return EngineActorOf(Actor(c)) }

// EngineActorOf returns an actor as the engine knows it.
func EngineActorOf(a registry.Actor) outbox.Actor {
	e := outbox.Actor{Kind: a.Kind, ID: a.ID, Name: a.Name, PartnerID: a.PartnerID}
	if a.Administrator {
		e.PartnerID = ""
	}
	return e
}

// Done tells the engine that something changed, leaves a message and goes to a page of ours: the end of every form.
func (p *Portal) Done(c echo.Context, href string, text i18n.Message) error {
	p.Engine.Changed()
	p.Flash(c, ui.KindOK, text)
	return c.Redirect(http.StatusSeeOther, href)
}

// Saved is Done, unless err.
func (p *Portal) Saved(c echo.Context, err error, href string, text i18n.Message) error {
	if err != nil {
		return err
	}
	return p.Done(c, href, text)
}

// Reader returns the rights of the account that asks, or of a visitor, to contracts and event types.
func (p *Portal) Reader(c echo.Context) (registry.Reader, error) {
	account := p.CurrentAccount(c)
	if account == nil {
		return registry.Reader{}, nil
	}
	return p.Registry.Contracts.Reader(c.Request().Context(), registry.AccountActor(*account))
}

// Organisation is the name of who runs this Schakel.
func (p *Portal) Organisation(c echo.Context) (string, error) {
	own, err := p.Registry.Partners.Own(c.Request().Context())
	return own.Name, err
}

// Doc is a guide of the documentation. This package knows the content of none.
type Doc struct {
	// Name is the last part of the address, /docs/{name}.
	Name string
	// File is the path of the Markdown in the repository, with slashes. Links of guides to files of others lead to their pages.
	File string
	// Audience is the heading of the index that the guide stands under.
	Audience i18n.Message
	// Answers is one sentence for the index: what the guide answers.
	Answers i18n.Message
	// Markdown is the text, which begins with the title.
	Markdown string
	// Title is the title in the language of the reader, for a text that is kept in English alone. Optional.
	Title i18n.Message
	// Translations are the same text in other languages. Optional: without one the English is shown, with a note.
	Translations map[i18n.Lang]string
}

// TitleIn is the title of a guide for readers of a language that it is not translated into; "" where only its text has one.
func (d Doc) TitleIn(ctx context.Context) string {
	if lang := i18n.From(ctx).Lang; d.Title == "" || lang == i18n.English || d.Translations[lang] != "" {
		return ""
	}
	return d.Title.In(ctx)
}

// DocFile is a file that a guide links to by File, its path in the repository; it is served under the last part of that.
type DocFile struct{ File, Type, Content string }

// AMQPBridge lists the methods of the bridge to message brokers that pages call; [amqp.Bridge] implements it. A refusal is an
// [amqp.Refused].
type AMQPBridge interface {
	Resend(ctx context.Context, by outbox.Actor, id string) error
	PutBack(ctx context.Context, by outbox.Actor, id string) error
	Drop(ctx context.Context, by outbox.Actor, id, reason string) error
	Reprocess(ctx context.Context, by outbox.Actor, id string) error
	AskAll(ctx context.Context, by outbox.Actor, f store.AMQPFilter, do, reason string) (int, error)
	AnswerAgain(ctx context.Context, by outbox.Actor, id string) error
	Retry(ctx context.Context, by outbox.Actor, id string) error
	Body(ctx context.Context, by outbox.Actor, id string) ([]byte, error)
	Reload()
	Clock() amqp.ClockState
	Unfit() []amqp.Unfit
	Untrusted(c store.AMQPCertificate) (issuer string)
}

// JobEngine starts jobs over many deliveries, and counts what they would do.
type JobEngine interface {
	StartJob(ctx context.Context, actor outbox.Actor, action string, f store.DeliveryFilter, reason string) (store.ResendJob, error)
	PreviewJob(ctx context.Context, actor outbox.Actor, f store.DeliveryFilter) (outbox.Preview, error)
	StartReplay(ctx context.Context, actor outbox.Actor, r outbox.Replay) (store.ResendJob, error)
	PreviewReplay(ctx context.Context, actor outbox.Actor, r outbox.Replay) (outbox.Preview, error)
	CancelJob(ctx context.Context, actor outbox.Actor, id string) error
	StartResend(ctx context.Context, actor outbox.Actor, f store.DeliveryFilter, care outbox.Care) (store.ResendJob, error)
	ContinueJob(ctx context.Context, actor outbox.Actor, id string) error
}
