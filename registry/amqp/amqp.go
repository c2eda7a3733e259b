package amqp

import (
	"context"
	"fmt"
	"slices"

	"schakel/registry"
	"schakel/store"
)

// AMQP manages the agreements on the exchange by AMQP 1.0: the brokers, the parties that exchange messages by them, the
// certificates of each, and the processes they support together. Administrators decide; people of a partner manage their
// own party.
type AMQP struct {
	cfg     registry.Config
	profile registry.ProfileSource

	addresses AddressRegistry // nil without one
}

// NewAMQP makes the service. addresses is the address registry of the health exchange; without one (nil) our own records of
// parties are all there is.
func NewAMQP(cfg registry.Config, profile registry.ProfileSource, addresses AddressRegistry) *AMQP {
	return &AMQP{cfg, profile, addresses}
}

// Vault protects messages at rest.
func (a *AMQP) Vault() *registry.Vault { return a.cfg.Vault }

// Bounds of what is kept of a party.
const (
	maxBrokers      = 20
	maxCertificates = 20
	maxProcesses    = 100
)

// Brokers lists all brokers by name, for an administrator. Sealed members are empty.
func (a *AMQP) Brokers(ctx context.Context, actor registry.Actor) ([]store.AMQPBroker, error) {
	if err := actor.RequireAdministrator(); err != nil {
		return nil, err
	}
	rows, err := a.cfg.DB.AMQPBrokers(ctx)
	if err != nil {
		return nil, fmt.Errorf("list brokers: %w", err)
	}
	for i := range rows {
		rows[i] = withoutSecrets(rows[i])
	}
	return rows, nil
}

// Broker finds a broker, for an administrator. Of its sealed members only whether they are there is told.
func (a *AMQP) Broker(ctx context.Context, actor registry.Actor, id string) (store.AMQPBroker, error) {
	if err := actor.RequireAdministrator(); err != nil {
		return store.AMQPBroker{}, err
	}
	row, err := a.cfg.DB.AMQPBroker(ctx, id)
	return withoutSecrets(row), registry.Found("broker", err)
}

// BrokerName holds the part of a broker that everybody with a party may see.
type BrokerName struct {
	ID, Name string
	Enabled  bool
}

// BrokerNames lists the brokers to choose from, by name.
func (a *AMQP) BrokerNames(ctx context.Context) ([]BrokerName, error) {
	rows, err := a.cfg.DB.AMQPBrokers(ctx)
	if err != nil {
		return nil, fmt.Errorf("list brokers: %w", err)
	}
	names := make([]BrokerName, len(rows))
	for i, row := range rows {
		names[i] = BrokerName{row.ID, row.Name, row.Enabled}
	}
	return names, nil
}

// sealedMark stands where a secret is kept.
const sealedMark = "sealed"

func withoutSecrets(b store.AMQPBroker) store.AMQPBroker {
	for _, secret := range []*string{&b.Secret, &b.PrivateKey} {
		if *secret != "" {
			*secret = sealedMark
		}
	}
	return b
}

// Parties lists parties within a scope, of one partner unless partnerID is empty; own parties first.
func (a *AMQP) Parties(ctx context.Context, scope registry.Scope, partnerID string) ([]store.AMQPParty, error) {
	id, ok := scope.Narrow(partnerID)
	if !ok {
		return nil, nil
	}
	rows, err := a.cfg.DB.AMQPParties(ctx, id)
	return rows, registry.Wrap("list parties", err)
}

// Party finds a party within a scope.
func (a *AMQP) Party(ctx context.Context, scope registry.Scope, id string) (store.AMQPParty, error) {
	row, err := a.cfg.DB.AMQPParty(ctx, id)
	return registry.Visible(scope, "party", row, row.PartnerID, err)
}

// PartyOfEndpoint finds the party that an endpoint delivers to, within a scope.
func (a *AMQP) PartyOfEndpoint(ctx context.Context, scope registry.Scope, endpointID string) (store.AMQPParty, error) {
	row, err := a.cfg.DB.AMQPPartyByEndpoint(ctx, endpointID)
	return registry.Visible(scope, "party", row, row.PartnerID, err)
}

// Certificates lists the certificates of a party within a scope, the newest first; never a private key.
func (a *AMQP) Certificates(ctx context.Context, scope registry.Scope, partyID string) ([]store.AMQPCertificate, error) {
	if _, err := a.Party(ctx, scope, partyID); err != nil {
		return nil, err
	}
	rows, err := a.cfg.DB.AMQPCertificates(ctx, partyID)
	if err != nil {
		return nil, fmt.Errorf("list certificates: %w", err)
	}
	for i := range rows {
		rows[i].PrivateKey = ""
	}
	return rows, nil
}

// Processes lists the processes of a counterpart within a scope.
func (a *AMQP) Processes(ctx context.Context, scope registry.Scope, partyID string) ([]store.AMQPProcess, error) {
	if _, err := a.Party(ctx, scope, partyID); err != nil {
		return nil, err
	}
	rows, err := a.cfg.DB.AMQPProcesses(ctx, partyID)
	return rows, registry.Wrap("list processes", err)
}

// Process finds one process of a counterpart, for an administrator.
func (a *AMQP) Process(ctx context.Context, actor registry.Actor, partyID, id string) (store.AMQPProcess, error) {
	if err := actor.RequireAdministrator(); err != nil {
		return store.AMQPProcess{}, err
	}
	rows, err := a.Processes(ctx, actor.Scope(), partyID)
	if err != nil {
		return store.AMQPProcess{}, err
	}
	i := slices.IndexFunc(rows, func(p store.AMQPProcess) bool { return p.ID == id })
	if i < 0 {
		return store.AMQPProcess{}, registry.NotFound("process")
	}
	return rows[i], nil
}
