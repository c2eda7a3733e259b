package registry

import "errors"

// Services are all services of the registry, one a noun.
type Services struct {
	Accounts      *Accounts
	Partners      *Partners
	Clients       *Clients
	SigningKeys   *SigningKeys
	ReadKeys      *ReadKeys
	Endpoints     *Endpoints
	Subscriptions *Subscriptions
	Routes        *Routes
	Datasets      *Datasets
	Contracts     *Contracts
	OwnContracts  *OwnContracts
	Downloads     *Downloads
	Mirrors       *Mirrors
	AMQP          *AMQP
	Advice        *Advice
	EventTypes    *EventTypes
	Payloads      *Payloads
	Audit         *AuditTrail
	Mails         *Mails
	Profile       *Profiles
}

// Option changes how [New] makes the services.
type Option func(*options)

type options struct{ addresses AddressRegistry }

// WithAddresses makes the services ask an address registry of the health exchange. Without one our own records of parties are all
// there is.
func WithAddresses(r AddressRegistry) Option {
	return func(o *options) { o.addresses = r }
}

// New makes the services around one configuration.
func New(cfg Config, accounts *Accounts, opts ...Option) (*Services, error) {
	cfg = cfg.withDefaults()
	if err := cfg.check(); err != nil {
		return nil, err
	}
	if accounts == nil {
		return nil, errors.New("registry: Accounts must be set")
	}
	var o options
	for _, opt := range opts {
		opt(&o)
	}
	profiles := NewProfiles(cfg.DB, cfg.Now, cfg.Profile)
	register := NewContracts(cfg, profiles)
	own, err := NewOwnContracts(cfg, register)
	if err != nil {
		return nil, err
	}
	subscriptions := NewSubscriptions(cfg, profiles, keepRecipients, mayPublishNow, ReadSetting)
	return &Services{
		Profile:       profiles,
		Accounts:      accounts,
		Partners:      NewPartners(cfg, accounts, stopClients),
		Clients:       NewClients(cfg, profiles),
		SigningKeys:   NewSigningKeys(cfg),
		ReadKeys:      NewReadKeys(cfg),
		Endpoints:     NewEndpoints(cfg, register, keepRecipients),
		Subscriptions: subscriptions,
		Routes:        NewRoutes(cfg, keepRecipients),
		Datasets:      NewDatasets(cfg, subscriptions),
		Contracts:     register,
		OwnContracts:  own,
		Downloads:     NewDownloads(cfg),
		Mirrors:       NewMirrors(cfg, register),
		AMQP:          NewAMQP(cfg, profiles, o.addresses),
		Advice:        NewAdvice(register),
		EventTypes:    NewEventTypes(cfg),
		Payloads:      NewPayloads(cfg),
		Audit:         NewAuditTrail(cfg),
		Mails:         NewMails(cfg),
	}, nil
}
