package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"schakel/delivery/amqp"
	"schakel/delivery/endpointcheck"
	"schakel/delivery/jwe"
	"schakel/delivery/mutation/export"
	"schakel/delivery/outbound"
	"schakel/delivery/outbox"
	"schakel/delivery/pull"
	"schakel/delivery/webhook"
	"schakel/registry"
	"schakel/registry/audit"
	"schakel/registry/identity"
	"schakel/registry/identity/token"
	"schakel/registry/installation"
	"schakel/registry/keys"
	"schakel/registry/oinregister"
	"schakel/registry/services"
	"schakel/server/cli"
	"schakel/server/release"
	"schakel/store"
	"schakel/templates/i18n"
	"schakel/web"
	"schakel/web/api"
	"schakel/web/site"
)

// program is one Schakel with all its parts, built but not started.
type program struct {
	base        string // address others use
	db          *store.DB
	accounts    *identity.Accounts
	outbound    *outbound.Client
	sender      *webhook.Sender
	issuer      *token.Issuer
	registry    *services.Services
	pull        *pull.Service
	certificate func(store.Endpoint) (*outbound.Certificate, time.Time, error) // that an endpoint is shown now
	checks      *endpointcheck.Runner
	encrypter   *jwe.Service
	engine      *outbox.Engine
	bridge      *amqp.Bridge
	exporter    *export.Exporter
	lease       time.Duration // how long a node may be silent before another takes over what it makes of datasets
	counts      *mutationCounts
	app         *site.App
	metrics     *prometheus.Registry
	group       *Group
	replica     *replica // nil when the database is not copied to a folder
	public      *httpService
	admin       *httpService
}

