package site

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
	"schakel/templates/ui"
)

// Step is one decision an administrator can take about something.
type Step struct {
	Verb string
	// Needs is the permission to take it.
	Needs registry.Permission
	// From are the states in which it can be taken.
	From []string
	// Label is the text of the button, explain announces the effect, done confirms it.
	Label, Explain, Done i18n.Message
	// Confirm, when set, confirms it in place of Done, by how things are then.
	Confirm func(c echo.Context) (i18n.Message, error)
	// Kind styles a button which acts at once; empty asks for a second click.
	Kind ui.ButtonKind
	// Reason asks for a reason, which the partner gets.
	Reason bool
	// Mails is set when the partner gets a mail about it.
	Mails bool
	// Proof is set when who takes it proves again who it is: it gives data, or lets somebody in.
	Proof bool
	// Two is the kind of actions that the step is of, which wait for a second person where a setting says so; empty: it never waits.
	Two   string
	waits bool // it waits now
	// Do takes the decision about what the address names.
	Do func(c echo.Context, actor registry.Actor, reason string) error
}

// ByID decides about the thing whose id the address has.
func ByID(do func(ctx context.Context, actor registry.Actor, id, reason string) error) func(echo.Context, registry.Actor, string) error {
	return func(c echo.Context, actor registry.Actor, reason string) error {
		return do(c.Request().Context(), actor, c.Param("id"), reason)
	}
}

// ByIDAlone is ByID for what needs no reason.
func ByIDAlone(do func(ctx context.Context, actor registry.Actor, id string) error) func(echo.Context, registry.Actor, string) error {
	return ByID(func(ctx context.Context, actor registry.Actor, id, _ string) error { return do(ctx, actor, id) })
}

// Refusal is a step that could not be taken, with what was typed.
type Refusal struct {
	Status               int
	Verb, reason         string
	ReasonError, Message i18n.Message
}

// Code is the status of the page that shows the refusal; 200 without one.
func (r Refusal) Code() int {
	if r.Status == 0 {
		return http.StatusOK
	}
	return r.Status
}

// Acts are the steps that can be taken now; they post to base/{verb}.
func Acts(ctx context.Context, steps []Step, base, status string, r Refusal, hidden ...ui.Hidden) ui.ActsView {
	v := ui.ActsView{Title: i18n.T(ctx, "site.decide")}
	for _, s := range steps {
		if !slices.Contains(s.From, status) {
			continue
		}
		if s.Kind != "" {
			v.Plain = append(v.Plain, ui.Act{Kind: s.Kind, Label: s.Label.In(ctx), Action: base + "/" + s.Verb, Hidden: hidden})
			continue
		}
		v.Danger = append(v.Danger, s.danger(ctx, base, r, hidden))
	}
	return v
}

func (s Step) danger(ctx context.Context, base string, r Refusal, hidden []ui.Hidden) ui.Danger {
	d := ui.Danger{ID: s.Verb, Label: s.Label.In(ctx), Explain: s.Explain.In(ctx), Action: base + "/" + s.Verb, Button: s.Label.In(ctx), Hidden: hidden}
	switch {
	case s.waits && !s.Reason:
		d.ReasonName, d.ReasonLabel = "reason", i18n.T(ctx, "confirm.reason-label")
		d.Explain = i18n.T(ctx, "confirm.step-explain")
	case s.Reason:
		d.ReasonName, d.ReasonLabel = "reason", i18n.T(ctx, "site.reason-for-partner")
	}
	if r.Verb == s.Verb {
		d.ReasonValue, d.ReasonError = r.reason, r.ReasonError
	}
	return d
}

