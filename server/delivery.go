package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"schakel/delivery/inbox"
	"schakel/delivery/jwe"
	"schakel/delivery/outbound"
	"schakel/delivery/outbox"
	"schakel/delivery/pull"
	"schakel/delivery/trace"
	"schakel/delivery/webhook"
	"schakel/registry"
	"schakel/registry/identity/token"
	"schakel/registry/installation"
	"schakel/registry/partners"
	"schakel/registry/services"
	"schakel/server/cli"
	"schakel/store"
	"schakel/web/site"
)

// DeliveryFlags set how failed deliveries are retried, as long as no
// administrator chose otherwise among the settings.
type DeliveryFlags struct {
	RetryWaits          []time.Duration `default:"5s,30s,2m,10m,30m,1h,3h,6h" help:"Unless the settings in the portal say otherwise: pauses after the first, second, third failure and so on; the last one repeats."`
	RetryAttempts       int             `default:"50" help:"Unless the settings in the portal say otherwise: attempts after which a delivery goes to the dead-letter queue."`
	KeyLifetime         time.Duration   `default:"168h" help:"Unless the settings in the portal say otherwise: how long an Idempotency-Key is valid, for what comes in and for what goes out."`
	OutboundCertificate string          `placeholder:"FILE" help:"PEM client certificate, with its chain, that is shown to receivers and token endpoints which ask for one, where their endpoint has none of its own. Read again when it changes."`
	OutboundKey         string          `placeholder:"FILE" help:"PEM private key of --outbound-certificate. Refused when others can read it, as --tls-key."`
	Lease               time.Duration   `default:"30s" help:"After the crash of a node that shares a PostgreSQL, the others take its deliveries over within this time, and within twice this time what it made of datasets. A node that lives keeps what it took. Nodes that share a database should have the same. At least 1s."`
}

// CheckFlags checks what flags cannot say one by one.
func (f DeliveryFlags) CheckFlags() error {
	if f.RetryAttempts < 1 {
		return errors.New("--retry-attempts must be at least 1")
	}
	for _, wait := range f.RetryWaits {
		if wait <= 0 {
			return errors.New("--retry-waits must be longer than 0, as 5s,30s,2m")
		}
	}
	if (f.OutboundCertificate == "") != (f.OutboundKey == "") {
		return errors.New("--outbound-certificate and --outbound-key go together")
	}
	if f.Lease < time.Second {
		return errors.New("--lease must be at least 1s")
	}
	if f.KeyLifetime < time.Minute {
		return errors.New("--key-lifetime must be at least 1m")
	}
	return nil
}

// outboundCertificate reads the client certificate that endpoints without one of their own are shown; nil without the flags.
func (f DeliveryFlags) outboundCertificate() (*certificateFile, error) {
	if f.OutboundCertificate == "" {
		return nil, nil
	}
	return loadCertificate(f.OutboundCertificate, f.OutboundKey, cli.Clock)
}

// clientCertificates finds what an endpoint is shown: a certificate of its own, else that of the organisation.
func clientCertificates(services *services.Services, file *certificateFile) func(store.Endpoint) (*outbound.Certificate, time.Time, error) {
	return func(e store.Endpoint) (*outbound.Certificate, time.Time, error) {
		cert, id, until, err := services.Endpoints.ClientCertificate(e, cli.Clock())
		switch {
		case err != nil:
			return nil, until, err
		case cert != nil:
			return &outbound.Certificate{ID: id, TLS: cert}, until, nil
		case file == nil:
			return nil, until, nil
		}
		shown, err := file.get(nil)
		if err != nil {
			return nil, until, err
		}
		return &outbound.Certificate{ID: installation.Fingerprint(shown.Leaf), TLS: shown}, until, nil
	}
}

// newSender makes what sends over HTTPS.
func newSender(services *services.Services, guard *outbound.Client, log *slog.Logger) *webhook.Sender {
	return webhook.NewSender(webhook.Config{Client: guard, Signer: assertionSigner{services.SigningKeys}, Now: cli.Clock, Logger: log})
}

