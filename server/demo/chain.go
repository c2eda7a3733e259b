// Package demo makes the data that `schakel demo` shows: two example contracts, a chain of
// made-up partners in every state, a receiver that fails at times and a trickle
// of events.
//
// All of it is made through the services of the registry and the public APIs, as
// people and machines would; nothing is written past them.
package demo

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"

	"schakel/registry"
	"schakel/registry/contracts"
	"schakel/registry/identity"
	"schakel/registry/identity/token"
	"schakel/registry/partners"
	"schakel/registry/services"
	"schakel/store"
)

// Credentials identify a machine client.
type Credentials struct{ ID, Secret string }

// batchWait sets how long events wait for others to fill a batch, in seconds.
const batchWait = 5

// Target locates where a partner receives, and how a token for it is requested.
type Target struct {
	Name, URL, TokenURL string
	Credentials
	Scope string
	// Windows say when it may be sent to, as registry.EndpointInput has them; empty is at any time.
	Windows string
	// Batch sets how many events go in one request; 0 means one.
	Batch int64
}

// Publisher makes a client that may publish every event type of the example
// from the sources of an organisation. For a partner's an administrator decides.
func (c *Chain) Publisher(ctx context.Context, actor registry.Actor, o Organisation, more ...string) (Credentials, error) {
	client, secret, err := c.Clients.Create(ctx, actor, "", identity.NewClient{
		Name: "Leerlingsysteem van " + o.Name, AuthMethod: token.ClientSecretBasic,
		Scopes:         append([]string{identity.ScopeEventsPublish}, more...),
		PublishTypes:   []string{"nl.voorbeeld.*"},
		PublishSources: []string{"urn:nld:oin:" + o.OIN() + ":*"},
	})
	if err != nil {
		return Credentials{}, fmt.Errorf("make client of %s: %w", o.Name, err)
	}
	if client.Waiting() {
		decision := identity.Decision{Approve: true, Seen: identity.ClientRequestSeen(client)}
		if _, err := c.Clients.Decide(ctx, c.Admin, client.ID, decision); err != nil {
			return Credentials{}, fmt.Errorf("grant client of %s: %w", o.Name, err)
		}
	}
	return Credentials{client.ID, secret}, nil
}

// Endpoint adds a webhook.
func (c *Chain) Endpoint(ctx context.Context, actor registry.Actor, t Target) (store.Endpoint, error) {
	endpoint, err := c.Endpoints.Create(ctx, actor, "", partners.EndpointInput{
		Name: t.Name, Kind: store.EndpointWebhook, URL: t.URL,
		TokenURL: t.TokenURL, TokenClientID: t.ID, TokenSecret: t.Secret, TokenScope: t.Scope,
		TokenAuthMethod: token.ClientSecretBasic, TimeoutSeconds: 10, Windows: t.Windows,
		BatchEvents: t.Batch, BatchWaitSeconds: min(t.Batch, batchWait), BatchStated: t.Batch > 0,
	})
	if err != nil {
		return endpoint, fmt.Errorf("add endpoint %s: %w", t.Name, err)
	}
	return endpoint, nil
}

// Request asks for a subscription at an endpoint.
func (c *Chain) Request(ctx context.Context, actor registry.Actor, endpointID string, types ...string) (store.Subscription, error) {
	sub, err := c.Subscriptions.Request(ctx, actor, partners.SubscriptionRequest{
		EndpointID: endpointID, Types: types, Purpose: "Keep our copy of students and enrolments up to date.",
	})
	if err != nil {
		return sub, fmt.Errorf("ask subscription: %w", err)
	}
	return sub, nil
}

// Subscribe asks for a subscription and has it approved.
func (c *Chain) Subscribe(ctx context.Context, actor registry.Actor, t Target, types ...string) (store.Subscription, error) {
	endpoint, err := c.Endpoint(ctx, actor, t)
	if err != nil {
		return store.Subscription{}, err
	}
	sub, err := c.Request(ctx, actor, endpoint.ID, types...)
	if err != nil {
		return sub, err
	}
	if err := c.Subscriptions.Approve(ctx, c.Admin, sub.ID); err != nil {
		return sub, fmt.Errorf("approve subscription: %w", err)
	}
	return sub, nil
}

// Ids of the example contracts.
const (
	EventsContract  = "leerlingen-events"
	WebhookContract = "leerlingen-webhook"
)

