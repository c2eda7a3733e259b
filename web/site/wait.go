package site

import (
	"context"
	"strings"
	"time"

	"schakel/delivery/window"
	"schakel/store"
	"schakel/templates/i18n"
	"schakel/templates/ui"
)

// EndpointWait names the reason an endpoint is not sent to, and the end of the wait if a clock sets it.
func EndpointWait(ep store.Endpoint, d store.Delivery, now time.Time) (reason string, until store.Time) {
	switch opens := opensAt(ep, now); {
	case ep.Status == store.EndpointPaused:
		return "endpoint-paused", until
	case ep.Status == store.EndpointSuspended:
		return "endpoint-suspended", until
	case !opens.IsZero() && d.SubscriptionID != "":
		return "window", store.At(opens)
	case unreadableHours(ep) && d.SubscriptionID != "":
		return "window", until
	case ep.Circuit == store.CircuitOpen:
		return "circuit-open", ep.CircuitProbeAt
	case ep.WaitsAt(now):
		return "retry-after", ep.WaitUntil
	}
	return "", until
}

// MayProbe reports whether a person may have the next probe of an open circuit go at once: nothing else keeps it back.
func MayProbe(ep store.Endpoint, now time.Time) bool {
	reason, until := EndpointWait(ep, store.Delivery{SubscriptionID: "any"}, now)
	return reason == "circuit-open" && until.After(now) && !ep.WaitsAt(now)
}

// unreadableHours reports whether the hours of an endpoint cannot be read, for which nothing is sent to it.
func unreadableHours(ep store.Endpoint) bool {
	return ep.Kind != store.EndpointPull && window.Check(ep.Windows) != nil
}

// opensAt is when an endpoint may be sent to again; zero when it may be now.
func opensAt(ep store.Endpoint, now time.Time) time.Time {
	week, err := window.Parse(ep.Windows)
	if err != nil || ep.Kind == store.EndpointPull || week.Open(now) {
		return time.Time{}
	}
	return week.Next(now)
}

// InWindow reports whether an endpoint of a kind is inside its delivery windows. One whose windows cannot be read, to which nothing is sent,
// counts as inside: it is a problem at any time.
func InWindow(kind, windows string, at time.Time) bool {
	week, err := window.Parse(windows)
	return err != nil || kind == store.EndpointPull || week.Open(at)
}

// lateAfter bounds how long a delivery may be due before an overview lists its endpoint.
const lateAfter = time.Minute

// Behind reports whether an endpoint of a kind, whose oldest delivery that waits was due at a time, falls behind. Outside its delivery window it
// does not, and after that opens it has as long as any other.
func Behind(kind, windows string, waiting int, oldest, now time.Time) bool {
	late := now.Add(-lateAfter)
	return waiting > 0 && !oldest.IsZero() && oldest.Before(late) && InWindow(kind, windows, late) && InWindow(kind, windows, now)
}

// OpensText announces the window that a delivery waits for; "" when that is open.
func OpensText(ctx context.Context, ep store.Endpoint, now time.Time) string {
	if unreadableHours(ep) {
		return i18n.T(ctx, "site.opens-unreadable")
	}
	if at := opensWords(ctx, ep, now); at != "" {
		return i18n.T(ctx, "site.opens", at)
	}
	return ""
}

// ClosedText reports that an endpoint is outside its windows; "" when it is open.
func ClosedText(ctx context.Context, ep store.Endpoint, now time.Time) string {
	if unreadableHours(ep) {
		return i18n.T(ctx, "site.closed-unreadable")
	}
	if at := opensWords(ctx, ep, now); at != "" {
		return i18n.T(ctx, "site.closed-until", at)
	}
	return ""
}

// Stop explains to a partner why an endpoint is not sent to: the cause, since when, and when or by whose act it goes on. Without
// a Why it is sent to.
type Stop struct {
	Why, Next string
	Since     time.Time
	// Planned is set outside a delivery window, when all is as agreed.
	Planned bool
}

