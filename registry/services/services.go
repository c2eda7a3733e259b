package services

import (
	"context"
	"errors"
	"slices"

	"schakel/registry"
	registryamqp "schakel/registry/amqp"
	"schakel/registry/confirm"
	"schakel/registry/contracts"
	"schakel/registry/datasets"
	"schakel/registry/identity"
	"schakel/registry/installation"
	"schakel/registry/mail"
	"schakel/registry/partners"
	"schakel/registry/profile"
)

// Services are all services of the registry, one a noun.
type Services struct {
	Accounts      *identity.Accounts
	Mandates      registry.Mandates // nil where nobody is asked
	Partners      *partners.Partners
	Clients       *identity.Clients
	SigningKeys   *identity.SigningKeys
	ReadKeys      *identity.ReadKeys
	Endpoints     *partners.Endpoints
	Subscriptions *partners.Subscriptions
	Routes        *partners.Routes
	Datasets      *datasets.Datasets
	Contracts     *contracts.Contracts
	OwnContracts  *contracts.OwnContracts
	Downloads     *contracts.Downloads
	Mirrors       *contracts.Mirrors
	AMQP          *registryamqp.AMQP
	Advice        *contracts.Advice
	EventTypes    *contracts.EventTypes
	Payloads      *contracts.Payloads
	Audit         *registry.AuditTrail
	Mails         *mail.Mails
	Profile       *profile.Profiles
	Installation  *installation.Service
	Confirmations *confirm.Confirmations
}

// Option changes how [New] makes the services.
type Option func(*options)

type options struct{ addresses registryamqp.AddressRegistry }

// WithAddresses makes the services ask an address registry of the health exchange. Without one our own records of parties are all
// there is.
func WithAddresses(r registryamqp.AddressRegistry) Option {
	return func(o *options) { o.addresses = r }
}

// Sealed lists the columns that the vault seals.
func Sealed() []registry.SealedColumn {
	return slices.Concat(registry.Sealed(), identity.Sealed(), partners.Sealed(), contracts.Sealed(), registryamqp.Sealed())
}

// New makes the services around one configuration.
func New(cfg registry.Config, accounts *identity.Accounts, opts ...Option) (*Services, error) {
	cfg = cfg.WithDefaults()
	if err := cfg.Check(); err != nil {
		return nil, err
	}
	if accounts == nil {
		return nil, errors.New("registry: Accounts must be set")
	}
	var o options
	for _, opt := range opts {
		opt(&o)
	}
	profiles := profile.NewProfiles(cfg.DB, cfg.Now, cfg.Profile)
	confirmations := confirm.New(cfg, func(ctx context.Context) (registry.Profile, error) {
		state, err := profiles.Load(ctx)
		if err != nil {
			return registry.Profile{}, err
		}
		return state.Profile, nil
	})
	cfg.SecondPerson = confirmations
	profiles.Configure(confirmations, confirm.EnoughPeople)
	profiles.MailBy(cfg)
	cfg.DB.EncryptData(cfg.Vault, profiles.EncryptsData)
	register := contracts.NewContracts(cfg, profiles)
	own, err := contracts.NewOwnContracts(cfg, register)
	if err != nil {
		return nil, err
	}
	if err := accounts.Configure(cfg, profiles); err != nil {
		return nil, err
	}
	subscriptions := partners.NewSubscriptions(cfg, profiles, registryamqp.KeepRecipients, identity.MayPublishNow, profile.ReadSetting)
	s := &Services{
		Mandates:      cfg.Mandates,
		Profile:       profiles,
		Accounts:      accounts,
		Partners:      partners.NewPartners(cfg, accounts, identity.StopClients),
		Clients:       identity.NewClients(cfg, profiles),
		SigningKeys:   identity.NewSigningKeys(cfg),
		ReadKeys:      identity.NewReadKeys(cfg),
		Endpoints:     partners.NewEndpoints(cfg, register, registryamqp.KeepRecipients, profiles),
		Subscriptions: subscriptions,
		Routes:        partners.NewRoutes(cfg, registryamqp.KeepRecipients),
		Datasets:      datasets.NewDatasets(cfg, subscriptions),
		Contracts:     register,
		OwnContracts:  own,
		Downloads:     contracts.NewDownloads(cfg),
		Mirrors:       contracts.NewMirrors(cfg, register),
		AMQP:          registryamqp.NewAMQP(cfg, profiles, o.addresses),
		Advice:        contracts.NewAdvice(register),
		EventTypes:    contracts.NewEventTypes(cfg),
		Payloads:      contracts.NewPayloads(cfg),
		Audit:         registry.NewAuditTrail(cfg),
		Mails:         mail.NewMails(cfg),
		Installation:  installation.NewService(cfg),
		Confirmations: confirmations,
	}
	for action, do := range partners.Confirmed(s.Partners, s.Subscriptions, s.Routes, s.Endpoints) {
		confirmations.Handle(action, do)
	}
	confirmations.Handle(identity.ConfirmClient, s.Clients.Confirmed)
	confirmations.Handle(identity.ConfirmExternal, s.Clients.ConfirmedExternal)
	confirmations.Handle(registryamqp.ConfirmParty, s.AMQP.Confirmed)
	confirmations.Handle(registryamqp.ConfirmBroker, s.AMQP.ConfirmedBroker)
	confirmations.Handle(profile.ConfirmSettings, profiles.Confirmed)
	return s, nil
}