// newWebhook makes the way out over HTTPS.
func newWebhook(services *services.Services, sender *webhook.Sender, encrypter *jwe.Service) *outbox.Webhook {
	return &outbox.Webhook{
		Sender: sender, Schedule: webhook.DefaultSchedule(), Live: liveSchedule(services.Profile), Open: services.Endpoints.TokenSecret, Keys: signKeys(services), Now: cli.Clock,
		Encrypter: encrypter,
	}
}

// newInbox makes the way to test inboxes, which this program receives itself.
func newInbox(db *store.DB, services *services.Services, hook *outbox.Webhook) *outbox.Webhook {
	return &outbox.Webhook{Sender: inbox.New(db, cli.Clock), Schedule: hook.Schedule, Live: hook.Live, Open: services.Endpoints.TokenSecret, Now: cli.Clock, Encrypter: hook.Encrypter}
}

// newEncrypter makes what encrypts data for the receivers of subscriptions.
func newEncrypter(vault *registry.Vault, guard *outbound.Client, plainHTTP bool) *jwe.Service {
	return jwe.New(jwe.Config{
		HTTP: guard.HTTPClient(), AllowHTTP: plainHTTP, Now: cli.Clock,
		Open: func(sealed string) ([]byte, error) { return partners.OpenEncryptSeed(vault, sealed) },
	})
}

// newAsker makes the sender that asks endpoints of ours and keeps their answers whole.
func newAsker(f cli.OutboundFlags, services *services.Services, log *slog.Logger) (*webhook.Sender, error) {
	guard, err := f.Asking()
	if err != nil {
		return nil, err
	}
	return webhook.NewSender(webhook.Config{
		Client: guard, Signer: assertionSigner{services.SigningKeys}, Now: cli.Clock, Logger: log, AnswerBytes: cli.MaxAnswerBytes,
	}), nil
}

// newEngine makes the delivery engine with its ways out.
func newEngine(db *store.DB, services *services.Services, transports map[string]outbox.Transport, pulls *pull.Service, lease time.Duration, traces *trace.Recorder, log *slog.Logger) *outbox.Engine {
	return outbox.New(outbox.Config{
		DB: db, Now: cli.Clock, Log: log, Live: livePolicy(services.Profile), Notifier: services.Mails, OnReady: pulls.Wake, Lease: lease,
		WhyNot: services.Clients.WhyNot, Transports: transports, Traces: traces,
	})
}

// assertionSigner signs our client assertions: with a key that has a certificate where there is one, else with the newest key of our token
// issuer. Our JWKS publishes both.
type assertionSigner struct {
	keys interface {
		token.Keys
		token.Certified
	}
}

// SigningKey implements webhook.Signer.
func (s assertionSigner) SigningKey(ctx context.Context) (webhook.SigningKey, error) {
	now := cli.Clock()
	certified, err := s.keys.AssertionKeys(ctx)
	if err != nil {
		return webhook.SigningKey{}, err
	}
	for _, k := range certified {
		if k.Signs(now) {
			return webhook.SigningKey{KID: k.KID, Alg: k.Alg, Private: k.Private, Chain: k.Chain}, nil
		}
	}
	keys, err := s.keys.SigningKeys(ctx)
	if err != nil {
		return webhook.SigningKey{}, err
	}
	for _, k := range keys {
		if !k.CreatedAt.After(now) && (k.RetiredAt.IsZero() || now.Before(k.RetiredAt)) {
			return webhook.SigningKey{KID: k.KID, Alg: k.Alg, Private: k.Private}, nil
		}
	}
	return webhook.SigningKey{}, errors.New("there is no key to sign with")
}

// newIssuer makes our token endpoint.
func newIssuer(p *program, cfg ServeCmd, certificates *site.CertificatePolicy, log *slog.Logger) (*token.Issuer, error) {
	config := token.Config{
		Issuer: p.base, TokenEndpoint: p.base + "/oauth/token", JWKSURI: p.base + "/oauth/jwks", LiveAuthMethods: p.registry.Clients.AuthMethods,
		Clients: p.registry.Clients, Keys: p.registry.SigningKeys, Certified: p.registry.SigningKeys, Replay: p.db, HTTP: p.outbound.HTTPClient(), AllowHTTP: cfg.PlainHTTP, Now: cli.Clock,
	}
	config.Nonces, config.AskNonce = p.registry.Clients.Nonces(), p.registry.Clients.AsksNonce
	var err error
	if config.Externals, err = cfg.externals(p.base, cfg.PlainHTTP); err != nil {
		return nil, err
	}
	config.ExternalClients = p.registry.Clients
	if certificates != nil {
		config.CheckChain, config.Certificates, config.Note = certificates.Check, cfg.asks("oauth"), noteCertificate(p.db, log)
	}
	return token.New(config)
}