// StopOf explains why an endpoint is not sent to now.
func StopOf(ctx context.Context, ep store.Endpoint, now time.Time) Stop {
	reason, until := EndpointWait(ep, store.Delivery{SubscriptionID: "any"}, now) // of events, not of tests of the endpoint
	s := Stop{Since: ep.StatusAt.Time}
	switch reason {
	case "endpoint-paused":
		s.Why, s.Next = i18n.T(ctx, "site.stop-paused"), i18n.T(ctx, "site.stop-paused-next")
		if ep.PausedBy != "" {
			s.Why, s.Next = i18n.T(ctx, "site.stop-paused-by", ep.PausedBy), i18n.T(ctx, "site.stop-administrator-next")
		}
	case "endpoint-suspended":
		s.Why, s.Next = i18n.T(ctx, "site.stop-suspended"), i18n.T(ctx, "site.stop-administrator-next")
	case "window":
		s = Stop{Why: i18n.T(ctx, "site.stop-window"), Next: opensWords(ctx, ep, now), Planned: true}
		if week, err := window.Parse(ep.Windows); err == nil {
			s.Since = week.Closed(now)
			if s.Since.Before(ep.CreatedAt.Time) {
				s.Since = ep.CreatedAt.Time
			}
		}
		if until.IsZero() {
			s = Stop{Why: i18n.T(ctx, "site.stop-unreadable"), Next: i18n.T(ctx, "site.stop-unreadable-next")}
		}
	case "circuit-open":
		s = Stop{Why: i18n.T(ctx, "site.stop-circuit", ep.CircuitFailures), Since: ep.CircuitOpenedAt.Time, Next: i18n.Time(ctx, until.Time)}
		if !until.After(now) {
			s.Next = i18n.T(ctx, "time.now")
		}
	case "retry-after":
		s = Stop{Why: i18n.T(ctx, "site.stop-retry-after"), Next: i18n.Time(ctx, until.Time)}
	}
	return s
}

// opensWords is when an endpoint that is outside its windows opens, in its own time; "" when it is open.
func opensWords(ctx context.Context, ep store.Endpoint, now time.Time) string {
	opens := opensAt(ep, now)
	if opens.IsZero() {
		return ""
	}
	week, err := window.Parse(ep.Windows)
	if err != nil {
		return ""
	}
	local := opens
	if zone, err := time.LoadLocation(week.TimeZone()); err == nil {
		local = opens.In(zone)
	}
	return i18n.T(ctx, "site.window-opens", i18n.Of(ctx, "site.day", local.Format("Mon")), i18n.From(ctx).ShortDay(local), local.Format("15:04"), week.TimeZone())
}

// WindowWords describes the delivery windows of an endpoint.
func WindowWords(ctx context.Context, ep store.Endpoint) string {
	week, err := window.Parse(ep.Windows)
	switch {
	case err != nil:
		return i18n.T(ctx, "site.window-unreadable", err.Error())
	case week.Always():
		return i18n.T(ctx, "site.window-always")
	}
	words := week.Words(func(d time.Weekday) string { return i18n.Of(ctx, "site.day", d.String()[:3]) }, i18n.T(ctx, "site.window-through"), i18n.T(ctx, "site.window-until"))
	return i18n.T(ctx, "site.window-words", strings.Join(words, "; "), week.TimeZone())
}

// DeliveryAnswer is a delivery as its receiver sees it.
type DeliveryAnswer struct {
	DeliveryID     string          `json:"deliveryId"`
	EventID        string          `json:"eventId"`
	EventType      string          `json:"eventType"`
	SubscriptionID string          `json:"subscriptionId,omitempty"`
	EndpointID     string          `json:"endpointId"`
	Status         string          `json:"status"`
	Reason         string          `json:"reason,omitempty"`
	Detail         string          `json:"detail,omitempty"`
	Attempts       int64           `json:"attempts"`
	LastStatus     int64           `json:"lastStatus,omitempty"`
	NextAttemptAt  store.Time      `json:"nextAttemptAt,omitzero"`
	CreatedAt      store.Time      `json:"createdAt"`
	UpdatedAt      store.Time      `json:"updatedAt"`
	DeliveredAt    store.Time      `json:"deliveredAt,omitzero"`
	ExpiresAt      store.Time      `json:"expiresAt,omitzero"`
	ReplayOf       string          `json:"replayOf,omitempty"`  // a job, which may be an administrator's
	JobAction      string          `json:"jobAction,omitempty"` // of ReplayOf: resend or replay
	BatchID        string          `json:"batchId,omitempty"`
	WaitsFor       string          `json:"waitsFor,omitempty"`   // a delivery; only in the answer for one
	WaitsUntil     store.Time      `json:"waitsUntil,omitzero"`  // as WaitsFor
	WaitReason     string          `json:"waitReason,omitempty"` // as WaitsFor
	AttemptList    []AttemptAnswer `json:"attemptList,omitempty"`
}