// Event types that the example contract defines.
const (
	TypeStudentChanged = "nl.voorbeeld.leerlingen.leerling-gewijzigd.v1"
	TypeStudentRemoved = "nl.voorbeeld.leerlingen.leerling-verwijderd.v1"
	TypeEnrolled       = "nl.voorbeeld.inschrijvingen.inschrijving-gestart.v1"
	TypeUnenrolled     = "nl.voorbeeld.inschrijvingen.inschrijving-beeindigd.v1"
)

// EventTypes lists the event types of the example contract.
func EventTypes() []string {
	return []string{TypeStudentChanged, TypeStudentRemoved, TypeEnrolled, TypeUnenrolled}
}

//go:embed leerlingen-events.yaml
var eventsDocument []byte

//go:embed leerlingen-webhook.yaml
var webhookDocument []byte

// PublishContracts registers and publishes the example contracts.
func PublishContracts(ctx context.Context, s *services.Services, admin registry.Actor) error {
	for _, c := range []struct {
		contracts.ContractInput
		file    string
		content []byte
	}{
		{contracts.ContractInput{
			ID: EventsContract, Kind: "asyncapi", Title: "Leerlinggebeurtenissen (example)",
			Description:    "Example, made for this demonstration: events about students and their enrolment.",
			Classification: "persoonsgegevens, vertrouwelijk",
		}, "leerlingen-events.yaml", eventsDocument},
		{contracts.ContractInput{
			ID: WebhookContract, Kind: "openapi", Title: "Leerlingen webhook (example)",
			Description:    "Example, made for this demonstration: what a partner offers to receive these events.",
			Classification: "openbaar",
		}, "leerlingen-webhook.yaml", webhookDocument},
	} {
		if err := publishContract(ctx, s, admin, c.ContractInput, c.file, c.content); err != nil {
			return err
		}
	}
	return nil
}

// publishContract registers a public contract of the first Schakel's organisation and publishes its first version.
func publishContract(ctx context.Context, s *services.Services, admin registry.Actor, c contracts.ContractInput, file string, content []byte) error {
	c.Visibility, c.Maintainer = store.VisibilityPublic, "Ketenbureau Voorbeeld"
	c.ContactName, c.ContactEmail = "Ketenbureau Voorbeeld", "contracten@voorbeeld.example"
	if _, err := s.Contracts.Create(ctx, admin, c); err != nil {
		return fmt.Errorf("create contract %s: %w", c.ID, err)
	}
	return publishVersion(ctx, s, admin, c.ID, file, content)
}

func publishVersion(ctx context.Context, s *services.Services, admin registry.Actor, id, file string, content []byte) error {
	v, err := s.Contracts.Upload(ctx, admin, id, contracts.Upload{FileName: file, Content: content})
	if err != nil {
		return fmt.Errorf("upload contract %s: %w", id, err)
	}
	if _, err := s.Contracts.Publish(ctx, admin, id, v.Version, contracts.PublishInput{Digest: v.Digest}); err != nil {
		return fmt.Errorf("publish contract %s: %w", id, err)
	}
	return nil
}

// publishSecondWebhook publishes a version of the webhook that breaks the first: a request has one header more.
func publishSecondWebhook(ctx context.Context, s *services.Services, admin registry.Actor) error {
	return publishVersion(ctx, s, admin, WebhookContract, "leerlingen-webhook.yaml", secondWebhook())
}

func secondWebhook() []byte {
	header := `
        - name: API-Version
          in: header
          required: true
          description: The version of this document that the request follows, such as 2.0.0.
          schema:
            type: string
      requestBody:`
	content := bytes.Replace(webhookDocument, []byte("\n      requestBody:"), []byte(header), 1)
	return bytes.Replace(content, []byte("version: 1.0.0"), []byte("version: 2.0.0"), 1)
}

// publishSecondEvents publishes a version of the events that breaks the first for who receives them: a school may come without its
// name. Whoever is subscribed to the first line of versions goes on to get that.
func publishSecondEvents(ctx context.Context, s *services.Services, admin registry.Actor) error {
	return publishVersion(ctx, s, admin, EventsContract, "leerlingen-events.yaml", secondEvents())
}

func secondEvents() []byte {
	content := bytes.Replace(eventsDocument, []byte("required: [id, name]"), []byte("required: [id]"), 1)
	return bytes.Replace(content, []byte("version: 1.2.0"), []byte("version: 2.0.0"), 1)
}