// build makes every part by hand, in the order in which they need each other, and
// puts the services in the order in which they start. fail ends the program.
func build(ctx context.Context, cfg ServeCmd, log *slog.Logger, fail func(error)) (_ *program, err error) {
	base, err := cfg.baseURL()
	if err != nil {
		return nil, err
	}
	p := &program{base: base.String(), metrics: newMetrics(), group: NewGroup(log)}
	cfg.OutboundFlags.Servers = outbound.NewServers()
	if p.db, err = whenThere(ctx, cfg.Database, log, openAlone(cfg.OutboundFlags.Servers)); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = p.db.Close()
		}
	}()
	if p.db.Dialect() == store.SQLite { // this process has the file alone: whoever held something is dead
		if err = p.db.Write(ctx, func(tx *store.Tx) error { return tx.FreeTasks(ctx) }); err != nil {
			return nil, err
		}
	}
	if p.accounts, err = identity.NewAccounts(p.db, cli.Clock); err != nil {
		return nil, err
	}
	if p.outbound, err = cfg.OutboundFlags.Client(); err != nil {
		return nil, err
	}
	zone, err := cfg.zone()
	if err != nil {
		return nil, err
	}
	reg, err := registryConfig(ctx, p.db, p.outbound, registryFlags{keys: cfg.keys(), baseURL: p.base, organisation: cfg.Organisation, mailServer: cfg.SMTPHost != "", profile: profileDefaults(cfg.DeliveryFlags, cfg.LimitFlags)}, log)
	if err != nil {
		return nil, err
	}
	p.encrypter = newEncrypter(reg.Vault, p.outbound, cfg.PlainHTTP)
	reg.CheckRecipient = p.encrypter.Check
	if reg.PublicHTTP, err = cfg.OutboundFlags.PublicHTTP(cfg.MaxDocumentBytes); err != nil {
		return nil, err
	}
	mirrors, err := cfg.OutboundFlags.MirrorHTTP(cfg.MaxDocumentBytes)
	if err != nil {
		return nil, err
	}
	reg.MirrorHTTP = mirrors
	if reg.ChallengeHTTP, err = cfg.OutboundFlags.MirrorHTTP(0); err != nil {
		return nil, err
	}
	if cfg.OINRegister != "" {
		reg.OINRegister = oinregister.New(cfg.OINRegister, cfg.Servers.For(installation.ExpiryOINRegister, mirrors), cli.Clock)
	}
	reg.LocalAccounts, reg.BreakGlass, reg.ExactCodes, reg.Certificates = cfg.LocalAccounts, cfg.BreakGlass, cfg.ExactCodes, len(cfg.ClientCA) > 0
	reg.ClientTLS = cfg.asks("oauth")
	certificates, err := cfg.policy(cfg.OutboundFlags, log)
	if err != nil {
		return nil, err
	}
	if certificates != nil {
		reg.CheckChain = certificates.Check
	}
	if reg.Mandates, err = cfg.checker(p.db, cfg.Servers.For(installation.ExpiryMandates, p.outbound.HTTPClient()), log); err != nil {
		return nil, err
	}
	if reg.TokenIssuers, err = cfg.issuerIDs(p.base); err != nil {
		return nil, err
	}
	shown, err := cfg.outboundCertificate()
	if err != nil {
		return nil, err
	}
	reg.ShowsCertificate = shown != nil
	addresses, err := cfg.AMQPFlags.addresses(cfg.OutboundFlags)
	if err != nil {
		return nil, err
	}
	reg.MaxDocumentBytes, reg.Language, reg.TimeZone = cfg.MaxDocumentBytes, i18n.Lang(cfg.Language), zone
	if p.registry, err = services.New(reg, p.accounts, services.WithAddresses(addresses)); err != nil {
		return nil, err
	}
	p.certificate = clientCertificates(p.registry, shown)
	if _, err := p.registry.Profile.Current(ctx); err != nil {
		return nil, err // so that no request begins without
	}
	if _, err := p.registry.Partners.EnsureOwn(ctx, cfg.Organisation, cfg.OIN); err != nil {
		return nil, err
	}
	oidc, err := cfg.oidc(cfg.Servers.For(installation.ExpiryProvider, p.outbound.HTTPClient()))
	if err != nil {
		return nil, err
	}
	draining := make(chan struct{})
	traces := cfg.recorder()
	p.pull = cfg.PullFlags.service(p.db, p.encrypter, draining, log)
	p.sender = newSender(p.registry, p.outbound, log)
	hook := newWebhook(p.registry, p.sender, p.encrypter)
	hook.Certificate = p.certificate
	if p.bridge, err = newBridge(p, cfg, hook, log); err != nil {
		return nil, err
	}
	p.checks = newChecks(p.db, p.registry, p.outbound, p.encrypter, p.certificate, log)
	p.engine = newEngine(p.db, p.registry, map[string]outbox.Transport{store.EndpointWebhook: hook, store.EndpointInbox: newInbox(p.db, p.registry, hook), store.EndpointAMQP: p.bridge}, p.pull, cfg.Lease, traces, log)
	p.bridge.Join(p.engine)
	p.lease = 2 * max(cfg.Lease, time.Second)
	p.exporter = export.New(export.Config{DB: p.db, Now: cli.Clock, Log: log, Lease: p.lease, MostCustomBytes: cfg.MaxCustomBytes})
	p.counts = newMutationCounts(p.db)
	p.metrics.MustRegister(p.counts.metrics()...)
	p.metrics.MustRegister(newAMQPDepth(p.db))
	p.metrics.MustRegister(engineMetrics(p.engine, p.db)...)
	chain := audit.New(reg)
	pruning, err := newRetention(p.db, cfg.RetentionFlags, liveKeyLifetime(p.registry.Profile), chain.Prune, log)
	if err != nil {
		return nil, err
	}
	if err := pruning.tellRaised(ctx); err != nil {
		return nil, err
	}
	p.metrics.MustRegister(pruning.metrics()...)
	mailer, err := newMailer(reg, cfg.MailFlags, cfg.Servers)
	if err != nil {
		return nil, err
	}
	branding, err := cfg.branding()
	if err != nil {
		return nil, err
	}
	security, err := cfg.security()
	if err != nil {
		return nil, err
	}
	webCfg := web.Config{AppConfig: site.AppConfig{
		Name: cfg.portalName(), Branding: branding, Security: security, HSTSSubdomains: cfg.HSTSSubdomains,
		Certificates: certificates, BaseURL: base, Version: release.Current().String(), Now: cli.Clock, Log: log,
		Accounts: p.accounts, Sessions: p.db, OIDC: oidc,
		TrustedProxies: cfg.TrustedProxy, CertificateProxies: cfg.ClientCertificateProxy, Draining: draining, Traces: traces, Language: i18n.Lang(cfg.Language), TimeZone: zone,
	}}
	if err := p.serve(cfg, &webCfg); err != nil {
		return nil, err
	}
	if p.app, err = web.New(webCfg); err != nil {
		return nil, err
	}
	if err := p.listeners(ctx, cfg, log, fail, draining); err != nil {
		return nil, err
	}
	if p.replica, err = newReplica(p.db, cfg, log, fail); err != nil {
		return nil, err
	}
	watch := p.installation(cfg, log)
	p.metrics.MustRegister(watch)
	if traces != nil { // first, so that the spans of all others are exported when they stop
		exporter, err := traceService(cfg.TraceFlags, cfg.OutboundFlags, traces, p.engine.Node(), log)
		if err != nil {
			return nil, err
		}
		p.metrics.MustRegister(traceMetrics(traces)...)
		p.group.Add(exporter)
	}
	p.group.Add(p.storeService(), checkService(p.checks), newStatistics(p.db, log), p.tokenService())
	if p.replica != nil { // stops before the database closes, and after all others
		p.metrics.MustRegister(p.replica)
		p.group.Add(p.replica)
	}
	if disk := newDiskWatch(cfg.Database, p.db, p.registry.Mails.DiskLow, log); disk != nil {
		p.metrics.MustRegister(disk)
		p.group.Add(disk)
	}
	p.group.Add(&vaultKeys{keys: keys.New(reg, services.Sealed()), node: p.engine.Node(), log: log}, &checkpoints{chain: chain, log: log, now: cli.Clock}, newErasure(p.registry, log))
	sender, err := p.auditSender(cfg, shown, log)
	if err != nil {
		return nil, err
	}
	p.group.Add(p.admin, p.ownContracts(), pruning, mailer, p.pull, p.engine, amqpReady{p.bridge, p.db}, p.announcer(log), p.issueTeller(log), p.mutations(log),
		&downloads{noted: p.registry.Downloads, log: log}, newRotation(p.registry, watch.alerts, log), newLapse(p.registry, log), p.mirrors(p.db.NewID("node"), log), p.public, watch)
	if sender != nil {
		p.group.Add(sender)
	}
	return p, nil
}

