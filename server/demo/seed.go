package demo

import (
	"context"
	"fmt"

	"schakel/registry"
	"schakel/registry/identity"
	"schakel/registry/profile"
)

// OwnA and OwnB are the organisations that run the two Schakels.
func OwnA() Organisation {
	return Organisation{Name: "Ketenbureau Voorbeeld", KVK: "12345678", Contact: "Anna de Vries", Email: "anna@voorbeeld.example"}
}

// OwnB is the organisation that runs the second Schakel.
func OwnB() Organisation {
	return Organisation{Name: "Samenwerkingsverband Horizon", KVK: "23456789", Contact: "Bram Jansen", Email: "bram@horizon.example"}
}

// Seeded names what the seeding made and others need to know.
type Seeded struct {
	PublisherA, PublisherB Credentials // of the own organisation of each
	Partners               []Login     // who can log in at the first Schakel
	Buildings              Buildings   // after SeedBuildings
}

// Login is an account and what there is to see with it.
type Login struct{ Email, Shows string }

// Seed fills two empty Schakels: a, at the address baseA, with partners in every
// state; b, which is one of those partners and has a as its own.
func Seed(ctx context.Context, a, b *Chain, baseA, baseB string, receiver *Receiver) (Seeded, error) {
	var out Seeded
	for _, s := range []struct {
		*Chain
		own  Organisation
		mine *Credentials
	}{{a, OwnA(), &out.PublisherA}, {b, OwnB(), &out.PublisherB}} {
		if err := s.Administrator(ctx, s.own.Contact, s.own.Email); err != nil {
			return out, err
		}
		// Secrets are easier to try by hand than keys; the demonstration prints what this relaxes.
		if err := s.ChangeSettings(ctx, map[string]string{"tokens.client_auth": profile.AuthSecretBasic}); err != nil {
			return out, err
		}
		if err := PublishContracts(ctx, s.Services, s.Admin); err != nil {
			return out, err
		}
		creds, err := s.Publisher(ctx, s.Admin, s.own, identity.ScopeRegistryRead)
		if err != nil {
			return out, err
		}
		*s.mine = creds
	}
	if err := Connect(ctx, a, b, baseA, baseB); err != nil {
		return out, err
	}
	logins, err := seedPartners(ctx, a, receiver)
	out.Partners = append(logins, Login{OwnB().Email, "the partner that runs the second Schakel"})
	return out, err
}

// Connect makes each Schakel a partner of the other: both deliver to the
// other's intake with a token of the other's token endpoint.
func Connect(ctx context.Context, a, b *Chain, baseA, baseB string) error {
	_, inA, err := a.Approved(ctx, OwnB())
	if err != nil {
		return err
	}
	// The same people look after a as partner of b; their accounts there are others.
	_, inB, err := b.Approved(ctx, OwnA().at("schakel@voorbeeld.example"))
	if err != nil {
		return err
	}
	for _, d := range []struct {
		from, to   *Chain
		toBase     string
		own        Organisation // runs from
		receivesAt registry.Actor
		sendsAs    registry.Actor
		types      []string
	}{
		{a, b, baseB, OwnA(), inA, inB, EventTypes()},
		{b, a, baseA, OwnB(), inB, inA, []string{TypeEnrolled, TypeUnenrolled}},
	} {
		creds, err := d.to.Publisher(ctx, d.sendsAs, d.own)
		if err != nil {
			return err
		}
		target := Target{
			Name: "Schakel at " + d.toBase, URL: d.toBase + "/events/v1/events", TokenURL: d.toBase + "/oauth/token",
			Credentials: creds, Scope: identity.ScopeEventsPublish,
		}
		if _, err := d.from.Subscribe(ctx, d.receivesAt, target, d.types...); err != nil {
			return fmt.Errorf("connect with %s: %w", d.toBase, err)
		}
	}
	return nil
}

// at is the organisation with another address of its contact person.
func (o Organisation) at(email string) Organisation {
	o.Email = email
	return o
}
