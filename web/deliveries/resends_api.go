package deliveries

import (
	"context"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"
	"schakel/delivery/outbox"
	"schakel/store"
	"schakel/templates/i18n"
	"schakel/web/api"
	"schakel/web/site"
)

// postResend starts a job that resends the caller's own deliveries, or replays
// stored events to its own subscriptions.
func (m *handlers) postResend(c echo.Context) error {
	who, request, err := m.resendOf(c)
	if err != nil {
		return err
	}
	job, err := request.start(c.Request().Context(), m.Engine, who.EngineActor())
	if err != nil {
		return replayProblem(err)
	}
	c.Response().Header().Set("Location", "/events/v1/resends/"+job.ID)
	return c.JSON(http.StatusAccepted, newResendAnswer(job))
}

// postResendPreview counts what the same request to postResend would do.
func (m *handlers) postResendPreview(c echo.Context) error {
	who, request, err := m.resendOf(c)
	if err != nil {
		return err
	}
	p, err := request.preview(c.Request().Context(), m.Engine, who.EngineActor())
	if err != nil {
		return replayProblem(err)
	}
	answer := newPreviewAnswer(p)
	if answer.Stopped, err = m.stoppedAmong(c.Request().Context(), endpointsOf(p)); err != nil {
		return err
	}
	if answer.StoppedSubscriptions, err = stoppedSubscriptions(c.Request().Context(), m.DB, subscriptionsOf(p)); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, answer)
}

func (m *handlers) resendOf(c echo.Context) (api.Caller, resendRequest, error) {
	var request resendRequest
	who, err := m.Caller(c)
	if err == nil {
		err = api.ReadJSON(c, &request)
	}
	if err == nil {
		err = request.check()
	}
	return who, request, err
}

// replayProblem explains in the words of the API why a replay cannot be started.
func replayProblem(err error) error {
	switch {
	case errors.Is(err, store.ErrNotFound):
		return site.FieldProblem("subscriptionIds", "deliveries.api.subscriptions")
	case errors.Is(err, outbox.ErrNothingSelected), errors.Is(err, outbox.ErrTooManySubscriptions):
		return refusedField("subscriptionIds", err)
	case errors.Is(err, outbox.ErrTooManyEvents):
		return refusedField("eventIds", err)
	case errors.Is(err, outbox.ErrTooManyJobs):
		return site.NewProblem(http.StatusConflict, "too-many-jobs", outbox.RefusalText(err))
	case errors.Is(err, outbox.ErrNotApproved):
		return site.NewProblem(http.StatusConflict, "subscription-stopped", outbox.RefusalText(err))
	}
	return err
}

// refusedField is a 400 about a member that the engine refused; its text is a sentence already.
func refusedField(name string, err error) error {
	refused := site.FieldProblem(name, "")
	if p, ok := errors.AsType[*site.Problem](refused); ok {
		p.Errors[0].Detail = outbox.RefusalText(err)
	}
	return refused
}

// listResends lists the jobs of the caller's partner, newest first.
func (m *handlers) listResends(c echo.Context, who api.Caller) error {
	return api.AnswerList(m.API, c, "resends", func(page store.Page) ([]ResendAnswer, int, error) {
		status, err := site.APIChoice(c, "status", []string{store.JobRunning, store.JobDone, store.JobCancelled, store.JobStopped})
		if err != nil {
			return nil, 0, err
		}
		jobs, total, err := m.DB.ResendJobs(c.Request().Context(), store.JobFilter{
			PartnerID: who.Partner.ID, Status: status, Actions: []string{outbox.ActionResend, outbox.ActionReplay}, Page: page,
		})
		return api.Each(jobs, newResendAnswer), total, err
	})
}

// ownResend finds a job of the caller's partner; another's is 404.
func (m *handlers) ownResend(ctx context.Context, id string, who api.Caller) (store.ResendJob, error) {
	job, err := m.DB.ResendJob(ctx, id)
	if err == nil && (job.PartnerID != who.Partner.ID || job.Action == outbox.ActionDiscard) {
		err = store.ErrNotFound
	}
	return job, err
}

// showResend answers how far a job is.
func (m *handlers) showResend(c echo.Context, who api.Caller) error {
	job, err := m.ownResend(c.Request().Context(), c.Param("resendId"), who)
	if err != nil {
		return err
	}
	parts, err := m.DB.ReplayParts(c.Request().Context(), job.ID)
	if err != nil {
		return err
	}
	answer := newResendAnswer(job)
	for _, p := range parts {
		answer.Parts = append(answer.Parts, newResendPart(p))
	}
	if job.StoppedFor != "" && job.Status == store.JobStopped {
		answer.StoppedFor = i18n.Message(job.StoppedFor).In(c.Request().Context())
	}
	canaries, err := m.DB.ResendCanaries(c.Request().Context(), job.ID)
	if err != nil {
		return err
	}
	for _, canary := range canaries {
		if canary.Outcome == store.CanaryPending { // as it is now: a job that stopped looks at its canaries no more
			if canary.Outcome, err = outbox.CanaryOutcome(c.Request().Context(), &m.DB.Queries, canary); err != nil {
				return err
			}
		}
		answer.Canaries = append(answer.Canaries, canaryAnswer{canary.EndpointID, canary.DeliveryID, canary.Outcome})
	}
	if err := m.setOutcome(c.Request().Context(), job, &answer); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, answer)
}

// continueResend has a job that stopped for its canary go on with the rest.
func (m *handlers) continueResend(c echo.Context, who api.Caller) error {
	job, err := m.ownResend(c.Request().Context(), c.Param("resendId"), who)
	if err != nil {
		return err
	}
	if err := m.Engine.ContinueJob(c.Request().Context(), who.EngineActor(), job.ID); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// refusalAnswer is a delivery that a job could not resend, and why.
type refusalAnswer struct {
	DeliveryID string `json:"deliveryId"`
	Reason     string `json:"reason"`
	Detail     string `json:"detail"`
}

// listRefusals lists what a job could not resend, oldest first.
func (m *handlers) listRefusals(c echo.Context, who api.Caller) error {
	ctx := c.Request().Context()
	job, err := m.ownResend(ctx, c.Param("resendId"), who)
	if err != nil {
		return err
	}
	return api.AnswerList(m.API, c, "refusals", func(page store.Page) ([]refusalAnswer, int, error) {
		rows, err := m.DB.ResendRefusals(ctx, job.ID, page)
		list := make([]refusalAnswer, len(rows))
		for i, r := range rows {
			list[i] = refusalAnswer{r.DeliveryID, r.Reason, outbox.RefusalOf(r.Reason).In(ctx)}
		}
		return list, int(job.Refused), err
	})
}

// cancelResend stops a job after its present step; what it did stays done.
func (m *handlers) cancelResend(c echo.Context, who api.Caller) error {
	job, err := m.ownResend(c.Request().Context(), c.Param("resendId"), who)
	if err != nil {
		return err
	}
	if err := m.Engine.CancelJob(c.Request().Context(), who.EngineActor(), job.ID); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}
