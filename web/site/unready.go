package site

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"

	"schakel/store"
	"schakel/templates/i18n"
	"schakel/templates/ui"
)

// Readiness judges whether endpoints at a message broker can be sent to as they are set up. It is the one judgement for the pages of parties,
// endpoints and subscriptions. It reads what is set up once; make one for each page.
type Readiness struct {
	*Portal
	admin     bool // the links are for an administrator
	dir       *store.AMQPDirectory
	endpoints map[string]store.Endpoint
}

// Readiness makes one for a page of an administrator, or of a partner.
func (p *Portal) Readiness(admin bool) *Readiness {
	return &Readiness{Portal: p, admin: admin, endpoints: map[string]store.Endpoint{}}
}

// OfEndpoint explains why nothing at all can be sent to an endpoint yet, and where that is mended; nil for one that can be sent to, or fails in
// another way.
func (r *Readiness) OfEndpoint(ctx context.Context, e store.Endpoint) (*ui.Unready, error) {
	return r.of(ctx, e, nil)
}

// OfSubscription explains why what a subscription is to, or a part of it, cannot be sent yet; nil for one that is over.
func (r *Readiness) OfSubscription(ctx context.Context, s store.Subscription) (*ui.Unready, error) {
	if s.Status == store.SubscriptionEnded || s.Status == store.SubscriptionRejected || s.DatasetID != "" {
		return nil, nil
	}
	e, ok := r.endpoints[s.EndpointID]
	if !ok {
		var err error
		if e, err = r.DB.Endpoint(ctx, s.EndpointID); err != nil {
			return nil, fmt.Errorf("find endpoint of subscription: %w", err)
		}
		r.endpoints[s.EndpointID] = e
	}
	return r.of(ctx, e, s.Types)
}

func (r *Readiness) of(ctx context.Context, e store.Endpoint, types []string) (*ui.Unready, error) {
	if e.Kind != store.EndpointAMQP || e.Status == store.EndpointEnded {
		return nil, nil
	}
	if r.dir == nil {
		dir, err := r.DB.AMQPDirectory(ctx)
		if err != nil {
			return nil, fmt.Errorf("read parties: %w", err)
		}
		r.dir = &dir
	}
	at := slices.IndexFunc(r.dir.Parties, func(p store.AMQPParty) bool { return p.EndpointID == e.ID })
	if at < 0 {
		return r.withoutParty(ctx, e)
	}
	party := r.dir.Parties[at]
	switch broker := slices.IndexFunc(r.dir.Brokers, func(b store.AMQPBroker) bool { return b.ID == party.BrokerID }); {
	case broker < 0 || !r.dir.Brokers[broker].Enabled:
		return r.because(ctx, party, i18n.T(ctx, "site.unready.broker")), nil
	case party.Kind == store.AMQPCloudEvents && party.AsyncQueue == "":
		return r.because(ctx, party, i18n.T(ctx, "site.unready.queue", party.Name)), nil
	case party.Kind == store.AMQPCloudEvents:
		return nil, nil
	}
	return r.health(ctx, party, types), nil
}

// withoutParty explains why no party in use belongs to an endpoint. That of a partner that is not approved waits for no more than the approval.
func (r *Readiness) withoutParty(ctx context.Context, e store.Endpoint) (*ui.Unready, error) {
	party, err := r.DB.AMQPPartyByEndpoint(ctx, e.ID)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return &ui.Unready{Label: i18n.T(ctx, "ui.cannot-send"), Why: i18n.T(ctx, "site.unready.no-party"), At: ui.Named{Name: i18n.T(ctx, "partners.endpoint.fill-party"), Href: r.base() + "new?endpoint=" + url.QueryEscape(e.ID)}}, nil
	case err != nil:
		return nil, fmt.Errorf("find party of endpoint: %w", err)
	case !party.Enabled:
		return r.because(ctx, party, i18n.T(ctx, "site.unready.off", party.Name)), nil
	}
	return nil, nil
}

