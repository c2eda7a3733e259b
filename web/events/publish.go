package events

import (
	"context"
	"net/http"

	"github.com/google/uuid"
	"schakel/delivery/event"
	"schakel/delivery/outbox"
	"schakel/registry/identity"
	"schakel/store"
	"schakel/web/api"
	"schakel/web/site"
)

// publish takes one event of a page as a client of the reader: it passes the checks of the API that come after the token, and the token's
// own. What is refused is a *site.Problem.
func (m *handlers) publish(ctx context.Context, client store.Client, partner store.Partner, content []byte) (outbox.Receipt, []site.ProblemError, error) {
	who := api.Caller{Client: client, Partner: partner}
	set, err := m.Registry.Profile.Current(ctx)
	if err != nil {
		return outbox.Receipt{}, nil, err
	}
	if after, ok := m.rates.allow(client.ID, set.ClientRate, set.ClientBurst); !ok {
		return outbox.Receipt{}, nil, site.RetryLater(http.StatusTooManyRequests, "too-many-requests", "events.api.too-fast", after)
	}
	header := http.Header{"Content-Type": {event.MediaType}}
	limits := eventLimits(set, event.Structured)
	limits.EventBytes = min(limits.EventBytes, set.MaxEventBytes) // nothing is stored apart for a page
	_, events, err := event.Read(header, content, limits)
	if err != nil {
		return outbox.Receipt{}, nil, eventProblem(err)
	}
	for i := range events { // the grants of the token, which a page has none of
		if err := identity.MayPublishNow(client, events[i].Type); err != nil {
			p := site.NewProblem(http.StatusForbidden, "not-granted", "events.api.not-granted")
			p.Errors = []site.ProblemError{place{index: i}.problem("type", detailOf(err))}
			return outbox.Receipt{}, nil, p
		}
	}
	warnings, versions, err := m.allowEvents(ctx, set, who, event.Structured, events)
	if err != nil {
		return outbox.Receipt{}, nil, err
	}
	only, err := m.audiences(ctx, events)
	if err != nil {
		return outbox.Receipt{}, nil, err
	}
	receipt, err := m.Engine.Accept(ctx, outbox.Submission{
		ClientID: client.ID, PartnerID: partner.ID, FromOwn: partner.Own, Key: uuid.NewString(), Fingerprint: fingerprint(header, event.Structured, content),
		Events: events, Versions: versions, Audiences: only,
	})
	if err != nil {
		return outbox.Receipt{}, nil, m.intakeProblem(err)
	}
	return receipt, warnings, nil
}
