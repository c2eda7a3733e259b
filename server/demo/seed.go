package demo

import (
	"context"
	"errors"
	"fmt"

	"schakel/registry"
	"schakel/registry/identity"
	"schakel/registry/profile"
	"schakel/store"
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
		// Secrets are easier to try by hand than keys, and nobody has an app with codes for made-up people; the demonstration
		// prints both.
		if err := s.ChangeSettings(ctx, map[string]string{"tokens.client_auth": profile.AuthSecretBasic, "access.administrator_factor": registry.FactorOptional}); err != nil {
			return out, err
		}
		if err := PublishContracts(ctx, s.Services, s.Admin); err != nil {
			return out, err
		}
		if err := publishSecondWebhook(ctx, s.Services, s.Admin); err != nil {
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
	if err == nil {
		err = publishSecondEvents(ctx, a.Services, a.Admin)
	}
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

// seedPartners makes partners and subscriptions in every state there is.
func seedPartners(ctx context.Context, c *Chain, receiver *Receiver) ([]Login, error) {
	steady, err := c.seedSteady(ctx, receiver)
	if err != nil {
		return nil, err
	}
	moody, err := c.seedMoody(ctx, receiver)
	if err != nil {
		return nil, err
	}
	waiting, err := c.seedWaiting(ctx)
	if err != nil {
		return nil, err
	}
	return []Login{steady, moody, waiting}, c.seedFormer(ctx, receiver)
}

// seedSteady makes a partner where all goes well, and an endpoint of the own
// organisation, which gets what partners send.
func (c *Chain) seedSteady(ctx context.Context, receiver *Receiver) (Login, error) {
	o := Organisation{Name: "Leerlingvolgsysteem Kompas", KVK: "34567890", Contact: "Carla Smit", Email: "carla@kompas.example"}
	_, actor, err := c.Approved(ctx, o)
	if err != nil {
		return Login{}, err
	}
	if _, err := c.Subscribe(ctx, actor, receiver.Target("Kompas production", "steady"), EventTypes()...); err != nil {
		return Login{}, err
	}
	sub, err := c.Subscribe(ctx, actor, receiver.Target("Kompas acceptance", "acceptance"), TypeEnrolled)
	if err != nil {
		return Login{}, err
	}
	if err := c.Subscriptions.Pause(ctx, actor, sub.ID, "Maintenance of our acceptance environment."); err != nil {
		return Login{}, err
	}
	if err := c.seedPortions(ctx, actor, receiver); err != nil {
		return Login{}, err
	}
	_, err = c.Subscribe(ctx, c.Admin, receiver.Target("Own administration", "own"), TypeEnrolled, TypeUnenrolled)
	return Login{o.Email, "an approved partner whose endpoints work"}, err
}

// seedPortions makes endpoints that get batches, and events in office hours alone.
func (c *Chain) seedPortions(ctx context.Context, actor registry.Actor, receiver *Receiver) error {
	batches := receiver.Target("Kompas reports (in batches)", "batches")
	batches.Batch = 20
	office := receiver.Target("Kompas help desk (office hours)", "office")
	office.Windows = `{"timeZone":"Europe/Amsterdam","open":[{"days":["mon","tue","wed","thu","fri"],"from":"08:00","to":"18:00"}]}`
	for _, target := range []Target{batches, office} {
		if _, err := c.Subscribe(ctx, actor, target, TypeStudentChanged); err != nil {
			return err
		}
	}
	return nil
}

// seedMoody makes a partner with endpoints that fail at times.
func (c *Chain) seedMoody(ctx context.Context, receiver *Receiver) (Login, error) {
	o := Organisation{Name: "Gemeente Voorbeeldstad", KVK: "45678901", Contact: "Daan Bakker", Email: "daan@voorbeeldstad.example"}
	_, actor, err := c.Approved(ctx, o)
	if err != nil {
		return Login{}, err
	}
	if _, err := c.Subscribe(ctx, actor, receiver.Target("Leerplicht (often out of order)", HookMoody), TypeEnrolled, TypeUnenrolled); err != nil {
		return Login{}, err
	}
	strict := receiver.Target("Leerlingenvervoer (refuses some)", HookStrict)
	if _, err := c.Subscribe(ctx, actor, strict, TypeStudentChanged); err != nil {
		return Login{}, err
	}
	endpoint, err := c.Endpoint(ctx, actor, receiver.Target("Jeugdzorg", "care"))
	if err != nil {
		return Login{}, err
	}
	if _, err := c.Request(ctx, actor, endpoint.ID, TypeStudentChanged); err != nil { // stays requested
		return Login{}, err
	}
	refused, err := c.Request(ctx, actor, endpoint.ID, TypeStudentRemoved)
	if err != nil {
		return Login{}, err
	}
	err = c.Subscriptions.Reject(ctx, c.Admin, refused.ID, "There is no legal ground to know which students were removed.")
	return Login{o.Email, "an approved partner whose endpoints fail at times"}, err
}

// seedWaiting makes a registration whose address is not confirmed, and one that
// waits for the administrator.
func (c *Chain) seedWaiting(ctx context.Context) (Login, error) {
	if _, err := c.Register(ctx, Organisation{Name: "Basisschool De Regenboog", KVK: "56789012", Contact: "Eva Mulder", Email: "eva@regenboog.example"}); err != nil {
		return Login{}, err
	}
	o := Organisation{Name: "Scholengroep Noord", KVK: "67890123", Contact: "Femke Visser", Email: "femke@scholengroepnoord.example"}
	if _, err := c.Register(ctx, o); err != nil {
		return Login{}, err
	}
	_, err := c.Confirm(ctx, o.Email)
	return Login{o.Email, "a registration that waits for approval"}, err
}

// seedFormer makes a partner that is suspended, one that was rejected and one
// whose exchange has ended.
func (c *Chain) seedFormer(ctx context.Context, receiver *Receiver) error {
	delta, actor, err := c.Approved(ctx, Organisation{Name: "Toetsplatform Delta", KVK: "78901234", Contact: "Gijs Meijer", Email: "gijs@delta.example"})
	if err != nil {
		return err
	}
	sub, err := c.Subscribe(ctx, actor, receiver.Target("Delta", "delta"), TypeEnrolled)
	if err != nil {
		return err
	}
	old, actor, err := c.Approved(ctx, Organisation{Name: "Roosterprogramma Oud", KVK: "89012345", Contact: "Hanna Bos", Email: "hanna@rooster.example"})
	if err != nil {
		return err
	}
	if _, err := c.Subscribe(ctx, actor, receiver.Target("Rooster", "rooster"), TypeEnrolled); err != nil {
		return err
	}
	publisher, err := c.unapproved(ctx, Organisation{Name: "Uitgeverij Voorbeeld", KVK: "90123456", Contact: "Ids Dijkstra", Email: "ids@uitgeverij.example"})
	return errors.Join(err,
		c.Subscriptions.Suspend(ctx, c.Admin, sub.ID, "The processing agreement is being renewed."),
		c.Partners.Suspend(ctx, c.Admin, delta.ID, "The certificate of the organisation was revoked."),
		c.Partners.End(ctx, c.Admin, old.ID, "The product is no longer sold."),
		c.Partners.Reject(ctx, c.Admin, publisher.ID, "There is no agreement with this organisation."))
}

// unapproved registers a partner and confirms its address.
func (c *Chain) unapproved(ctx context.Context, o Organisation) (store.Partner, error) {
	partner, err := c.Register(ctx, o)
	if err == nil {
		_, err = c.Confirm(ctx, o.Email)
	}
	return partner, err
}

// ChangeSettings changes settings of the chain collaboration, by key, and leaves the others as they are.
func (c *Chain) ChangeSettings(ctx context.Context, change map[string]string) error {
	state, err := c.Profile.Load(ctx)
	if err != nil {
		return fmt.Errorf("change settings: %w", err)
	}
	values := state.Values()
	for key, value := range change {
		values[key] = value
	}
	if _, _, err = c.Profile.Save(ctx, registry.SystemActor(), profile.ProfileChange{Version: state.Version, Values: values}); err != nil {
		return fmt.Errorf("change settings: %w", err)
	}
	return nil
}