// installation makes what looks at the installation, for its page, /readyz and the metrics.
func (p *program) installation(cfg ServeCmd, log *slog.Logger) *installationWatch {
	e := &examiner{
		flags: InstallationFlags{cfg.DatabaseFlags, cfg.OrganisationFlags, cfg.HTTPFlags, cfg.MailFlags, cfg.OIDCFlags, cfg.OutboundFlags, cfg.ClientCertificateFlags, cfg.AMQPFlags, cfg.DeliveryFlags, cfg.AuditFlags},
		base:  p.base, client: p.outbound, db: p.db, forwarded: p.app.Forwarded, encrypter: p.encrypter, issuer: p.issuer, replica: p.replica, now: cli.Clock,
	}
	p.registry.Installation.LookAround(e.look)
	told := p.alerts(cfg.AlertFlags, log)
	p.accounts.OnBreakGlass(told.breakGlass)
	return &installationWatch{service: p.registry.Installation, alerts: told, log: log, now: cli.Clock}
}

// alerts makes what tells administrators that something is wrong.
func (p *program) alerts(f AlertFlags, log *slog.Logger) *alerts {
	return &alerts{flags: f, db: p.db, mails: p.registry.Mails, accept: p.engine.Accept, base: p.base, now: cli.Clock, log: log}
}

