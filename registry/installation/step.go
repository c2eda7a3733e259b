package installation

import (
	"context"
	"time"

	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
)

// Step is one step from the first start to the first event.
type Step struct {
	Name  string // stable, such as endpoint
	Title i18n.Message
	Hint  i18n.Message // how it is done
	Href  string       // where
	Done  bool
	At    time.Time // when it was done; zero when that is not known
}

// Steps lists the steps, in the order in which they are taken.
func (s *Service) Steps(ctx context.Context, f *Facts) ([]Step, error) {
	m, err := s.cfg.DB.Milestones(ctx, s.own)
	if err != nil {
		return nil, err
	}
	own, err := s.cfg.DB.OwnPartner(ctx)
	if err != nil {
		return nil, registry.Wrap("read own organisation", err)
	}
	named := Step{Name: "organisation", Title: "installation.step.organisation", Hint: "installation.step.organisation-hint", Href: "/docs/operating"}
	if named.Done = own.Name != DefaultOrganisation; named.Done {
		named.At = own.UpdatedAt.Time
	}
	mails := Step{Name: "mail", Title: "installation.step.mail", Hint: "installation.step.mail-hint", Href: "#mail"}
	for _, mail := range f.Mails {
		if mail.Status == store.MailSent {
			mails.Done, mails.At = true, mail.SentAt.Time
			break
		}
	}
	return []Step{
		done(m.Administrator, Step{Name: "administrator", Title: "installation.step.administrator", Hint: "installation.step.administrator-hint", Href: "/admin/accounts"}),
		named, mails,
		done(m.Contract, Step{Name: "contract", Title: "installation.step.contract", Hint: "installation.step.contract-hint", Href: "/admin/contracts/new"}),
		done(m.EventType, Step{Name: "event-type", Title: "installation.step.event-type", Hint: "installation.step.event-type-hint", Href: "/event-types"}),
		done(m.Partner, Step{Name: "partner", Title: "installation.step.partner", Hint: "installation.step.partner-hint", Href: "/admin/partners"}),
		done(m.Client, Step{Name: "client", Title: "installation.step.client", Hint: "installation.step.client-hint", Href: "/admin/clients"}),
		done(m.Endpoint, Step{Name: "endpoint", Title: "installation.step.endpoint", Hint: "installation.step.endpoint-hint", Href: "/admin/endpoints"}),
		done(m.Subscription, Step{Name: "subscription", Title: "installation.step.subscription", Hint: "installation.step.subscription-hint", Href: "/admin/subscriptions"}),
		done(m.Event, Step{Name: "event", Title: "installation.step.event", Hint: "installation.step.event-hint", Href: "/admin/events"}),
		done(m.Delivered, Step{Name: "delivered", Title: "installation.step.delivered", Hint: "installation.step.delivered-hint", Href: "/admin/deliveries"}),
	}, nil
}

// DefaultOrganisation is the name of an organisation that nobody named.
const DefaultOrganisation = "This organisation"

func done(at store.Time, s Step) Step {
	s.Done, s.At = !at.IsZero(), at.Time
	return s
}
