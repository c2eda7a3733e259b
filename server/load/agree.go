package main

import (
	"schakel/delivery/filter"
	"schakel/registry"
	"schakel/registry/identity/token"
	"schakel/registry/partners"
	"schakel/server/demo"
	"schakel/server/trial"
	"schakel/store"
)

// maxConcurrency of an endpoint: how many requests to it may be under way at once. It is the most that can be chosen.
const maxConcurrency = 64

// agree makes, before the programs start, what is agreed: the contract, a client that publishes, and an approved
// subscription for each endpoint of the receiver, which gets the events with its own subject. It gives the client.
func (s *stage) agree() (creds demo.Credentials) {
	s.nodes[0].SetUp(s, func(c *demo.Chain) {
		ctx := s.Context()
		trial.Must(s, demo.PublishContracts(ctx, c.Services, c.Admin))
		creds = trial.Must1[demo.Credentials](s)(c.Publisher(ctx, c.Admin, s.nodes[0].Own))
		for i := range s.plan.endpoints {
			endpoint := trial.Must1[store.Endpoint](s)(c.Endpoints.Create(ctx, c.Admin, "", s.endpoint(i)))
			request := partners.SubscriptionRequest{
				EndpointID: endpoint.ID, Types: []string{demo.TypeEnrolled}, Purpose: "Measure how fast events arrive.",
			}
			if s.plan.endpoints > 1 {
				request.Filters = "[" + filter.Simple{Attribute: "subject", Dialect: "exact", Text: subject(i)}.JSON() + "]"
			}
			sub := trial.Must1[store.Subscription](s)(c.Subscriptions.Request(ctx, c.Admin, request))
			trial.Must(s, c.Subscriptions.Approve(ctx, c.Admin, sub.ID))
			s.endpoints = append(s.endpoints, endpoint.ID)
		}
	})
	return creds
}

// endpoint describes endpoint i of the receiver.
func (s *stage) endpoint(i int) partners.EndpointInput {
	in := partners.EndpointInput{
		Name: "Endpoint " + subject(i), Kind: store.EndpointWebhook, URL: s.receiver.url(i, "/events"),
		TokenAuthMethod: registry.TokenAuthNone, MaxConcurrency: maxConcurrency, TimeoutSeconds: 10,
	}
	if s.plan.batchOut > 0 {
		in.BatchEvents, in.BatchStated = int64(s.plan.batchOut), true
	}
	if s.plan.tokens {
		in.TokenURL, in.TokenAuthMethod = s.receiver.url(i, "/token"), token.ClientSecretBasic
		in.TokenClientID, in.TokenSecret = "load", "secret of the receiver"
	}
	return in
}

// pause closes an endpoint, or opens it again, as its partner does in the portal.
func (s *stage) pause(endpoint int, closed bool) {
	s.nodes[0].SetUp(s, func(c *demo.Chain) {
		if closed {
			trial.Must(s, c.Endpoints.Pause(s.Context(), c.Admin, s.endpoints[endpoint], "A measurement."))
			return
		}
		trial.Must(s, c.Endpoints.Resume(s.Context(), c.Admin, s.endpoints[endpoint]))
	})
}