// health judges a party of the health exchange. Of an endpoint one process that works is enough, of a subscription each of its types needs one.
func (r *Readiness) health(ctx context.Context, party store.AMQPParty, types []string) *ui.Unready {
	var all []store.AMQPProcess
	for _, p := range r.dir.Processes {
		if p.PartyID == party.ID && p.Sends != "" {
			all = append(all, p)
		}
	}
	if len(all) == 0 {
		return r.because(ctx, party, i18n.T(ctx, "site.unready.no-process", party.Name))
	}
	if len(types) == 0 {
		return r.anyWorks(ctx, party, all)
	}
	for _, name := range types {
		mine := slices.DeleteFunc(slices.Clone(all), func(p store.AMQPProcess) bool { return p.Sends != name })
		if len(mine) == 0 {
			return r.because(ctx, party, i18n.T(ctx, "site.unready.no-process-for", party.Name, name))
		}
		if why := r.anyWorks(ctx, party, mine); why != nil {
			return why
		}
	}
	return nil
}

// anyWorks returns nil when one of the processes works, and else the lack of the first.
func (r *Readiness) anyWorks(ctx context.Context, party store.AMQPParty, processes []store.AMQPProcess) (first *ui.Unready) {
	for _, p := range processes {
		why := r.process(ctx, party, p)
		if why == nil {
			return nil
		}
		if first == nil {
			first = why
		}
	}
	return first
}

func (r *Readiness) process(ctx context.Context, party store.AMQPParty, p store.AMQPProcess) *ui.Unready {
	if p.Mode == store.AMQPSync && party.SyncQueue == "" {
		return r.because(ctx, party, i18n.T(ctx, "site.unready.queue", party.Name))
	}
	if why := r.CertificateTrouble(ctx, party, r.dir.Certificates[party.ID], store.AMQPEncrypt); why != "" {
		return r.because(ctx, party, i18n.T(ctx, "site.unready.certificate", party.Name, why))
	}
	at := slices.IndexFunc(r.dir.Parties, func(own store.AMQPParty) bool { return own.ID == p.OwnPartyID })
	if at < 0 {
		return r.ours(ctx, store.AMQPParty{ID: p.OwnPartyID}, i18n.T(ctx, "site.unready.own-off"))
	}
	own := r.dir.Parties[at]
	if p.Mode == store.AMQPSync && own.ReplyQueue == "" {
		return r.ours(ctx, own, i18n.T(ctx, "site.unready.own-queue", own.Name))
	}
	if why := r.CertificateTrouble(ctx, own, r.dir.Certificates[own.ID], store.AMQPSign); why != "" {
		return r.ours(ctx, own, i18n.T(ctx, "site.unready.own-certificate", own.Name, why))
	}
	return nil
}

func (r *Readiness) base() string {
	if r.admin {
		return "/admin/amqp/parties/"
	}
	return "/partner/amqp/parties/"
}

func (r *Readiness) because(ctx context.Context, party store.AMQPParty, why string) *ui.Unready {
	return &ui.Unready{Label: i18n.T(ctx, "ui.cannot-send"), Why: why, At: ui.Named{Name: i18n.T(ctx, "site.unready.see-party", party.Name), Href: r.base() + url.PathEscape(party.ID)}}
}

// ours leads to a party of the organisation, which is an administrator's to mend.
func (r *Readiness) ours(ctx context.Context, own store.AMQPParty, why string) *ui.Unready {
	u := &ui.Unready{Label: i18n.T(ctx, "ui.cannot-send"), Why: why}
	if r.admin {
		u.At = ui.Named{Name: i18n.T(ctx, "site.unready.see-own"), Href: r.base() + url.PathEscape(own.ID)}
	}
	return u
}

// CertificateTrouble explains why no certificate of a party serves a purpose now; empty when one does.
func (p *Portal) CertificateTrouble(ctx context.Context, party store.AMQPParty, certificates []store.AMQPCertificate, purpose string) string {
	now, issuer := p.Cfg.Now(), ""
	for _, one := range certificates {
		if one.Purpose != purpose || now.Before(one.NotBefore.Time) || now.After(one.NotAfter.Time) {
			continue
		}
		last := p.UntrustedIssuer(party, one)
		if last == "" {
			return ""
		}
		issuer = last
	}
	words := i18n.Of(ctx, "amqp.purpose", purpose)
	if issuer != "" {
		return i18n.T(ctx, "amqp.party.untrusted", words, issuer)
	}
	return i18n.T(ctx, "amqp.party.no-valid-certificate", words)
}

// UntrustedIssuer gives the last issuer of a certificate whose root is not trusted; empty for one that is, and for our own to decrypt with, which its
// sender judges and we do not.
func (p *Portal) UntrustedIssuer(party store.AMQPParty, one store.AMQPCertificate) string {
	if p.AMQP == nil || party.Own && one.Purpose == store.AMQPEncrypt {
		return ""
	}
	return p.AMQP.Untrusted(one)
}
