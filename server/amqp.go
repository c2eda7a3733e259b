package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"time"

	"schakel/delivery/amqp"
	"schakel/delivery/amqp/certs"
	"schakel/delivery/amqp/cms"
	"schakel/delivery/amqp/link"
	"schakel/delivery/amqp/xsd"
	"schakel/delivery/event"
	"schakel/delivery/outbound"
	"schakel/delivery/outbox"
	"schakel/delivery/webhook"
	"schakel/registry"
	registryamqp "schakel/registry/amqp"
	"schakel/registry/installation"
	"schakel/registry/mail"
	"schakel/registry/profile"
	"schakel/registry/services"
	"schakel/server/cli"
	"schakel/store"
)

// maxAMQPEvent is the largest event that is made of a message, in bytes: more than any broker lets through.
const maxAMQPEvent = 32 << 20

// Bounds of how revocation is checked.
const (
	maxRevocationGrace = 7 * 24 * time.Hour
	revocationRest     = 10 * time.Second // a source that gave no answer is not asked again within this
)

// AMQPFlags are about the bridge to message brokers. Brokers and parties are entered in the portal.
type AMQPFlags struct {
	AMQPTrust           string        `name:"amqp-trust" placeholder:"FILE" help:"PEM file with the roots of enterprise certificates; certificates below any other are not trusted. Required to exchange messages with health parties."`
	AMQPNoRevocation    bool          `name:"amqp-no-revocation" help:"Do not ask the issuers below --amqp-trust whether a certificate was revoked. For a test PKI alone."`
	AMQPRevocationGrace time.Duration `name:"amqp-revocation-grace" default:"4h" help:"How long after its life a good answer on revocation, or a revocation list, still serves while its source cannot be asked. Without such an answer messages wait, and are checked again by themselves. 0 for not at all."`
	AMQPReject          []string      `name:"amqp-reject-algorithms" placeholder:"NAME" help:"Algorithms that messages from health parties may not use, with commas between them: rsa-pkcs1v15, rsa-oaep or rsa-oaep-sha1 for the content key, aes-cbc, aes-gcm or 3des-cbc for the content, rsa-pkcs1v15-signature, rsa-pss or ecdsa for the signature. SHA-1 in a signature, single DES and RC2 are always rejected."`
	AMQPKeepRefused     bool          `name:"amqp-keep-refused" help:"Keep the messages that are refused or rejected as they came, encrypted, to look into the cause; they are erased with their entry in the list. By default their content is not kept."`
	AMQPSchemas         string        `name:"amqp-schemas" placeholder:"DIR" help:"Folder with XSDs; business messages whose namespace they define are validated, in and out."`
	AMQPAddresses       string        `name:"amqp-address-registry" placeholder:"DIR|URL" help:"Where parties are looked up anew when a certificate of theirs is no good: a folder with communication details, CPPs or CPAs (.xml, .json) and certificates (HER-id*.pem), or an address below which GET HER-id gives such a document and GET HER-id/certificates PEM. Default: our own records alone."`
	AMQPAnswerWait      time.Duration `name:"amqp-answer-wait" default:"4h" help:"After which time the AppRec of a message is overdue, where its party does not say otherwise."`
	AMQPMissingFields   bool          `name:"amqp-required-field-missing" help:"Answer a missing field with transport:required-field-missing; by default with transport:invalid-field-value, as the exchange does."`
	AMQPHeaderXML       bool          `name:"amqp-xml-not-interpretable" help:"Answer an unreadable header with transport:xml-not-interpretable; by default with transport:not-well-formed-xml, as the exchange does."`
	AMQPFullQueueNames  bool          `name:"amqp-full-queue-names" help:"Write to and replyTo as registered, with host and namespace; by default the name of the queue alone."`
}

// CheckFlags checks what flags cannot say one by one.
func (f AMQPFlags) CheckFlags() error {
	if f.AMQPAnswerWait < time.Minute {
		return errors.New("--amqp-answer-wait must be at least 1m")
	}
	if f.AMQPRevocationGrace < 0 || f.AMQPRevocationGrace > maxRevocationGrace {
		return errors.New("--amqp-revocation-grace must be from 0 to 168h")
	}
	if err := cms.CheckRejected(f.AMQPReject); err != nil {
		return fmt.Errorf("--amqp-reject-algorithms: %w", err)
	}
	return nil
}

// validator judges enterprise certificates.
func (f AMQPFlags) validator(out cli.OutboundFlags) (*certs.Validator, error) {
	client, err := out.RevocationHTTP()
	if err != nil {
		return nil, err
	}
	cfg := certs.Config{HTTP: client, Now: cli.Clock, Grace: f.AMQPRevocationGrace, RestAfter: revocationRest}
	if f.AMQPTrust != "" {
		raw, err := os.ReadFile(f.AMQPTrust)
		if err != nil {
			return nil, fmt.Errorf("read --amqp-trust: %w", err)
		}
		for block, rest := pem.Decode(raw); block != nil; block, rest = pem.Decode(rest) {
			c, err := x509.ParseCertificate(block.Bytes)
			if err != nil {
				return nil, fmt.Errorf("read --amqp-trust: %w", err)
			}
			cfg.Roots = append(cfg.Roots, certs.Anchor{Certificate: c, NoRevocation: f.AMQPNoRevocation})
		}
		if len(cfg.Roots) == 0 {
			return nil, fmt.Errorf("read --amqp-trust: %s holds no PEM certificate", f.AMQPTrust)
		}
	}
	return certs.New(cfg), nil
}

