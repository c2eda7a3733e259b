package site

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"
	"schakel/delivery/amqp"
	"schakel/delivery/outbox"
	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
	"schakel/templates/ui"
)

// ConfirmationsPath is the page that lists what waits for a second person.
const ConfirmationsPath = "/admin/confirmations"

// toConfirmation leads who did something that now waits for a second person to the page about it.
func (a *App) toConfirmation(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		err := next(c)
		waits, ok := errors.AsType[*registry.Waits](err)
		if !ok {
			return err
		}
		a.Flash(c, ui.KindInfo, waits.Text)
		return c.Redirect(http.StatusSeeOther, ConfirmationsPath+"/"+waits.ID)
	}
}

// TwoPeople gives steps as they are now: those that wait for a second person ask for a reason.
func (p *Portal) TwoPeople(ctx context.Context, steps []Step) ([]Step, error) {
	steps = slices.Clone(steps)
	for i := range steps {
		s := &steps[i]
		if s.Two == "" {
			continue
		}
		on, err := p.Registry.Confirmations.On(ctx, s.Two)
		if err != nil {
			return nil, err
		}
		if on {
			s.waits, s.Kind = true, ""
		}
	}
	return steps, nil
}

// NoteWaiting puts on the page of something of a kind, given by its ids, that an action on it waits for a second person.
func (p *Portal) NoteWaiting(ctx context.Context, page *ui.Page, kind string, ids ...string) error {
	rows, err := p.Registry.Confirmations.Waiting(ctx, kind, ids...)
	for _, row := range rows {
		page.Waits = append(page.Waits, ui.Named{Name: i18n.T(ctx, "confirm.waits-here", row.AskedName), Href: ConfirmationsPath + "/" + row.ID})
	}
	return err
}

// Discard is something that is thrown away at the word of a person, or of two where a setting says so.
type Discard struct {
	Action string // names it, as it is handled once it is confirmed
	Object registry.Object
	Args   any
	Reason string
	// Describe is as of [registry.Ask].
	Describe func(context.Context) ([]i18n.Message, string, error)
	Do       func(ctx context.Context, by outbox.Actor) error
}

// Discard throws something away, or makes that wait for a second person: then the error is a *registry.Waits.
func (p *Portal) Discard(ctx context.Context, actor registry.Actor, d Discard) error {
	return p.Registry.Confirmations.Hold(ctx, actor, registry.Ask{
		Kind: registry.TwoDiscards, Action: d.Action, Object: d.Object, Args: d.Args, Reason: d.Reason, Describe: d.Describe,
	}, func(ctx context.Context) error { return d.Do(ctx, EngineActorOf(actor)) })
}

// HandleDiscard names what makes a discard of what was asked, once that is confirmed.
func HandleDiscard[Args any](p *Portal, action string, discard func(id string, args Args) Discard) {
	p.Registry.Confirmations.Handle(action, func(ctx context.Context, actor registry.Actor, c store.Confirmation) error {
		var args Args
		if err := json.Unmarshal([]byte(c.Args), &args); err != nil {
			return fmt.Errorf("read discard that was asked for: %w", err)
		}
		err := p.Discard(ctx, actor, discard(c.ObjectID, args))
		if why, ok := errors.AsType[amqp.Refused](err); ok {
			return &registry.Error{Code: registry.CodeConflict, Message: i18n.Message(why)}
		}
		if text := outbox.RefusalText(err); text != "" {
			return &registry.Error{Code: registry.CodeConflict, Message: text}
		}
		return err
	})
}
