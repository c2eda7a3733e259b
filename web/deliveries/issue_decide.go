package deliveries

import (
	"context"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
	"schakel/templates/ui"
	"schakel/web/site"
)

// issueDone confirms what a person did with an issue.
func issueDone(action string) i18n.Message {
	switch action {
	case registry.ActionIssueResolved:
		return "deliveries.issues.was-resolved"
	case registry.ActionIssueReopened:
		return "deliveries.issues.was-reopened"
	}
	return "deliveries.issues.was-acknowledged"
}

// decideIssue acknowledges, resolves or reopens an issue for a person or a client within a scope; another's is not found (guarantee G7).
func decideIssue(ctx context.Context, db *store.DB, who registry.Actor, scope, id, action string) (store.Issue, error) {
	var i store.Issue
	err := db.Write(ctx, func(tx *store.Tx) (err error) {
		if i, err = tx.Issue(ctx, id); err != nil {
			return err
		}
		if scope != "" && i.PartnerID != scope {
			return store.ErrNotFound
		}
		step := map[string]func(context.Context, string, string) error{
			registry.ActionIssueAcknowledged: tx.AcknowledgeIssue, registry.ActionIssueResolved: tx.ResolveIssue, registry.ActionIssueReopened: tx.ReopenIssue,
		}[action]
		if err := step(ctx, i.ID, who.Name); err != nil {
			return err
		}
		if err := recordIssue(ctx, tx, who, action, i); err != nil {
			return err
		}
		i, err = tx.Issue(ctx, id)
		return err
	})
	return i, err
}

// recordIssue writes the audit trail.
func recordIssue(ctx context.Context, tx *store.Tx, who registry.Actor, action string, i store.Issue) error {
	return registry.Record(ctx, tx, who, action, registry.ObjectOf("issue", i.ID, registry.IssueCause(i.Cause).String(), i.PartnerID), registry.Details{"cause": i.Cause})
}

// postIssueDecision is the end of a button: it goes back to the page of the issue, or to the list that the button stands in.
func (p *Pages) postIssueDecision(area site.DeliveryArea, action string) echo.HandlerFunc {
	return func(c echo.Context) error {
		form, err := site.ReadForm(c)
		if err != nil {
			return err
		}
		i, err := decideIssue(c.Request().Context(), p.DB, site.Actor(c), area.Scope(c), c.Param("id"), action)
		back := area.Issue(i.ID)
		if list := area.Base + "/issues"; form.Get("back") == list {
			back = list
		}
		return p.Saved(c, err, back, issueDone(action))
	}
}

// pauseIssue pauses the endpoint of an issue; a reason that will not do is asked for again.
func (p *Pages) pauseIssue(area site.DeliveryArea) echo.HandlerFunc {
	return func(c echo.Context) error {
		i, err := p.ownIssue(c, area)
		if err != nil {
			return err
		}
		return site.WithReason(c, site.ShortReason, func(reason string) error {
			err := p.Registry.Endpoints.Pause(c.Request().Context(), site.Actor(c), i.EndpointID, reason)
			return p.settled(c, err, area.Issue(i.ID), "deliveries.issue.paused")
		}, func(reason string, wrong i18n.Message) error { return p.showIssue(c, area, reason, wrong) })
	}
}

// resumeIssue sends to the endpoint of an issue again.
func (p *Pages) resumeIssue(area site.DeliveryArea) echo.HandlerFunc {
	return func(c echo.Context) error {
		i, err := p.ownIssue(c, area)
		if err != nil {
			return err
		}
		err = p.Registry.Endpoints.Resume(c.Request().Context(), site.Actor(c), i.EndpointID)
		return p.settled(c, err, area.Issue(i.ID), "deliveries.issue.resumed")
	}
}

// probeIssue has a delivery go at once to the endpoint of an issue while its circuit is open.
func (p *Pages) probeIssue(area site.DeliveryArea) echo.HandlerFunc {
	return func(c echo.Context) error {
		i, err := p.ownIssue(c, area)
		if err != nil {
			return err
		}
		return p.Probe(c, i.EndpointID, area.Issue(i.ID))
	}
}

// settled is Saved for what the state of the endpoint may refuse, which is told where the button was.
func (p *Pages) settled(c echo.Context, err error, href string, text i18n.Message) error {
	if e, ok := errors.AsType[*registry.Error](err); ok && (e.Code == registry.CodeConflict || e.Code == registry.CodeForbidden) {
		p.Flash(c, ui.KindWarning, e.Message)
		return c.Redirect(http.StatusSeeOther, href)
	}
	return p.Saved(c, err, href, text)
}