// addresses is the address registry; nil when there is none.
func (f AMQPFlags) addresses(out cli.OutboundFlags) (registryamqp.AddressRegistry, error) {
	if f.AMQPAddresses == "" {
		return nil, nil
	}
	if !strings.Contains(f.AMQPAddresses, "://") {
		if info, err := os.Stat(f.AMQPAddresses); err != nil || !info.IsDir() {
			return nil, fmt.Errorf("--amqp-address-registry: %s is no folder, and no URL", f.AMQPAddresses)
		}
		return registryamqp.AddressFolder{Dir: f.AMQPAddresses}, nil
	}
	base, err := url.Parse(f.AMQPAddresses)
	if err != nil {
		return nil, fmt.Errorf("--amqp-address-registry: %w", err)
	}
	client, err := out.MirrorHTTP(0)
	if err != nil {
		return nil, err
	}
	return registryamqp.AddressURL{Base: base, HTTP: client}, nil
}

func (f AMQPFlags) options() amqp.Options {
	return amqp.Options{
		AnswerWait: f.AMQPAnswerWait, MissingFields: f.AMQPMissingFields, HeaderXML: f.AMQPHeaderXML, KeepRefused: f.AMQPKeepRefused, FullQueueNames: f.AMQPFullQueueNames,
	}
}

// newBridge makes the bridge to message brokers; the engine joins it later.
func newBridge(p *program, cfg ServeCmd, hook *outbox.Webhook, log *slog.Logger) (*amqp.Bridge, error) {
	validator, err := cfg.AMQPFlags.validator(cfg.OutboundFlags)
	if err != nil {
		return nil, err
	}
	if hook.Asker, err = newAsker(cfg.OutboundFlags, p.registry, log); err != nil {
		return nil, err
	}
	var schemas *xsd.Set
	if cfg.AMQPSchemas != "" {
		if schemas, err = xsd.Load(cfg.AMQPSchemas); err != nil {
			return nil, fmt.Errorf("read --amqp-schemas: %w", err)
		}
	}
	live := liveSchedule(p.registry.Profile)
	limits := event.Limits{EventBytes: maxAMQPEvent}
	return amqp.New(amqp.Config{
		DB: p.db, Now: cli.Clock, Log: log, Node: p.db.NewID("node"), Options: cfg.AMQPFlags.options(), Schemas: schemas,
		CMS: cms.Limits{Rejected: cfg.AMQPReject}, Limits: limits, Connect: connector(p.registry, cfg.OutboundFlags, log), Keys: ownKeys(p.registry), Check: validator.Check, Trusts: validator.Trusts,
		Encrypter: p.encrypter,
		Refresh: func(ctx context.Context, partyID string) error {
			validator.Forget()
			return p.registry.AMQP.Refresh(ctx, partyID)
		},
		Schedule: func(ctx context.Context, c store.Claimed) webhook.Schedule {
			s, err := live(ctx)
			if err != nil {
				s = webhook.DefaultSchedule()
			}
			own, _ := webhook.ParseOverride(c.Retry) // it was checked before it was stored
			return s.With(own)
		},
		Handle: func(ctx context.Context, endpointID string, ev *event.Event, key string) ([]byte, error) {
			endpoint, err := p.db.Endpoint(ctx, endpointID)
			if err != nil {
				return nil, fmt.Errorf("find handler: %w", err)
			}
			return hook.Ask(ctx, endpoint, ev, key)
		},
		WhyNot: p.whyNot, Audience: p.audience,
		Subjects: subjects(p.registry.Profile), Notify: notices(p.registry.Mails), Vault: p.registry.AMQP.Vault(),
		RejectUnwanted: rejectUnwanted(p.registry.Profile),
	}), nil
}

// connector opens connections to brokers with the secrets of their rows.
func connector(services *services.Services, out cli.OutboundFlags, log *slog.Logger) func(context.Context, store.AMQPBroker, func(link.State)) (amqp.Conn, error) {
	return func(ctx context.Context, b store.AMQPBroker, changed func(link.State)) (amqp.Conn, error) {
		password, certificate, roots, err := services.AMQP.BrokerSecrets(ctx, b)
		if err != nil {
			return nil, err
		}
		dialect, err := link.ParseDialect(b.Dialect)
		if err != nil {
			return nil, err
		}
		secure := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots, VerifyConnection: out.Servers.At(installation.ExpiryBrokerServer, b.ID)}
		if certificate != nil {
			secure.Certificates = []tls.Certificate{*certificate}
		}
		c, err := link.New(link.Config{
			URL: b.URL, Dialect: dialect, Namespace: b.Namespace, TLS: secure, SASL: link.SASL(b.SASL), Username: b.Username, Password: password,
			Clock: cli.Clock, OnChange: changed, Log: log, Dial: outbound.DialListed(out.OutboundHosts),
		})
		if err != nil {
			return nil, err
		}
		return c, c.Start(ctx)
	}
}

