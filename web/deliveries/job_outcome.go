package deliveries

import (
	"context"
	"errors"
	"strings"

	"schakel/delivery/outbox"
	"schakel/store"
	view "schakel/templates/deliveries"
	"schakel/templates/i18n"
	"schakel/templates/ui"
	"schakel/web/site"
)

// outcome counts what became of the deliveries that a job was asked for; its counts add up to that number.
type outcome struct {
	store.JobOutcome
	refused int64
	left    int64 // not handled: still to come while the job goes on, and otherwise left as they are
	gone    int64 // no longer stored
}

func outcomeOf(j store.ResendJob, o store.JobOutcome) outcome {
	return outcome{JobOutcome: o, refused: j.Refused, left: max(0, j.Total-j.Done-j.Refused), gone: max(0, j.Done-o.Sum())}
}

// goesOn reports whether a job may still come to what is left.
func goesOn(j store.ResendJob) bool {
	return j.Status == store.JobRunning || j.Status == store.JobStopped
}

// jobOutcome fills in what became of the deliveries of a job, and what keeps the rest waiting.
func (p *Pages) jobOutcome(ctx context.Context, area site.DeliveryArea, j store.ResendJob, v *view.JobView) error {
	if j.Action == outbox.ActionDiscard {
		return nil
	}
	counted, err := p.DB.JobOutcome(ctx, j.ID)
	if err != nil {
		return err
	}
	o := outcomeOf(j, counted)
	add := func(key string, n int64, always bool) {
		if n > 0 || always {
			v.Outcome = append(v.Outcome, ui.Item{Label: i18n.T(ctx, key), Text: i18n.Count(ctx, int(n))})
		}
	}
	add("deliveries.jobs.outcome-delivered", o.Delivered, true)
	add("deliveries.jobs.outcome-failed", o.Failed, true)
	add("deliveries.jobs.outcome-pending", o.Pending, true)
	add("deliveries.jobs.outcome-discarded", o.Discarded, false)
	if err := p.jobMoves(ctx, area, j, v); err != nil {
		return err
	}
	add("deliveries.jobs.outcome-gone", o.gone, false)
	add("deliveries.jobs.outcome-refused", o.refused, false)
	left := "deliveries.jobs.outcome-left"
	if goesOn(j) {
		left = "deliveries.jobs.outcome-to-come"
	}
	add(left, o.left, false)
	v.Open = o.Pending > 0
	waiting, err := p.DB.JobEndpoints(ctx, j.ID)
	if err == nil {
		v.Warnings, err = p.stoppedWarnings(ctx, waiting)
	}
	return err
}

// jobMoves adds the jobs that took over deliveries, each with a link for whoever may see it.
func (p *Pages) jobMoves(ctx context.Context, area site.DeliveryArea, j store.ResendJob, v *view.JobView) error {
	moves, err := p.DB.JobMoves(ctx, j.ID)
	if err != nil {
		return err
	}
	for _, m := range moves {
		item := ui.Item{Label: i18n.T(ctx, "deliveries.jobs.outcome-moved"), Text: i18n.Count(ctx, int(m.Moved))}
		to, err := p.DB.ResendJob(ctx, m.JobID)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		if err == nil && (area.Admin || to.PartnerID == j.PartnerID) {
			item.Text, item.Content = "", ui.Link(i18n.T(ctx, "deliveries.jobs.moved-to", int(m.Moved), to.CreatedAt.Time), area.Job(to.ID))
		}
		v.Outcome = append(v.Outcome, item)
	}
	return nil
}

// setOutcome adds what became of the deliveries of a job, and what keeps the rest waiting.
func (m *handlers) setOutcome(ctx context.Context, j store.ResendJob, a *ResendAnswer) error {
	counted, err := m.DB.JobOutcome(ctx, j.ID)
	if err != nil {
		return err
	}
	o := outcomeOf(j, counted)
	a.Outcome = &jobOutcome{Delivered: o.Delivered, FailedAgain: o.Failed, Pending: o.Pending, Discarded: o.Discarded, InOtherJobs: o.Moved, Removed: o.gone}
	waiting, err := m.DB.JobEndpoints(ctx, a.ResendID)
	if err == nil {
		a.Stopped, err = m.stoppedAmong(ctx, waiting)
	}
	return err
}

// mostListed bounds the deliveries of a job whose outcomes the list of jobs counts; those of longer ones stand on its page.
const mostListed = 1000

// outcomeWords sums up what became of a job until now, for the list of jobs.
func (p *Pages) outcomeWords(ctx context.Context, j store.ResendJob) (string, error) {
	var words []string
	count := func(key string, n int64) {
		if n > 0 {
			words = append(words, i18n.T(ctx, key, int(n)))
		}
	}
	o := outcomeOf(j, store.JobOutcome{})
	switch {
	case j.Action == outbox.ActionDiscard:
		count("deliveries.jobs.sum-discarded", j.Done)
	case j.Done > mostListed:
		words = append(words, i18n.T(ctx, "deliveries.jobs.sum-page"))
	default:
		counted, err := p.DB.JobOutcome(ctx, j.ID)
		if err != nil {
			return "", err
		}
		o = outcomeOf(j, counted)
		count("deliveries.jobs.sum-delivered", o.Delivered)
		count("deliveries.jobs.sum-failed", o.Failed)
		count("deliveries.jobs.sum-pending", o.Pending)
		count("deliveries.jobs.sum-discarded", o.Discarded)
		count("deliveries.jobs.sum-moved", o.Moved)
		count("deliveries.jobs.sum-gone", o.gone)
	}
	count("deliveries.jobs.sum-refused", o.refused)
	if goesOn(j) {
		count("deliveries.jobs.sum-to-come", o.left)
	} else {
		count("deliveries.jobs.sum-left", o.left)
	}
	return strings.Join(words, ", "), nil
}
