package demo

import (
	"context"
	"errors"

	"schakel/registry"
	"schakel/store"
)

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
