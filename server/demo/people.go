package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"schakel/registry"
	"schakel/registry/partners"
	"schakel/registry/services"
	"schakel/store"
)

// Chain makes what is agreed in one Schakel, step by step, as people would in
// its portal.
type Chain struct {
	*services.Services
	Admin    registry.Actor // after Administrator
	Password string         // of every account
	hosts    int            // registrations so far
}

// Administrator makes the first administrator.
func (c *Chain) Administrator(ctx context.Context, name, email string) error {
	token, err := c.Accounts.SetupLink(ctx)
	if err != nil {
		return err
	}
	account, err := c.Accounts.CreateAdministrator(ctx, token, name, email, c.Password)
	if err != nil {
		return fmt.Errorf("make administrator: %w", err)
	}
	c.Admin = registry.AccountActor(account)
	return nil
}

// Organisation is a made-up partner.
type Organisation struct {
	Name, KVK string // KVK has 8 digits; empty of a Norwegian one
	Contact   string // name of the contact person
	Email     string
	// OrgNumber and HerID are of a Norwegian organisation, in place of an OIN.
	OrgNumber, HerID string
}

// OIN is the number made of the KvK number; empty of a Norwegian organisation.
func (o Organisation) OIN() string {
	if o.KVK == "" {
		return ""
	}
	return "00000003" + o.KVK + "0000"
}

// Number is by which number the organisation is known: its OIN or its organisasjonsnummer.
func (o Organisation) Number() string { return cmp.Or(o.OIN(), o.OrgNumber) }

// Source is the CloudEvents source of the organisation's events.
func (o Organisation) Source() string { return "urn:nld:oin:" + o.OIN() + ":systeem:leerlingen" }

// Register registers a partner, without confirming its e-mail address.
func (c *Chain) Register(ctx context.Context, o Organisation) (store.Partner, error) {
	c.hosts++
	err := c.Partners.Register(ctx, partners.Registration{
		Name: o.Name, OIN: o.OIN(), KVK: o.KVK, OrgNumber: o.OrgNumber, HerID: o.HerID,
		Contact:       partners.Contact{Name: o.Contact, Email: o.Email, Phone: "+31 20 555 0100"},
		EndpointKinds: []string{store.EndpointWebhook},
		TermsAccepted: true, TermsVersion: c.Partners.TermsVersion(),
		Addr: fmt.Sprintf("192.0.2.%d", c.hosts), // each from an address of its own, else the throttle counts
	})
	if err != nil {
		return store.Partner{}, fmt.Errorf("register %s: %w", o.Name, err)
	}
	found, _, err := c.Partners.List(ctx, c.Admin, store.PartnerFilter{Search: o.Number()})
	if err != nil {
		return store.Partner{}, err
	}
	if len(found) != 1 {
		return store.Partner{}, fmt.Errorf("register %s: %d partners have its number", o.Name, len(found))
	}
	return found[0], nil
}

// Confirm follows the link in the mail and chooses a password. The actor is the
// contact person.
func (c *Chain) Confirm(ctx context.Context, email string) (registry.Actor, error) {
	token, err := c.mailedToken(ctx, email)
	if err != nil {
		return registry.Actor{}, err
	}
	account, err := c.Partners.Confirm(ctx, token, c.Password)
	if err != nil {
		return registry.Actor{}, fmt.Errorf("confirm %s: %w", email, err)
	}
	return registry.AccountActor(account), nil
}

// mailedToken reads the confirmation link that was mailed last.
func (c *Chain) mailedToken(ctx context.Context, email string) (string, error) {
	mails, _, err := c.Mails.List(ctx, c.Admin, store.Page{Size: 100})
	if err != nil {
		return "", err
	}
	for _, m := range mails {
		if m.Recipient != email {
			continue
		}
		mail, err := c.Mails.Get(ctx, c.Admin, m.ID)
		if err != nil {
			return "", err
		}
		if _, rest, ok := strings.Cut(mail.Body, registry.LinkConfirmEmail.Path("")); ok {
			return strings.Fields(rest)[0], nil
		}
	}
	return "", errors.New("no confirmation was mailed to " + email)
}

// Approved registers, confirms and approves a partner.
func (c *Chain) Approved(ctx context.Context, o Organisation) (store.Partner, registry.Actor, error) {
	partner, err := c.Register(ctx, o)
	if err != nil {
		return partner, registry.Actor{}, err
	}
	actor, err := c.Confirm(ctx, o.Email)
	if err != nil {
		return partner, actor, err
	}
	if err := c.Partners.Approve(ctx, c.Admin, partner.ID); err != nil {
		return partner, actor, fmt.Errorf("approve %s: %w", o.Name, err)
	}
	return partner, actor, nil
}