// AttemptAnswer is one try; headers and bodies are for the portal.
type AttemptAnswer struct {
	Number     int64      `json:"number"`
	StartedAt  store.Time `json:"startedAt"`
	Duration   int64      `json:"durationMs"`
	StatusCode int64      `json:"statusCode,omitempty"`
	Outcome    string     `json:"outcome,omitempty"` // of a receive
	ErrorKind  string     `json:"errorKind,omitempty"`
	Error      string     `json:"error,omitempty"`
	NextAt     store.Time `json:"nextAt,omitzero"`
}

// DatabaseNavigation reads what the frame of a page shows. A count that cannot be read is shown as none: the page
// itself tells of the failure.
type DatabaseNavigation struct {
	DB  *store.DB
	Now func() time.Time
}

// Waiting implements NavigationSource.
func (n DatabaseNavigation) Waiting(ctx context.Context, partnerID string) Waiting {
	w := Waiting{DeadLetters: n.deliveries(ctx, DeadLetters(partnerID))}
	if partnerID != "" {
		w.Errors = n.deliveries(ctx, InErrorQueue(partnerID))
		return w
	}
	w.Errors = n.deliveries(ctx, InErrorQueue(""))
	if kept, err := n.DB.CountQuarantined(ctx); err == nil {
		w.Quarantined = kept
	}
	if asked, err := n.DB.CountVersionsRequested(ctx); err == nil {
		w.Publications = asked
	}
	if alarmed, err := n.DB.CountMirrorsAlarmed(ctx); err == nil {
		w.Mirrors = alarmed
	}
	if kept, err := n.DB.CountAMQPMessages(ctx, store.AMQPFilter{Attention: true}); err == nil {
		w.AMQP = kept
	}
	if waits, err := n.DB.CountConfirmations(ctx, store.ConfirmationFilter{Status: store.ConfirmationWaiting, Now: store.At(n.Now())}); err == nil {
		w.Confirmations = waits
	}
	if moves, err := n.DB.MovesToApprove(ctx, store.At(n.Now())); err == nil {
		w.Moves = len(moves)
	}
	if partners, err := n.DB.CountPartners(ctx); err == nil {
		w.Registrations = partners[store.PartnerRequested]
	}
	if subscriptions, err := n.DB.CountSubscriptions(ctx); err == nil {
		w.Subscriptions = subscriptions[store.SubscriptionRequested]
	}
	if clients, err := n.DB.ClientsWaiting(ctx); err == nil {
		w.Clients = len(clients)
	}
	return w
}

// DeadLetters selects the dead letters of a partner, or of all for "".
func DeadLetters(partnerID string) store.DeliveryFilter {
	return store.DeliveryFilter{PartnerID: partnerID, Statuses: []string{store.DeliveryDead}}
}

// InErrorQueue selects what is held of a partner, or of all for "", because its receiver or its data refused it, and not because somebody paused or
// suspended something.
func InErrorQueue(partnerID string) store.DeliveryFilter {
	return store.DeliveryFilter{PartnerID: partnerID, Statuses: []string{store.DeliveryHeld}, NotReasons: StoppedReasons()}
}

// CountOn goes on where the menu, which counted n deliveries, stopped: the numbers on a page equal the lists that they lead to.
func (p *Portal) CountOn(ctx context.Context, n int, f store.DeliveryFilter) (int, error) {
	if n <= ui.MenuBound {
		return n, nil
	}
	return p.DB.CountListed(ctx, f)
}

// deliveries counts for every page, so it stops at what a menu has room for.
func (n DatabaseNavigation) deliveries(ctx context.Context, f store.DeliveryFilter) int {
	count, err := n.DB.CountListedTo(ctx, f, ui.MenuBound)
	if err != nil {
		return 0
	}
	return count
}

// PartnerName implements NavigationSource.
func (n DatabaseNavigation) PartnerName(ctx context.Context, partnerID string) string {
	p, err := n.DB.Partner(ctx, partnerID)
	if err != nil {
		return ""
	}
	return p.Name
}
