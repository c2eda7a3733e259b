package site

import (
	"context"
	"slices"
	"strconv"

	"schakel/delivery/outbox"
	"schakel/store"
	"schakel/templates/i18n"
	"schakel/templates/ui"
)

// DeliveryNoun gives the noun of a list of deliveries, for one and for more.
func DeliveryNoun(ctx context.Context) [2]string {
	return [2]string{i18n.T(ctx, "site.delivery-one"), i18n.T(ctx, "site.delivery-many")}
}

// DeliveryRows makes the rows of a list, with names for what they refer to.
func DeliveryRows(ctx context.Context, area DeliveryArea, rows []store.Delivery, names *DeliveryNames) ([]ui.DeliveryRow, error) {
	list := make([]ui.DeliveryRow, len(rows))
	actions, err := JobActions(ctx, names.db, rows)
	if err != nil {
		return nil, err
	}
	events, err := names.db.EventNames(ctx, IDsOf(rows, func(d store.Delivery) string { return d.EventID }))
	if err != nil {
		return nil, err
	}
	if err := names.LearnEndpoints(ctx, IDsOf(rows, func(d store.Delivery) string { return d.EndpointID })); err != nil {
		return nil, err
	}
	if area.Admin {
		if err := names.LearnPartners(ctx, IDsOf(rows, func(d store.Delivery) string { return d.PartnerID })); err != nil {
			return nil, err
		}
	}
	final, err := names.db.SentForGood(ctx, IDsOf(rows, func(d store.Delivery) string { return d.ID }))
	if err != nil {
		return nil, err
	}
	waits, err := waitsOf(ctx, names.db, rows)
	if err != nil {
		return nil, err
	}
	for i, d := range rows {
		r := ui.DeliveryRow{
			ID: d.ID, EventType: d.EventType, EventID: Shown(events[d.EventID].ID), Subject: Shown(events[d.EventID].Subject), Href: area.Delivery(d.ID), State: DeliveryState(d.Status, d.Reason), Reason: rowReason(ctx, d, actions[d.ReplayOf]),
			Changed: d.UpdatedAt.Time, Due: NextAttempt(d).Time, Tries: int(d.Attempts),
		}
		if why, until := waits.of(ctx, d, names.now()); why != "" {
			r.Wait, r.Due = why, until.Time
		}
		if label := ResendLabel(ctx, d); label != "" && !slices.Contains(final, d.ID) {
			r.Resend, r.ResendLabel = area.Delivery(d.ID)+"/resend", label
		}
		if r.Endpoint, err = names.Endpoint(ctx, d.EndpointID); err != nil {
			return nil, err
		}
		if area.Admin {
			if r.Partner, err = names.Partner(ctx, d.PartnerID); err != nil {
				return nil, err
			}
		}
		list[i] = r
	}
	return list, nil
}

// JobActions answers what the jobs did by which rows were sent once more.
func JobActions(ctx context.Context, db *store.DB, rows []store.Delivery) (map[string]string, error) {
	var ids []string
	for _, d := range rows {
		if d.ReplayOf != "" && !slices.Contains(ids, d.ReplayOf) {
			ids = append(ids, d.ReplayOf)
		}
	}
	return db.JobActions(ctx, ids)
}

// OnceMore names the cause that sends a delivery once more: a job that resends deliveries, or one that replays stored events. A job that is
// not stored any more may have been either.
func OnceMore(ctx context.Context, action string) string {
	switch action {
	case outbox.ActionResend:
		return i18n.T(ctx, "site.resent")
	case outbox.ActionReplay:
		return i18n.T(ctx, "site.replayed")
	}
	return i18n.T(ctx, "site.resent")
}

// rowReason explains the state of a delivery, with the status of the last answer.
func rowReason(ctx context.Context, d store.Delivery, action string) string {
	text := ReasonOf(d.Reason).Label.In(ctx)
	if text == "" && d.ReplayOf != "" {
		return OnceMore(ctx, action)
	}
	if d.Reason == "" || d.LastStatus == 0 || d.Status == store.DeliveryDelivered {
		return text
	}
	return i18n.T(ctx, "site.reason-status", text, strconv.FormatInt(d.LastStatus, 10))
}

// ResendLabel labels the button that resends a delivery; "" where there is none.
func ResendLabel(ctx context.Context, d store.Delivery) string {
	switch d.Status {
	case store.DeliveryRetrying:
		return i18n.T(ctx, "site.resend")
	case store.DeliveryHeld, store.DeliveryDead:
		if d.Reason != store.ReasonEndpointSuspended && slices.Contains(StoppedReasons(), d.Reason) {
			return "" // its subscription is not approved
		}
		return i18n.T(ctx, "site.resend")
	}
	return ""
}

// NextAttempt is when an open delivery is tried next; zero for any other, and
// while it is being tried.
func NextAttempt(d store.Delivery) store.Time {
	if d.LeaseOwner != "" {
		return store.Time{}
	}
	if d.Status == store.DeliveryPending || d.Status == store.DeliveryRetrying {
		return d.DueAt
	}
	return store.Time{}
}
