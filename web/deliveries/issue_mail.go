package deliveries

import (
	"context"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/registry/mail"
	"schakel/store"
	view "schakel/templates/deliveries"
	"schakel/templates/i18n"
	"schakel/templates/ui"
	"schakel/web/site"
)

// issueMailPage shows the mail about an issue, for its author to edit.
func (p *Pages) issueMailPage(area site.DeliveryArea) echo.HandlerFunc {
	return func(c echo.Context) error {
		i, err := p.ownIssue(c, area)
		if err != nil {
			return err
		}
		return p.showIssueMail(c, area, i, http.StatusOK, nil, nil)
	}
}

// sendIssueMail queues the mail as it was edited.
func (p *Pages) sendIssueMail(area site.DeliveryArea) echo.HandlerFunc {
	return func(c echo.Context) error {
		i, err := p.ownIssue(c, area)
		if err != nil {
			return err
		}
		read := func(form site.Form) mail.IssueMail {
			return mail.IssueMail{Subject: form.Get("subject"), Body: form.Get("body")}
		}
		return site.Submit(c, read, func(in mail.IssueMail) error {
			err := p.Registry.Mails.WriteIssue(c.Request().Context(), site.Actor(c), i, in)
			if e, ok := errors.AsType[*registry.ThrottledError](err); ok {
				p.Flash(c, ui.KindWarning, i18n.M("deliveries.issue.mail-throttled", i18n.Duration(c.Request().Context(), e.After)))
				return c.Redirect(http.StatusSeeOther, area.Issue(i.ID))
			}
			return p.settled(c, err, area.Issue(i.ID), "deliveries.issue.mailed")
		}, func(c echo.Context, status int, in mail.IssueMail, wrong site.FormErrors) error {
			return p.showIssueMail(c, area, i, status, &in, wrong)
		})
	}
}

// showIssueMail draws the form, with what was typed or a draft.
func (p *Pages) showIssueMail(c echo.Context, area site.DeliveryArea, i store.Issue, status int, typed *mail.IssueMail, wrong site.FormErrors) error {
	ctx := c.Request().Context()
	endpoint, err := p.DB.Endpoint(ctx, i.EndpointID)
	if err != nil {
		return err
	}
	dead, err := p.DB.CountListed(ctx, store.DeliveryFilter{EndpointID: i.EndpointID, PartnerID: i.PartnerID, Cause: i.Cause, Statuses: []string{store.DeliveryDead}})
	if err != nil {
		return err
	}
	sample, err := p.mailSample(ctx, i)
	if err != nil {
		return err
	}
	draft, err := p.Registry.Mails.IssueDraft(ctx, site.Actor(c), i, endpoint, dead, sample)
	if err != nil {
		return err
	}
	v := view.IssueMailView{Action: area.Issue(i.ID) + "/mail", Back: area.Issue(i.ID), Nobody: len(draft.To) == 0, Subject: draft.Subject, Body: draft.Body, Wrong: wrong}
	if typed != nil {
		v.Subject, v.Body = typed.Subject, typed.Body
	}
	if v.To = i18n.T(ctx, "deliveries.issue.mail-administrators"); area.Admin && !v.Nobody {
		v.To = draft.To[0]
	}
	title := i18n.T(ctx, "deliveries.issue.mail-title")
	page := p.Page(c, title)
	page.Invalid = len(wrong) > 0
	page.Crumbs = append(page.Crumbs, ui.Crumb{Label: i18n.T(ctx, "deliveries.issues.title"), Href: area.Base + "/issues"},
		ui.Crumb{Label: i18n.T(ctx, "deliveries.issue.crumb"), Href: area.Issue(i.ID)}, ui.Crumb{Label: title})
	return p.Render(c, status, view.IssueMail(page, v))
}

// mailSample reads the newest failed attempt of an issue for a mail. What the receiver may not see any more is left out.
func (p *Pages) mailSample(ctx context.Context, i store.Issue) (mail.IssueSample, error) {
	d, err := p.DB.Delivery(ctx, i.DeliveryID)
	if errors.Is(err, store.ErrNotFound) {
		return mail.IssueSample{}, nil
	}
	if err != nil {
		return mail.IssueSample{}, err
	}
	at, err := p.deliveryContext(ctx, d)
	if err != nil || !at.mayRead(site.PartnerArea()) {
		return mail.IssueSample{}, err
	}
	last, err := p.lastFailure(ctx, d)
	if err != nil {
		return mail.IssueSample{}, err
	}
	events, err := p.DB.EventNames(ctx, []string{d.EventID})
	if err != nil {
		return mail.IssueSample{}, err
	}
	sample := mail.IssueSample{EventID: site.Shown(events[d.EventID].ID), Type: d.EventType, Subject: site.Shown(events[d.EventID].Subject)}
	var message view.IssueSample
	if found, err := p.messageSample(ctx, site.PartnerArea(), d, &message); err != nil || found {
		sample.At, sample.Request, sample.Answer = message.At, message.Attempt.Sent, message.Attempt.Headers
		return sample, err
	}
	if last == nil {
		return mail.IssueSample{}, nil
	}
	v := attemptView(ctx, *last, 1)
	failure := i18n.Word("site.failure", last.ErrorKind)
	if last.Error != "" {
		failure = i18n.Message(last.Error)
	}
	sample.At, sample.Request, sample.Answer, sample.Failure = last.StartedAt.Time, v.Sent, v.Headers, failure
	return sample, nil
}
