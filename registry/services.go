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

// New makes the services around one configuration.
func New(cfg Config, accounts *Accounts) (*Services, error) {
	cfg = cfg.withDefaults()
	if err := cfg.check(); err != nil {
		return nil, err
	}
	if accounts == nil {
		return nil, errors.New("registry: Accounts must be set")
	}
	profiles := NewProfiles(cfg.DB, cfg.Now, cfg.Profile)
	contracts := &Contracts{cfg, profiles, newTurns(), newTurns()}
	own, err := newOwnContracts(cfg, contracts)
	if err != nil {
		return nil, err
	}
	return &Services{
		Profile:       profiles,
		Accounts:      accounts,
		Partners:      &Partners{cfg, accounts},
		Clients:       &Clients{cfg, profiles},
		SigningKeys:   &SigningKeys{cfg},
		ReadKeys:      &ReadKeys{cfg},
		Endpoints:     &Endpoints{cfg},
		Subscriptions: &Subscriptions{cfg, profiles},
		Routes:        &Routes{cfg},
		Datasets:      &Datasets{cfg},
		Contracts:     contracts,
		OwnContracts:  own,
		Downloads:     newDownloads(cfg),
		Mirrors:       &Mirrors{cfg, contracts},
		AMQP:          &AMQP{cfg, profiles},
		Advice:        newAdvice(contracts),
		EventTypes:    &EventTypes{cfg},
		Payloads:      newPayloads(cfg),
		Audit:         &AuditTrail{cfg},
		Mails:         &Mails{cfg},
	}, nil
}
