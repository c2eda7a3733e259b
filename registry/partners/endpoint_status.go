package partners

import (
	"context"
	"fmt"

	"schakel/registry"
	"schakel/store"
)

// endpointMove gives the changes of state of an endpoint:
//
//	        ┌──pause───▶ paused ──────┐
//	active ◀┼──resume────┘            ├─end─▶ ended
//	  │     ├──suspend─▶ suspended ───┤
//	  │     └──release───┘            │
//	  └───────────────────────────────┘
//
// A partner pauses, and resumes what it paused itself. Only an administrator suspends, and resumes what an administrator paused;
// what the engine suspended, because the receiver refused us, the partner may release too.
func endpointMove(verb string) registry.Transition {
	open := []string{store.EndpointActive, store.EndpointPaused, store.EndpointSuspended}
	return map[string]registry.Transition{
		"pause":   {Action: registry.ActionEndpointPaused, From: open[:1], To: store.EndpointPaused},
		"resume":  {Action: registry.ActionEndpointResumed, From: open[1:2], To: store.EndpointActive},
		"suspend": {Action: registry.ActionEndpointSuspended, From: open[:2], To: store.EndpointSuspended, Admin: true, Reason: true},
		"release": {Action: registry.ActionEndpointReleased, From: open[2:], To: store.EndpointActive, Admin: true},
		"end":     {Action: registry.ActionEndpointEnded, From: open, To: store.EndpointEnded},
	}[verb].Named(verb)
}

// Pause stops sending to an endpoint; what is for it waits.
func (e *Endpoints) Pause(ctx context.Context, actor registry.Actor, id, reason string) error {
	return e.move(ctx, actor, id, "pause", reason)
}

// Resume starts sending again after a pause or a suspension. A partner may when it was not an administrator's.
func (e *Endpoints) Resume(ctx context.Context, actor registry.Actor, id string) error {
	endpoint, err := e.Get(ctx, actor.Scope(), id)
	if err != nil {
		return err
	}
	if endpoint.Status == store.EndpointSuspended {
		return e.move(ctx, actor, id, "release", "")
	}
	return e.move(ctx, actor, id, "resume", "")
}

// Suspend stops sending until an administrator resumes it; the partner is told
// the reason.
func (e *Endpoints) Suspend(ctx context.Context, actor registry.Actor, id, reason string) error {
	return e.move(ctx, actor, id, "suspend", reason)
}

// End ends an endpoint and its subscriptions for good.
func (e *Endpoints) End(ctx context.Context, actor registry.Actor, id, reason string) error {
	return e.move(ctx, actor, id, "end", reason)
}

func (e *Endpoints) move(ctx context.Context, actor registry.Actor, id, verb, reason string) error {
	_, err := e.change(ctx, actor, id, func(tx *store.Tx, endpoint *store.Endpoint) error {
		t := endpointMove(verb)
		if verb == "release" && !actor.Administrator {
			var err error
			if t.Admin, err = suspendedByPerson(ctx, tx, id); err != nil {
				return err
			}
		}
		if verb == "resume" && !actor.Administrator && endpoint.Status == store.EndpointPaused && endpoint.PausedBy != "" {
			return registry.Forbidden("An administrator paused this endpoint, so only an administrator resumes it.")
		}
		if err := t.Check(actor, "endpoint", endpoint.Status, reason); err != nil {
			return err
		}
		endpoint.Status, endpoint.StatusReason, endpoint.PausedBy = t.To, reason, ""
		if verb == "pause" && actor.Administrator {
			endpoint.PausedBy = actor.Name
		}
		if t.To == store.EndpointEnded {
			endpoint.TokenSecret = ""
		}
		if err := e.updateStatus(ctx, tx, actor, endpoint); err != nil {
			return fmt.Errorf("%s endpoint: %w", verb, err)
		}
		if t.To == store.EndpointActive {
			if err := closeCircuit(ctx, tx, endpoint); err != nil {
				return err
			}
		}
		if err := registry.Record(ctx, tx, actor, t.Action, endpointObject(*endpoint), registry.Details{"reason": reason}); err != nil {
			return err
		}
		return e.notify(ctx, tx, *endpoint, verb)
	})
	return err
}

// updateStatus writes the state of an endpoint; one that ended ends its subscriptions.
func (e *Endpoints) updateStatus(ctx context.Context, tx *store.Tx, actor registry.Actor, endpoint *store.Endpoint) error {
	if endpoint.Status != store.EndpointEnded {
		return tx.UpdateEndpoint(ctx, endpoint)
	}
	return e.keepRecipients(ctx, tx, actor, func() error {
		if err := tx.UpdateEndpoint(ctx, endpoint); err != nil {
			return err
		}
		return endSubscriptions(ctx, tx, store.SubscriptionFilter{EndpointID: endpoint.ID}, "The endpoint ended.")
	})
}

// closeCircuit lets everything through again: whoever resumes an endpoint says that it works.
func closeCircuit(ctx context.Context, tx *store.Tx, endpoint *store.Endpoint) error {
	endpoint.Circuit, endpoint.CircuitFailures = store.CircuitClosed, 0
	endpoint.CircuitOpenedAt, endpoint.CircuitProbeAt = store.Time{}, store.Time{}
	return registry.Wrap("close circuit", tx.SaveCircuit(ctx, endpoint))
}

// suspendedByPerson asks the audit trail who suspended an endpoint last.
func suspendedByPerson(ctx context.Context, tx *store.Tx, id string) (bool, error) {
	last, _, err := tx.Audits(ctx, store.AuditFilter{ObjectID: id, Action: registry.ActionEndpointSuspended, Page: store.Page{Number: 1, Size: 1}})
	if err != nil {
		return false, fmt.Errorf("find who suspended: %w", err)
	}
	return len(last) == 0 || last[0].ActorKind != registry.ActorSystem, nil
}

// notify mails the partner what an administrator did to its endpoint.
func (e *Endpoints) notify(ctx context.Context, tx *store.Tx, endpoint store.Endpoint, verb string) error {
	if verb != "suspend" && verb != "release" {
		return nil
	}
	partner, err := tx.Partner(ctx, endpoint.PartnerID)
	if err != nil {
		return registry.Found("partner", err)
	}
	return e.cfg.Mail(ctx, tx, partner.ContactEmail, mailEndpoint(e.cfg, endpoint, partner, verb))
}

// endEndpoints ends all endpoints of a partner.
func endEndpoints(ctx context.Context, tx *store.Tx, partnerID, reason string) error {
	endpoints, err := tx.Endpoints(ctx, partnerID)
	if err != nil {
		return fmt.Errorf("list endpoints: %w", err)
	}
	for _, endpoint := range endpoints {
		endpoint.Status, endpoint.StatusReason, endpoint.TokenSecret = store.EndpointEnded, reason, ""
		if err := tx.UpdateEndpoint(ctx, &endpoint); err != nil {
			return fmt.Errorf("end endpoint: %w", err)
		}
	}
	return nil
}
