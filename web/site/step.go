package web

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/store"
	"schakel/templates/ui"
)

// step is one decision an administrator can take about something.
type step struct {
	verb string
	// from are the states in which it can be taken.
	from []string
	// label is the text of the button, explain announces the effect, done confirms it.
	label, explain, done string
	// kind styles a button which acts at once; empty asks for a second click.
	kind ui.ButtonKind
	// reason asks for a reason, which the partner gets.
	reason bool
	// mails is set when the partner gets a mail about it.
	mails bool
}

// refusal is a step that could not be taken, with what was typed.
type refusal struct {
	status               int
	verb, reason         string
	reasonError, message string
}

// code is the status of the page that shows the refusal; 200 without one.
func (r refusal) code() int {
	if r.status == 0 {
		return http.StatusOK
	}
	return r.status
}

// acts are the steps that can be taken now; they post to base/{verb}.
func acts(steps []step, base, status string, r refusal, hidden ...ui.Hidden) ui.ActsView {
	v := ui.ActsView{Title: "Decide"}
	for _, s := range steps {
		if !slices.Contains(s.from, status) {
			continue
		}
		if s.kind != "" {
			v.Plain = append(v.Plain, ui.Act{Kind: s.kind, Label: s.label, Action: base + "/" + s.verb, Hidden: hidden})
			continue
		}
		v.Danger = append(v.Danger, s.danger(base, r, hidden))
	}
	return v
}

func (s step) danger(base string, r refusal, hidden []ui.Hidden) ui.Danger {
	d := ui.Danger{ID: s.verb, Label: s.label, Explain: s.explain, Action: base + "/" + s.verb, Button: s.label, Hidden: hidden}
	if s.reason {
		d.ReasonName, d.ReasonLabel = "reason", "Reason, as the other side will read it"
	}
	if r.verb == s.verb {
		d.ReasonValue, d.ReasonError = r.reason, r.reasonError
	}
	return d
}

// take runs a step. What was refused is shown on the page of the thing again;
// what was done leads back to it.
func (p *portal) take(c echo.Context, s step, back string,
	do func(ctx context.Context, actor registry.Actor, reason string) error, again func(echo.Context, refusal) error,
) error {
	form, err := readStep(c)
	if err != nil {
		return err
	}
	r := refusal{verb: s.verb, reason: form.Get("reason")}
	if s.reason && r.reason == "" {
		r.status, r.reasonError = http.StatusUnprocessableEntity, "Say why; the other side is told."
		return again(c, r)
	}
	err = do(c.Request().Context(), actor(c), r.reason)
	if e, ok := errors.AsType[*registry.Error](err); ok && r.fill(e) {
		return again(c, r)
	}
	if err != nil {
		return err
	}
	if s.mails {
		return p.done(c, back, p.mailed(s.done, "The partner is told by mail.", "Tell the partner."))
	}
	return p.done(c, back, s.done)
}

// mailed ends a message with who gets a mail, or, where no mail is sent, with what is left to do by hand.
func (p *portal) mailed(text, sent, unsent string) string {
	if p.noMail() {
		return text + " No mail was sent, since there is no mail server. " + unsent
	}
	return text + " " + sent
}

// readStep reads the form of a step; a button alone sends an empty one.
func readStep(c echo.Context) (Form, error) {
	if c.Request().ContentLength == 0 {
		return Form{}, nil
	}
	return readForm(c)
}

// fill takes over what the registry said; false for what the page cannot show.
func (r *refusal) fill(e *registry.Error) bool {
	switch e.Code {
	case registry.CodeInvalid:
		r.status, r.reasonError = http.StatusUnprocessableEntity, e.Fields["reason"]
		if r.reasonError == "" {
			r.message = e.Message
		}
	case registry.CodeConflict, registry.CodeForbidden:
		r.status, r.message = http.StatusConflict, e.Message
	default:
		return false
	}
	return true
}

// frame returns the frame of an administrator's page, with its breadcrumbs.
func (p *portal) frame(c echo.Context, title string, crumbs ...ui.Crumb) ui.Page {
	page := p.page(c, title)
	page.Crumbs = append(append(page.Crumbs, crumbs...), ui.Crumb{Label: title})
	return page
}

// historyLength limits the entries of the audit trail on a page.
const historyLength = 10

// history is the newest of the audit trail that a filter selects.
func (p *portal) history(ctx context.Context, f store.AuditFilter, more string) (ui.History, error) {
	f.Page = store.Page{Number: 1, Size: historyLength}
	rows, total, err := p.Registry.Audit.List(ctx, registry.Scope{All: true}, f)
	if err != nil {
		return ui.History{}, err
	}
	h := ui.History{Now: p.cfg.Now()}
	for _, row := range rows {
		h.Moments = append(h.Moments, ui.Moment{At: row.At.Time, Kind: ui.KindNeutral, Title: registry.Sentence(row)})
	}
	if total > len(rows) {
		h.MoreHref = more
	}
	return h, nil
}