// Take runs a step. What was refused is shown on the page of the thing again;
// what was done leads back to it.
func (p *Portal) Take(c echo.Context, s Step, back string, again func(echo.Context, Refusal) error) error {
	form, err := ReadForm(c)
	if err != nil {
		return err
	}
	steps, err := p.TwoPeople(c.Request().Context(), []Step{s})
	if err != nil {
		return err
	}
	s = steps[0]
	r := Refusal{Verb: s.Verb, reason: form.Get("reason")}
	if s.waits {
		if r.reason == "" {
			r.Status, r.ReasonError = http.StatusUnprocessableEntity, "confirm.reason-missing"
			return again(c, r)
		}
		c.SetRequest(c.Request().WithContext(registry.WithReason(c.Request().Context(), r.reason)))
	}
	if s.Reason && r.reason == "" {
		r.Status, r.ReasonError = http.StatusUnprocessableEntity, "site.reason-for-partner-missing"
		return again(c, r)
	}
	err = s.Do(c, Actor(c), r.reason)
	if e, ok := errors.AsType[*registry.Error](err); ok && r.fill(e) {
		return again(c, r)
	}
	if err != nil {
		return err
	}
	if s.Confirm != nil {
		if s.Done, err = s.Confirm(c); err != nil {
			return err
		}
	}
	if s.Mails {
		return p.Done(c, back, p.Mailed(s.Done, "site.partner-mailed", "site.tell-partner"))
	}
	return p.Done(c, back, s.Done)
}

// Mailed ends a message with who gets a mail, or, where no mail is sent, with what is left to do by hand.
func (p *Portal) Mailed(text, sent, unsent i18n.Message) i18n.Message {
	if p.NoMail() {
		return i18n.M("site.not-mailed", text, unsent)
	}
	return i18n.M("site.two-sentences", text, sent)
}

// fill takes over what the registry said; false for what the page cannot show.
func (r *Refusal) fill(e *registry.Error) bool {
	switch e.Code {
	case registry.CodeInvalid:
		r.Status, r.ReasonError = http.StatusUnprocessableEntity, e.Fields["reason"]
		if r.ReasonError == "" {
			r.Message = e.Message
		}
	case registry.CodeConflict, registry.CodeForbidden:
		r.Status, r.Message = http.StatusConflict, e.Message
	default:
		return false
	}
	return true
}

// Frame returns the frame of an administrator's page, with its breadcrumbs.
func (p *Portal) Frame(c echo.Context, title string, crumbs ...ui.Crumb) ui.Page {
	page := p.Page(c, title)
	page.Crumbs = append(append(page.Crumbs, crumbs...), ui.Crumb{Label: title})
	return page
}

// historyLength limits the entries of the audit trail on a page.
const historyLength = 10

// History is the newest of the audit trail that a filter selects.
func (p *Portal) History(ctx context.Context, f store.AuditFilter, more string) (ui.History, error) {
	rows, err := p.Registry.Audit.Newest(ctx, registry.Scope{All: true}, f, historyLength+1)
	if err != nil {
		return ui.History{}, err
	}
	h := ui.History{Now: p.Cfg.Now()}
	for _, row := range rows[:min(len(rows), historyLength)] {
		h.Moments = append(h.Moments, ui.Moment{At: row.At.Time, Kind: ui.KindNeutral, Title: AuditSentence(ctx, row)})
	}
	if len(rows) > historyLength {
		h.MoreHref = more
	}
	return h, nil
}

// NoMail reports whether nobody gets mails: there is no mail server, nor the mailbox of the demonstration.
func (p *Portal) NoMail() bool { return !p.Mailbox && !p.Registry.Mails.Sends() }

// RoutesSteps registers a route for each decision about the thing at path below base, and shows its page again when one is
// refused, behind what comes before it, such as RequireProof.
func (p *Portal) RoutesSteps(g RouteGroup, path string, steps []Step, again func(echo.Context, Refusal) error, before ...echo.MiddlewareFunc) {
	for _, s := range steps {
		before := slices.Clip(before)
		if s.Proof {
			before = append(before, p.RequireProof)
		}
		g.Needs(s.Needs).POST(path+":id/"+s.Verb, func(c echo.Context) error { return p.Take(c, s, g.Prefix+path+c.Param("id"), again) }, before...)
	}
}
