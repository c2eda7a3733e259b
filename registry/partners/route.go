package partners

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"schakel/registry"
	"schakel/store"
)

// Routes manages what an administrator allows to pass from one partner to another. Without a route nothing passes (guarantee G3).
type Routes struct {
	cfg            registry.Config
	keepRecipients RecipientKeeper
}

// NewRoutes makes the service.
func NewRoutes(cfg registry.Config, keepRecipients RecipientKeeper) *Routes {
	return &Routes{cfg, keepRecipients}
}

// NewRoute holds the input for a route.
type NewRoute struct {
	FromPartnerID, ToPartnerID string
	EventType                  string // one, not a prefix
}

// Add adds a route; one from a partner to itself lets its own events come back to it. Fields: from, to, eventType.
func (r *Routes) Add(ctx context.Context, actor registry.Actor, in NewRoute) (store.Route, error) {
	if err := actor.RequireAdministrator(); err != nil {
		return store.Route{}, err
	}
	in.EventType = strings.TrimSpace(in.EventType)
	var route store.Route
	err := r.holdRoute(ctx, actor, in, func(ctx context.Context) (err error) {
		route, err = r.add(ctx, actor, in)
		return err
	})
	if errors.Is(err, store.ErrConflict) {
		return store.Route{}, registry.Conflict("partners.route.there")
	}
	return route, err
}

func (r *Routes) add(ctx context.Context, actor registry.Actor, in NewRoute) (store.Route, error) {
	route := store.Route{
		FromPartnerID: in.FromPartnerID, ToPartnerID: in.ToPartnerID, EventType: in.EventType, CreatedBy: actor.Name,
	}
	err := r.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		from, to, err := in.check(ctx, &tx.Queries)
		if err != nil {
			return err
		}
		if err := tx.InsertRoute(ctx, &route); err != nil {
			return fmt.Errorf("add route: %w", err)
		}
		if err := registry.Record(ctx, tx, actor, registry.ActionRouteAdded, routeObject(route), routeDetails(route, from, to)); err != nil {
			return err
		}
		return r.mailRoute(ctx, tx, actor, route, from, to, true)
	})
	return route, err
}

// Check reports what is wrong with a route that is asked for, and adds nothing. Fields: as Add.
func (r *Routes) Check(ctx context.Context, actor registry.Actor, in NewRoute) error {
	if err := actor.RequireAdministrator(); err != nil {
		return err
	}
	_, _, err := in.check(ctx, &r.cfg.DB.Queries)
	return err
}

func (in NewRoute) check(ctx context.Context, q *store.Queries) (from, to store.Partner, err error) {
	wrong := registry.Problems{}
	if from, err = routePartner(ctx, q, in.FromPartnerID, "from", wrong); err != nil {
		return from, to, err
	}
	if to, err = routePartner(ctx, q, in.ToPartnerID, "to", wrong); err != nil {
		return from, to, err
	}
	wrong.AddIf(!registry.ValidEventType(in.EventType), "eventType", "partners.route.type-bad")
	return from, to, wrong.Err()
}

func routePartner(ctx context.Context, q *store.Queries, id, field string, wrong registry.Problems) (store.Partner, error) {
	partner, err := q.Partner(ctx, id)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return partner, fmt.Errorf("find partner: %w", err)
	}
	switch {
	case err != nil || partner.Status == store.PartnerEnded || partner.Status == store.PartnerRejected:
		wrong.Add(field, "partners.route.choose-partner")
	case partner.Own:
		wrong.Add(field, "partners.route.own")
	}
	return partner, nil
}

// Remove takes a route away.
func (r *Routes) Remove(ctx context.Context, actor registry.Actor, id string) error {
	if err := actor.RequireAdministrator(); err != nil {
		return err
	}
	return r.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		routes, err := tx.Routes(ctx)
		if err != nil {
			return fmt.Errorf("list routes: %w", err)
		}
		for _, route := range routes {
			if route.ID == id {
				return r.removeRoute(ctx, tx, actor, route)
			}
		}
		return registry.NotFound("route")
	})
}

func (r *Routes) removeRoute(ctx context.Context, tx *store.Tx, actor registry.Actor, route store.Route) error {
	from, err := tx.Partner(ctx, route.FromPartnerID)
	if err != nil {
		return registry.Found("partner", err)
	}
	to, err := tx.Partner(ctx, route.ToPartnerID)
	if err != nil {
		return registry.Found("partner", err)
	}
	if err := r.keepRecipients(ctx, tx, actor, func() error { return tx.DeleteRoute(ctx, route.ID) }); err != nil {
		return registry.Found("route", err)
	}
	if err := registry.Record(ctx, tx, actor, registry.ActionRouteRemoved, routeObject(route), routeDetails(route, from, to)); err != nil {
		return err
	}
	return r.mailRoute(ctx, tx, actor, route, from, to, false)
}

// List lists all routes for an administrator, newest first.
func (r *Routes) List(ctx context.Context, actor registry.Actor) ([]store.Route, error) {
	if err := actor.RequireAdministrator(); err != nil {
		return nil, err
	}
	rows, err := r.cfg.DB.Routes(ctx)
	return rows, registry.Wrap("list routes", err)
}

func routeObject(r store.Route) registry.Object {
	return registry.ObjectOf("route", r.ID, r.EventType, r.FromPartnerID)
}

func routeDetails(r store.Route, from, to store.Partner) registry.Details {
	return registry.Details{"from": from.Name, "to": to.Name, "types": []string{r.EventType}}
}