func ownKeys(services *services.Services) func(context.Context, string) ([]amqp.Key, error) {
	return func(ctx context.Context, partyID string) ([]amqp.Key, error) {
		pairs, err := services.AMQP.OwnKeys(ctx, partyID)
		if err != nil {
			return nil, err
		}
		keys := make([]amqp.Key, len(pairs))
		for i, k := range pairs {
			keys[i] = amqp.Key{Identity: cms.Identity{Certificate: k.Certificate, Key: k.Key}, Purpose: k.Purpose, Chain: k.Chain}
		}
		return keys, nil
	}
}

// subjects gives the codes of list 8279 of the settings; when those cannot be read, the codes of the processes alone hold.
func subjects(profiles *profile.Profiles) func(context.Context) []string {
	return func(ctx context.Context) []string {
		p, err := profiles.Current(ctx)
		if err != nil {
			return nil
		}
		return p.AMQPSubjects
	}
}

// rejectUnwanted reports what the settings say of a message that nobody is subscribed to; it is held when they cannot be read.
func rejectUnwanted(profiles *profile.Profiles) func(context.Context) bool {
	return func(ctx context.Context) bool {
		p, err := profiles.Current(ctx)
		return err == nil && p.AMQPUnwanted == registry.UnwantedReject
	}
}

// notices mails the administrators about messages that wait for a person.
func notices(mails *mail.Mails) func(context.Context, *store.Tx, amqp.Notice) error {
	kinds := map[string]mail.AMQPTrouble{
		amqp.NoticeDead: mail.AMQPDead, amqp.NoticeOverdue: mail.AMQPOverdue,
		amqp.NoticeQuarantined: mail.AMQPQuarantined, amqp.NoticeHeld: mail.AMQPHeld,
		amqp.NoticeUnchecked: mail.AMQPUnchecked, amqp.NoticeAnswer: mail.AMQPAnswer, amqp.NoticeContent: mail.AMQPContent,
	}
	return func(ctx context.Context, tx *store.Tx, n amqp.Notice) error {
		if n.Kind == amqp.NoticeExpiry {
			queues := make([]mail.AMQPQueueLoss, len(n.Groups))
			for i, g := range n.Groups {
				queues[i] = mail.AMQPQueueLoss{Queue: g.Queue, Own: g.Own, Detail: g.Detail}
			}
			return mails.AMQPExpiry(ctx, tx, queues)
		}
		groups := make([]mail.AMQPGroup, len(n.Groups))
		for i, g := range n.Groups {
			groups[i] = mail.AMQPGroup{
				Name: g.Name, HerID: g.HerID, Own: g.Own, Queue: g.Queue, Count: g.Count, MessageID: g.MessageID, PartyID: g.PartyID, Detail: g.Detail,
			}
		}
		return mails.AMQPWaiting(ctx, tx, kinds[n.Kind], groups)
	}
}

// amqpReady adds to /readyz what a person should look at: a clock that follows no time server (AMQP-54), or a connection
// that is not open. Neither keeps the program from its other work.
type amqpReady struct {
	*amqp.Bridge

	db *store.DB
}

// Ready implements Readier.
func (r amqpReady) Ready(ctx context.Context) error {
	parties, err := r.db.AMQPParties(ctx, "")
	if err != nil || len(parties) == 0 {
		return err
	}
	var troubles []string
	if c := r.Clock(); !c.Synchronised {
		troubles = append(troubles, c.Detail.String())
	}
	connections, err := r.db.AMQPConnections(ctx, "")
	if err != nil {
		return err
	}
	for _, c := range connections {
		if c.Phase != store.AMQPOpen {
			troubles = append(troubles, "A connection to a broker is "+c.Phase+": "+c.Detail+".")
		}
	}
	orphans, err := r.db.AMQPWithoutRecipient(ctx, "")
	if err != nil {
		return err
	}
	for _, one := range orphans {
		troubles = append(troubles, "Process "+one.Name+" has no recipient: nobody is subscribed to "+one.Receives+".")
	}
	queues, err := r.db.AMQPQueues(ctx)
	if err != nil {
		return err
	}
	for _, q := range queues {
		if loss := amqp.LossText(q, cli.Clock()); loss != "" {
			troubles = append(troubles, "Queue "+q.Name+": "+loss.String())
		}
	}
	if len(troubles) == 0 {
		return nil
	}
	return warning(strings.Join(troubles, " "))
}