// serve adds the APIs and the portal to what the HTTP layer is made of.
func (p *program) serve(cfg ServeCmd, w *web.Config) error {
	issuer, err := newIssuer(p, cfg, w.Certificates, w.Log)
	if err != nil {
		return err
	}
	w.Tokens, p.issuer = issuer, issuer
	if len(cfg.TokenIssuers) > 0 {
		p.group.Add(issuerService(issuer))
	}
	w.API = &api.Config{
		DB: p.db, Engine: p.engine, Pull: p.pull, Issuer: issuer, Registry: p.registry, AMQP: p.bridge, Exporter: p.exporter, Checks: p.checks, Encrypter: p.encrypter, DocumentBytes: cfg.MaxDocumentBytes,
		Advised: adviceMetric(p.metrics),
	}
	w.Portal = &site.PortalConfig{
		DB: p.db, Engine: p.engine, Registry: p.registry, Mailbox: cfg.Mailbox, AskToken: p.sender.TryToken, ClientCertificate: p.certificate, Checks: p.checks, Encrypter: p.encrypter, AMQP: p.bridge, Exporter: p.exporter, DocumentBytes: cfg.MaxDocumentBytes,
		Docs: guidesServed(), Files: filesServed(), Tested: release.Current().Tested,
	}
	return nil
}

// tokenService reports whether access tokens can be signed.
func (p *program) tokenService() Service {
	return funcService{name: "tokens", ready: func(ctx context.Context) error {
		err := p.registry.SigningKeys.Check(ctx)
		if errors.Is(err, identity.ErrClockWasAhead) {
			return warning(err.Error())
		}
		return err
	}}
}

func (p *program) storeService() Service {
	return funcService{
		name: "store",
		stop: func(context.Context) error {
			err := p.db.Close()
			if p.replica != nil {
				err = errors.Join(err, p.replica.Close())
			}
			return err
		},
		ready: func(ctx context.Context) error {
			if err := p.db.Ready(ctx); err != nil {
				return fmt.Errorf("%w (database-unavailable)", err)
			}
			return nil
		},
	}
}

// listeners makes the public and the admin server.
func (p *program) listeners(ctx context.Context, cfg ServeCmd, log *slog.Logger, fail func(error), draining chan struct{}) error {
	secure, err := listenerTLS(ctx, cfg.TLSCert, cfg.TLSKey, log)
	if err == nil && secure != nil {
		err = cfg.askFor(secure)
	}
	if err != nil {
		return err
	}
	private, err := listenerTLS(ctx, cfg.AdminTLSCert, cfg.AdminTLSKey, log)
	if err != nil {
		return err
	}
	p.public = newHTTPService("http", cfg.Addr, p.app.Handler(), secure, log, fail)
	p.public.server.RegisterOnShutdown(func() { close(draining) })
	p.admin = newHTTPService("admin", cfg.AdminAddr, adminHandler(p.group.Ready, p.metrics), private, log, fail)
	return nil
}

// listenerTLS reads the certificate of a listener; nil for plain HTTP.
func listenerTLS(ctx context.Context, cert, key string, log *slog.Logger) (*tls.Config, error) {
	if cert == "" {
		return nil, nil
	}
	certs, err := loadCertificate(cert, key, cli.Clock)
	if err != nil {
		return nil, err
	}
	if level := certificateLevel(certs.leaf()); level != "good" {
		log.WarnContext(ctx, "TLS certificate is not up to the NCSC guidelines", "level", level)
	}
	return serverTLS(certs), nil
}

func setupPath(token string) string { return registry.LinkSetup.Path(token) }
