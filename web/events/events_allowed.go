package events

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"schakel/delivery/event"
	"schakel/registry"
	"schakel/registry/identity"
	"schakel/registry/profile"
	"schakel/templates/i18n"
	"schakel/web/api"
	"schakel/web/site"
)

// allowEvents refuses events of a type or source that the client was not granted
// (CE-10, 403), of a type that no contract defines or with data that does not fit it
// (CE-15, 400), and what the profile refuses. Of a batch all mistakes are named, and
// nothing is stored. It returns the warnings to the sender of accepted events, and the
// versions of their contracts that they fit.
func (m *handlers) allowEvents(ctx context.Context, set *profile.ProfileState, who api.Caller, mode event.Mode, events []event.Event) (warnings []site.ProblemError, versions []string, err error) {
	var denied, unknown []site.ProblemError
	var findings advice
	data := payloads{versions: make([]string, 0, len(events))}
	for i := range events {
		e := &events[i]
		at := place{batch: mode == event.Batch, index: i}
		if err := identity.MayPublishType(who.Client, e.Type); err != nil {
			denied = append(denied, at.problem("type", detailOf(err)))
			continue
		}
		advised, refused := bindSource(set, identity.MayPublishFrom(who.Client, e.Source))
		if refused != nil {
			denied = append(denied, at.problem("source", detailOf(refused)))
			continue
		}
		if advised != "" {
			findings.warnings = append(findings.warnings, at.problem("source", advised).Coded("source-not-granted"))
		}
		if err := m.mandated(ctx, who, e); err != nil {
			if e, ok := errors.AsType[*registry.Error](err); ok {
				denied = append(denied, at.problem("source", e.Message).Coded("mandate-missing"))
				continue
			}
			return nil, nil, err
		}
		live, err := m.typeVersions(ctx, e.Type)
		if err != nil {
			return nil, nil, err
		}
		if len(live) == 0 && set.UnknownTypes != registry.PolicyAccept {
			unknown = append(unknown, at.problem("type", "events.api.unknown-type"))
			continue
		}
		if err := m.checkPayload(set, at, e, live, &data, &findings); err != nil {
			return nil, nil, err
		}
	}
	switch {
	case len(denied) > 0:
		p := site.NewProblem(http.StatusForbidden, "not-granted", "events.api.not-granted")
		p.Errors = denied
		return nil, nil, p
	case len(unknown) > 0:
		p := site.NewProblem(http.StatusBadRequest, "unknown-type", "events.api.unknown-types")
		p.Errors = unknown
		return nil, nil, p
	}
	advise(set, mode, events, &findings)
	return findings.warnings, data.versions, cmp.Or(findings.err(), m.payloadProblem(&data))
}

func detailOf(err error) i18n.Message {
	if e, ok := errors.AsType[*registry.Error](err); ok {
		return e.Message
	}
	return "events.api.not-granted-one"
}

// place is which event of a request an error is about.
type place struct {
	batch bool
	index int
}

func (p place) problem(attribute string, detail i18n.Message) site.ProblemError {
	found := site.ProblemError{Attribute: attribute, Pointer: "/" + attribute, Code: attribute + "-refused", Detail: detail}
	if p.batch {
		found.Index, found.Pointer = &p.index, "/"+strconv.Itoa(p.index)+found.Pointer
	}
	return found
}

// clientRates is a token bucket per client, never per address (EDU-20a, EDU-20b).
type clientRates struct {
	now     func() time.Time
	mu      sync.Mutex
	buckets map[string]*rate.Limiter
}

func newClientRates(now func() time.Time) *clientRates {
	return &clientRates{now: now, buckets: make(map[string]*rate.Limiter)}
}

// allow takes a token of the client, or returns how long to wait for one, when a
// client may send so many requests a second on average and burst at once. No
// limit is 0.
func (r *clientRates) allow(clientID string, perSecond float64, burst int) (wait time.Duration, ok bool) {
	if perSecond <= 0 {
		return 0, true
	}
	now := r.now()
	reservation := r.bucket(clientID, rate.Limit(perSecond), max(burst, 1), now).ReserveN(now, 1)
	if wait = reservation.DelayFrom(now); wait > 0 {
		reservation.CancelAt(now)
		return wait, false
	}
	return 0, true
}

// bucket finds the bucket of a client, with the limit of now. There are as many
// as clients that hold a valid token, so they are kept.
func (r *clientRates) bucket(clientID string, limit rate.Limit, burst int, now time.Time) *rate.Limiter {
	r.mu.Lock()
	defer r.mu.Unlock()
	b, ok := r.buckets[clientID]
	if !ok {
		b = rate.NewLimiter(limit, burst)
		r.buckets[clientID] = b
	}
	if b.Limit() != limit {
		b.SetLimitAt(now, limit)
	}
	if b.Burst() != burst {
		b.SetBurstAt(now, burst)
	}
	return b
}
