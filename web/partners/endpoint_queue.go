package partners

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"schakel/delivery/outbox"
	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
	view "schakel/templates/partners"
	"schakel/web/site"
)

// queueOf reads what waits at an endpoint, and why.
func (d ownerPages) queueOf(ctx context.Context, e store.Endpoint) (view.EndpointQueue, error) {
	queued, err := d.DB.QueuedAt(ctx, e.ID)
	if err != nil {
		return view.EndpointQueue{}, fmt.Errorf("read what waits at endpoint: %w", err)
	}
	now := d.Cfg.Now()
	stop := site.StopOf(ctx, e, now)
	q := view.EndpointQueue{
		Name: e.Name, Href: d.Href("/endpoints/" + e.ID), Waiting: queued.Waiting, Oldest: queued.Oldest.Time,
		Why: stop.Why, Since: stop.Since, Next: stop.Next,
	}
	if stop.Why == "" {
		if q.Why, err = stoppedSubscriptions(ctx, d.DB, e.ID, queued); err != nil {
			return q, err
		}
		if q.Why != "" {
			q.Next = i18n.T(ctx, "partners.endpoint.next-subscription")
		}
	}
	if e.Status != store.EndpointActive {
		q.Reason = i18n.Message(e.StatusReason).In(ctx)
	}
	switch {
	case q.Why != "" || queued.Waiting == 0:
	case e.Kind == store.EndpointPull:
		q.Next = i18n.T(ctx, "partners.endpoint.next-when-received")
	case queued.Next.After(now):
		q.Next = i18n.Time(ctx, queued.Next.Time)
	default:
		q.Next = i18n.T(ctx, "partners.endpoint.next-now")
	}
	return q, nil
}

// stoppedSubscriptions explains that nothing is sent to an endpoint because of its subscriptions: none may be sent to, or what waits is
// for those alone; empty when something may go.
func stoppedSubscriptions(ctx context.Context, db *store.DB, endpointID string, queued store.Queued) (string, error) {
	if queued.Stopped < queued.Waiting {
		return "", nil
	}
	subs, _, err := db.Subscriptions(ctx, store.SubscriptionFilter{EndpointID: endpointID})
	if err != nil {
		return "", fmt.Errorf("list the subscriptions of an endpoint: %w", err)
	}
	counts, sends := map[string]int{}, false
	for _, s := range subs {
		counts[outbox.SubscriptionStop(s)]++
		sends = sends || s.Sending
	}
	paused, suspended := counts[store.ReasonSubscriptionPaused], counts[store.ReasonSubscriptionSuspended]
	switch {
	case paused+suspended == 0 || sends && queued.Waiting == 0:
		return "", nil
	case sends:
		return i18n.T(ctx, "partners.endpoint.stopped-waiting"), nil
	case suspended > 0:
		return i18n.T(ctx, "partners.endpoint.stopped-suspended"), nil
	}
	return i18n.T(ctx, "partners.endpoint.stopped-paused"), nil
}

// queues are the endpoints that are stopped, or at which deliveries wait for long.
func (d ownerPages) queues(ctx context.Context, endpoints []store.Endpoint) ([]view.EndpointQueue, error) {
	var list []view.EndpointQueue
	now, ready := d.Cfg.Now(), d.Readiness(false)
	for _, e := range endpoints {
		if e.Status == store.EndpointEnded {
			continue
		}
		q, err := d.queueOf(ctx, e)
		if err != nil {
			return nil, err
		}
		unready, err := ready.OfEndpoint(ctx, e)
		if err != nil {
			return nil, err
		}
		if unready != nil && q.Why == "" {
			q.Why, q.Next = unready.Notice().Texts[0], ""
		}
		stop := site.StopOf(ctx, e, now)
		planned := unready == nil && (stop.Planned || stop.Why == "" && q.Waiting == 0) // of paused subscriptions, when nothing waits
		if q.Why != "" && !planned || site.Behind(e.Kind, e.Windows, q.Waiting, q.Oldest, now) {
			list = append(list, q)
		}
	}
	return list, nil
}

// stoppedText explains that events of an approved subscription wait, because its endpoint is stopped; empty when they are sent.
func stoppedText(ctx context.Context, e store.Endpoint, now time.Time) string {
	stop := site.StopOf(ctx, e, now)
	if stop.Why == "" {
		return ""
	}
	return i18n.T(ctx, "partners.subscription.stopped", stop.Why, stop.Next)
}

// issuesHref lists the issues of an endpoint that are not resolved.
func (d ownerPages) issuesHref(endpointID string) string {
	return strings.TrimSuffix(d.Deliveries, "/deliveries") + "/issues?state=unresolved&endpoint=" + url.QueryEscape(endpointID)
}

// unresolvedIssues counts the issues of an endpoint that are not resolved.
func unresolvedIssues(ctx context.Context, db *store.DB, endpointID string) (int, error) {
	_, n, err := db.Issues(ctx, store.IssueFilter{
		EndpointID: endpointID, Statuses: []string{store.IssueOpen, store.IssueReopened, store.IssueAcknowledged}, Page: store.Page{Number: 1, Size: 1},
	})
	return n, registry.Wrap("count issues", err)
}
