// Package demo makes the data that `schakel demo` shows: two example contracts, a chain of
// made-up partners in every state, a receiver that fails at times and a trickle
// of events.
//
// All of it is made through the services of the registry and the public APIs, as
// people and machines would; nothing is written past them.
package demo

import (
	"context"
	_ "embed"
	"fmt"

	"schakel/registry"
	"schakel/registry/contracts"
	"schakel/registry/services"
	"schakel/store"
)

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
			Classification: "personal data, confidential",
		}, "leerlingen-events.yaml", eventsDocument},
		{contracts.ContractInput{
			ID: WebhookContract, Kind: "openapi", Title: "Leerlingen webhook (example)",
			Description:    "Example, made for this demonstration: what a partner offers to receive these events.",
			Classification: "public",
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
	v, err := s.Contracts.Upload(ctx, admin, c.ID, contracts.Upload{FileName: file, Content: content})
	if err != nil {
		return fmt.Errorf("upload contract %s: %w", c.ID, err)
	}
	if _, err := s.Contracts.Publish(ctx, admin, c.ID, v.Version, contracts.PublishInput{Digest: v.Digest}); err != nil {
		return fmt.Errorf("publish contract %s: %w", c.ID, err)
	}
	return nil
}
