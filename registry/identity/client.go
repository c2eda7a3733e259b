package identity

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"schakel/registry"
	"schakel/registry/identity/token"
	"schakel/store"
)

// The scopes of access tokens (SEC-10).
const (
	ScopeEventsPublish      = "events.publish"
	ScopeEventsConsume      = "events.consume"
	ScopeSubscriptionsWrite = "subscriptions.write"
	ScopeRegistryRead       = "registry.read"
	ScopeRegistryWrite      = "registry.write"
	ScopeMutationsRead      = "mutations.read"
	ScopeMutationsPublish   = "mutations.publish"
)

// AllScopes lists every scope a client can have.
func AllScopes() []string {
	return []string{ScopeEventsConsume, ScopeSubscriptionsWrite, ScopeRegistryRead, ScopeMutationsRead, ScopeEventsPublish, ScopeRegistryWrite, ScopeMutationsPublish}
}

// Clients are the machines of partners and of the own organisation, that get access tokens.
type Clients struct {
	cfg     registry.Config
	profile registry.ProfileSource
}

// NewClients makes the service.
func NewClients(cfg registry.Config, profile registry.ProfileSource) *Clients {
	return &Clients{cfg, profile}
}

// NewClient holds the input for a client. What an administrator must decide on waits for approval.
type NewClient struct {
	Name       string
	AuthMethod string // one of AuthMethods
	JWKS       string // private_key_jwt: the public keys
	JWKSURI    string // or where they are
	Scopes     []string
	// PublishTypes are event types, or prefixes such as nl.example.student.*.
	PublishTypes []string
	// PublishSources are sources, or prefixes such as https://example.nl/*.
	PublishSources []string
	// SourceReason says why an administrator grants sources with the OIN of another organisation; see [ForeignSources].
	SourceReason string
	// CertificateSubject is the subject of its certificates (RFC 4514); empty: any with the OIN of the partner.
	CertificateSubject string
	CertificateBound   bool // its tokens work with its certificate alone
	DPoPBound          bool // its tokens work with a proof of its key alone (RFC 9449)
	CertificateKeys    bool // private_key_jwt: a key counts that comes with a certificate of the partner
}

// AuthMethods lists the ways a client may prove who it is, as the profile says
// now (SEC-02); while that cannot be read, only the strict one.
func (c *Clients) AuthMethods(ctx context.Context) []string {
	all := []string{token.PrivateKeyJWT, token.ClientSecretBasic, token.ClientSecretPost}
	offered := all[:1]
	if state, err := c.profile.InForce(ctx); err == nil {
		offered = all[:slices.Index(all, state.ClientAuth)+1]
	}
	if c.cfg.ClientTLS {
		offered = slices.Insert(offered, 1, token.TLSClientAuth)
	}
	return offered
}

// Create makes a client. Secret is its secret, shown this once; empty for private_key_jwt. An administrator names the partner it
// is for, or none for the own organisation. Fields: name, authMethod, jwks, jwksUri, scopes, publishTypes, publishSources, sourceReason.
func (c *Clients) Create(ctx context.Context, actor registry.Actor, partnerID string, in NewClient) (client store.Client, secret string, err error) {
	in = in.clean()
	if err := c.check(in, c.AuthMethods(ctx), actor.Administrator).Err(); err != nil {
		return client, "", err
	}
	whose := partnerID
	if !actor.Administrator {
		whose = actor.PartnerID
	}
	if owner, err := registry.PartnerOrOwn(ctx, &c.cfg.DB.Queries, whose); err == nil { // who may not is refused below
		if err := c.checkRegistered(ctx, owner, in); err != nil {
			return client, "", err
		}
	}
	err = c.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		owner, err := registry.OwnerFor(ctx, tx, actor, partnerID)
		if err != nil {
			return err
		}
		mine, err := tx.Clients(ctx, owner.ID)
		if err != nil {
			return fmt.Errorf("count clients: %w", err)
		}
		revoked := func(k store.Client) bool { return k.Status == store.ClientRevoked }
		if err := registry.WithinMost(actor, "clients", len(slices.DeleteFunc(mine, revoked))); err != nil {
			return err
		}
		client = store.Client{PartnerID: owner.ID, Status: store.ClientActive}
		c.apply(ctx, &client, in, actor, tx.Now)
		details, err := c.grantedSources(ctx, tx, owner, nil, client, in.SourceReason)
		if err != nil {
			return err
		}
		if HasSecret(client.AuthMethod) {
			secret, client.SecretHash = token.NewSecret()
		}
		if err := tx.InsertClient(ctx, &client); err != nil {
			return fmt.Errorf("add client: %w", err)
		}
		if err := registry.Record(ctx, tx, actor, registry.ActionClientCreated, clientObject(client), details); err != nil {
			return err
		}
		if err := c.mailKeys(ctx, tx, actor, store.Client{}, client); err != nil {
			return err
		}
		return c.notifyWaiting(ctx, tx, owner, client)
	})
	return client, secret, err
}