// engineMetrics returns the counters of the engine, and what waits per state.
func engineMetrics(e *outbox.Engine, db *store.DB) []prometheus.Collector {
	counter := func(name, help string, read func(outbox.Stats) int64) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{Namespace: "schakel", Name: name, Help: help}, func() float64 {
			return float64(read(e.Stats()))
		})
	}
	return []prometheus.Collector{
		counter("events_accepted_total", "Events accepted by this process.", func(s outbox.Stats) int64 { return s.Accepted }),
		counter("deliveries_handed_total", "New deliveries that went to their senders without being claimed.", func(s outbox.Stats) int64 { return s.Handed }),
		counter("events_duplicate_total", "Events that their client had sent before.", func(s outbox.Stats) int64 { return s.Duplicates }),
		counter("deliveries_delivered_total", "Attempts that arrived.", func(s outbox.Stats) int64 { return s.Delivered }),
		counter("deliveries_retried_total", "Attempts that failed and will be repeated.", func(s outbox.Stats) int64 { return s.Retried }),
		counter("deliveries_held_total", "Attempts after which a delivery is held, as in the error queue.", func(s outbox.Stats) int64 { return s.Held }),
		counter("deliveries_dead_total", "Attempts after which a delivery went to the dead-letter queue.", func(s outbox.Stats) int64 { return s.Dead }),
		counter("deliveries_expired_total", "Deliveries discarded because their event expired, by its expirytime, before it arrived.", func(s outbox.Stats) int64 { return s.Expired }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "schakel", Name: "deliveries_in_flight", Help: "Deliveries this process holds."}, func() float64 {
			return float64(e.Stats().InFlight)
		}),
		&arrivals{
			db:      db,
			latency: prometheus.NewDesc("schakel_delivery_latency_seconds", "Time from the acceptance of a delivery until it arrived, by this process and by transport.", []string{"transport"}, nil),
			oldest:  prometheus.NewDesc("schakel_oldest_delivery_seconds", "Age of the oldest delivery that waited at the last sample, of any node; once a minute.", nil, nil),
		},
		&queueDepth{db: db, depth: prometheus.NewDesc("schakel_deliveries", "Deliveries by state, open ones and those that need a person.", []string{"status"}, nil)},
	}
}

// queueDepth counts what waits when it is asked.
type queueDepth struct {
	db    *store.DB
	depth *prometheus.Desc
}

// Describe implements prometheus.Collector.
func (q *queueDepth) Describe(ch chan<- *prometheus.Desc) { ch <- q.depth }

// Collect implements prometheus.Collector.
func (q *queueDepth) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	for _, status := range []string{store.DeliveryPending, store.DeliveryRetrying, store.DeliveryHeld, store.DeliveryDead} {
		n, err := q.db.CountDeliveries(ctx, store.DeliveryFilter{Statuses: []string{status}})
		if err != nil {
			ch <- prometheus.NewInvalidMetric(q.depth, err)
			return
		}
		ch <- prometheus.MustNewConstMetric(q.depth, prometheus.GaugeValue, float64(n), status)
	}
}

// PullFlags are about consumers that fetch their events.
type PullFlags struct {
	PullMaxReceives int `default:"10" help:"How often an event can be received by pull without being acknowledged; then it goes to the dead-letter queue."`
}

// CheckFlags checks what flags cannot say one by one.
func (f PullFlags) CheckFlags() error {
	if f.PullMaxReceives < 1 {
		return errors.New("--pull-max-receives must be at least 1")
	}
	return nil
}

// service makes what serves consumers that fetch; their calls are answered at once when draining is closed.
func (f PullFlags) service(db *store.DB, encrypter *jwe.Service, draining <-chan struct{}, log *slog.Logger) *pull.Service {
	return pull.New(pull.Config{DB: db, Now: cli.Clock, Log: log, MaxReceives: f.PullMaxReceives, Draining: draining, Encrypter: encrypter})
}