// Certificates reports whether certificates of clients can be held against roots.
func (c *Clients) Certificates() bool { return c.cfg.Certificates }

// HasSecret reports whether a client with this method of authentication has a secret.
func HasSecret(method string) bool {
	return method == token.ClientSecretBasic || method == token.ClientSecretPost
}

// notifyWaiting mails the administrators when a client waits for them.
func (c *Clients) notifyWaiting(ctx context.Context, tx *store.Tx, owner store.Partner, client store.Client) error {
	if !client.Waiting() {
		return nil
	}
	return c.cfg.MailAllowed(ctx, tx, registry.DecideApprovals, mailClientWaits(c.cfg, owner, client))
}

// Get finds a client within a scope.
func (c *Clients) Get(ctx context.Context, scope registry.Scope, id string) (store.Client, error) {
	client, err := c.cfg.DB.Client(ctx, id)
	return registry.Visible(scope, "client", client, client.PartnerID, err)
}

// List lists the clients of a partner, newest first. An administrator that names no partner gets the own organisation's.
func (c *Clients) List(ctx context.Context, scope registry.Scope, partnerID string) ([]store.Client, error) {
	id, ok := scope.Narrow(partnerID)
	if !ok {
		return nil, nil
	}
	if id == "" {
		own, err := c.cfg.DB.OwnPartner(ctx)
		if err != nil {
			return nil, registry.Found("own organisation", err)
		}
		id = own.ID
	}
	rows, err := c.cfg.DB.Clients(ctx, id)
	return rows, registry.Wrap("list clients", err)
}

// Waiting lists the clients whose requests wait for an administrator, oldest first.
func (c *Clients) Waiting(ctx context.Context, actor registry.Actor) ([]store.Client, error) {
	if err := actor.RequireAdministrator(); err != nil {
		return nil, err
	}
	rows, err := c.cfg.DB.ClientsWaiting(ctx)
	return rows, registry.Wrap("list waiting clients", err)
}

func clientObject(c store.Client) registry.Object {
	return registry.ObjectOf("client", c.ID, c.Name, c.PartnerID)
}

func clientDetails(c store.Client) registry.Details {
	return registry.Details{
		"scopes": c.Scopes, "types": c.PublishTypes, "sources": c.PublishSources,
		"requestedScopes": c.RequestedScopes, "requestedTypes": c.RequestedTypes, "requestedSources": c.RequestedSources,
	}
}

var _ token.Clients = (*Clients)(nil)

// TokenClient implements token.Clients. A client of a partner that is not
// approved gets no tokens, and those it has stop within seconds.
func (c *Clients) TokenClient(ctx context.Context, clientID string) (token.Client, error) {
	if !utf8.ValidString(clientID) || strings.Contains(clientID, "\x00") {
		return token.Client{}, token.ErrUnknownClient // PostgreSQL would fail on it
	}
	client, err := c.cfg.DB.Client(ctx, clientID)
	if errors.Is(err, store.ErrNotFound) {
		return token.Client{}, token.ErrUnknownClient
	}
	if err != nil {
		return token.Client{}, fmt.Errorf("find client: %w", err)
	}
	return c.tokenClient(ctx, client)
}

// tokenClient is a client as tokens are judged by.
func (c *Clients) tokenClient(ctx context.Context, client store.Client) (token.Client, error) {
	partner, err := c.cfg.DB.Partner(ctx, client.PartnerID)
	if err != nil {
		return token.Client{}, fmt.Errorf("find partner of client: %w", err)
	}
	found := token.Client{
		ID: client.ID, PartnerID: client.PartnerID, Name: client.Name, Status: token.StatusActive,
		AuthMethod: client.AuthMethod, SecretHash: client.SecretHash, JWKS: []byte(client.JWKS), JWKSURI: client.JWKSURI,
		Scopes: client.Scopes, TokenVersion: client.TokenVersion, OIN: partner.OIN,
		CertificateSubject: client.CertificateSubject, CertificateBound: client.CertificateBound, DPoPBound: client.DPoPBound, CertificateKeys: client.CertificateKeys,
	}
	if partner.Own {
		found.PartnerID = ""
	}
	switch {
	case client.Status != store.ClientActive:
		found.Status = client.Status
	case partner.Status != store.PartnerApproved:
		found.Status = "partner " + partner.Status
	}
	return found, nil
}

// Actor is a client as the author of a change, for the APIs. It is no administrator: a client of the own organisation changes
// what is the own organisation's. What its token's scopes allow is checked before this.
func (c *Clients) Actor(ctx context.Context, clientID string) (registry.Actor, error) {
	client, err := c.cfg.DB.Client(ctx, clientID)
	if err != nil {
		return registry.Actor{}, registry.Found("client", err)
	}
	return registry.Actor{Kind: registry.ActorClient, ID: client.ID, Name: client.Name, PartnerID: client.PartnerID}, nil
}
