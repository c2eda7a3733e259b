package deliveries

import (
	"context"
	"encoding/json"
	"slices"

	"schakel/delivery/outbox"
	"schakel/store"
	"schakel/templates/i18n"
	"schakel/web/api"
	"schakel/web/site"
)

// resendRequest selects deliveries to resend, or events to replay;
// what is left out selects all: of deliveries those that are held or dead.
type resendRequest struct {
	Action     string `json:"action"` // resend, which is the default, or replay
	EndpointID string `json:"endpointId"`
	From       string `json:"from"`
	Until      string `json:"until"`

	// Of a resend: from and until tell when deliveries last changed.
	DeliveryIDs    []string `json:"deliveryIds"`
	Status         []string `json:"status"`
	Reason         string   `json:"reason"`
	SubscriptionID string   `json:"subscriptionId"`
	EventID        string   `json:"eventId"`
	EventType      string   `json:"eventType"`
	Canary         bool     `json:"canary"`
	Rate           *rate    `json:"rate"`

	// Of a replay: from and until tell when events were accepted.
	Mode            string   `json:"mode"`
	SubscriptionIDs []string `json:"subscriptionIds"`
	EventTypes      []string `json:"eventTypes"`
	EventIDs        []string `json:"eventIds"`
	Subject         string   `json:"subject"`
}

// rate bounds the deliveries that a job resends in a time.
type rate struct {
	Deliveries int    `json:"deliveries"`
	Per        string `json:"per"` // second or minute
}

// newRate writes the rate of a job; nil for none.
func newRate(perMinutes int64) *rate {
	switch {
	case perMinutes == 0:
		return nil
	case perMinutes%60 == 0:
		return &rate{int(perMinutes / 60), perSecond}
	}
	return &rate{int(perMinutes), perMinute}
}

// care reads how carefully a resend goes about it.
func (r resendRequest) care() (outbox.Care, error) {
	care := outbox.Care{Canary: r.Canary}
	if r.Rate == nil {
		return care, nil
	}
	most := outbox.MaxJobRate
	switch care.Rate = r.Rate.Deliveries; r.Rate.Per {
	case perMinute:
	case perSecond:
		most /= 60
		care.Rate *= 60
	default:
		return care, site.FieldProblem("rate.per", "deliveries.api.rate-per")
	}
	if r.Rate.Deliveries < 1 || r.Rate.Deliveries > most {
		return care, site.FieldProblem("rate.deliveries", i18n.M("deliveries.api.rate", most))
	}
	return care, nil
}

// MaxResendIDs bounds a list of ids; more are resent by a filter.
const MaxResendIDs = 1000

// check returns the problems of a request. An empty list would select everything, which
// its sender did not mean.
func (r resendRequest) check() error {
	lists := []struct {
		name string
		list []string
	}{
		{"deliveryIds", r.DeliveryIDs},
		{"status", r.Status},
		{"subscriptionIds", r.SubscriptionIDs},
		{"eventTypes", r.EventTypes},
		{"eventIds", r.EventIDs},
	}
	for _, l := range lists {
		switch {
		case l.list != nil && len(l.list) == 0:
			return site.FieldProblem(l.name, i18n.M("deliveries.api.empty-list", l.name))
		case len(l.list) > MaxResendIDs:
			return site.FieldProblem(l.name, i18n.M("deliveries.api.too-many", MaxResendIDs))
		case slices.Contains(l.list, ""):
			return site.FieldProblem(l.name, "deliveries.api.empty-text")
		}
	}
	return r.checkAction()
}

// checkAction refuses members that the action does not know: they would not narrow it.
func (r resendRequest) checkAction() error {
	others := map[string]bool{
		"mode": r.Mode != "", "subscriptionIds": r.SubscriptionIDs != nil, "eventTypes": r.EventTypes != nil,
		"eventIds": r.EventIDs != nil, "subject": r.Subject != "",
	}
	switch r.Action {
	case "", outbox.ActionResend:
	case outbox.ActionReplay:
		others = map[string]bool{
			"deliveryIds": r.DeliveryIDs != nil, "status": r.Status != nil, "reason": r.Reason != "",
			"subscriptionId": r.SubscriptionID != "", "eventId": r.EventID != "", "eventType": r.EventType != "",
			"canary": r.Canary, "rate": r.Rate != nil,
		}
		if r.Mode != outbox.ReplayMissing && r.Mode != outbox.ReplayAll {
			return site.FieldProblem("mode", "deliveries.api.mode")
		}
	default:
		return site.FieldProblem("action", "deliveries.api.action")
	}
	for _, name := range []string{
		"mode", "subscriptionIds", "eventTypes", "eventIds", "subject", "deliveryIds", "status", "reason", "subscriptionId", "eventId", "eventType",
		"canary", "rate",
	} {
		if others[name] {
			return site.FieldProblem(name, "deliveries.api.other-action")
		}
	}
	return nil
}

func (r resendRequest) start(ctx context.Context, engine site.JobEngine, actor outbox.Actor) (store.ResendJob, error) {
	if r.Action == outbox.ActionReplay {
		replay, err := r.replay()
		if err != nil {
			return store.ResendJob{}, err
		}
		return engine.StartReplay(ctx, actor, replay)
	}
	f, err := r.filter()
	if err != nil {
		return store.ResendJob{}, err
	}
	care, err := r.care()
	if err != nil {
		return store.ResendJob{}, err
	}
	return engine.StartResend(ctx, actor, f, care)
}

func (r resendRequest) preview(ctx context.Context, engine site.JobEngine, actor outbox.Actor) (outbox.Preview, error) {
	if r.Action == outbox.ActionReplay {
		replay, err := r.replay()
		if err != nil {
			return outbox.Preview{}, err
		}
		return engine.PreviewReplay(ctx, actor, replay)
	}
	f, err := r.filter()
	if err == nil {
		_, err = r.care()
	}
	if err != nil {
		return outbox.Preview{}, err
	}
	return engine.PreviewJob(ctx, actor, f)
}

func (r resendRequest) filter() (f store.DeliveryFilter, err error) {
	f = store.DeliveryFilter{
		IDs: r.DeliveryIDs, Statuses: r.Status, Reason: r.Reason, EndpointID: r.EndpointID, SubscriptionID: r.SubscriptionID,
		EventID: r.EventID, EventType: r.EventType,
	}
	if err := checkStatuses(f.Statuses); err != nil {
		return f, err
	}
	f.From, f.Until, err = r.times()
	return f, err
}

func (r resendRequest) replay() (replay outbox.Replay, err error) {
	replay = outbox.Replay{
		Mode: r.Mode, EndpointID: r.EndpointID, SubscriptionIDs: r.SubscriptionIDs, Types: r.EventTypes, Subject: r.Subject, EventIDs: r.EventIDs,
	}
	replay.From, replay.Until, err = r.times()
	return replay, err
}

func (r resendRequest) times() (from, until store.Time, err error) {
	if from, err = api.QueryTime("from", r.From); err != nil {
		return from, until, err
	}
	until, err = api.QueryTime("until", r.Until)
	return from, until, err
}

// ResendAnswer is a job and how far it is.
type ResendAnswer struct {
	ResendID string `json:"resendId"`
	Action   string `json:"action"`
	Mode     string `json:"mode,omitempty"` // of a replay
	Status   string `json:"status"`
	Total    int64  `json:"total"`
	// TotalIsMinimum is set when counting stopped: there are more than Total.
	TotalIsMinimum bool       `json:"totalIsMinimum,omitempty"`
	Done           int64      `json:"done"`
	Refused        int64      `json:"refused"`
	CreatedAt      store.Time `json:"createdAt"`
	FinishedAt     store.Time `json:"finishedAt,omitzero"`
	Canary         bool       `json:"canary,omitempty"`
	Rate           *rate      `json:"rate,omitempty"`
	// StoppedFor explains why a job with status stopped went no further.
	StoppedFor string           `json:"stoppedFor,omitempty"`
	Refusals   map[string]int64 `json:"refusals,omitempty"`
	Canaries   []canaryAnswer   `json:"canaries,omitempty"`
	Parts      []resendPart     `json:"parts,omitempty"`
	Outcome    *jobOutcome      `json:"outcome,omitempty"`
	Stopped    []stoppedAt      `json:"stopped,omitempty"`
}

// jobOutcome counts the outcomes of a job's deliveries until now.
type jobOutcome struct {
	Delivered   int64 `json:"delivered"`
	FailedAgain int64 `json:"failedAgain"`
	Pending     int64 `json:"pending"`
	Discarded   int64 `json:"discarded"`
	InOtherJobs int64 `json:"inOtherJobs,omitempty"`
	Removed     int64 `json:"removed,omitempty"`
}

// canaryAnswer is the delivery that a job resent first to an endpoint.
type canaryAnswer struct {
	EndpointID string `json:"endpointId"`
	DeliveryID string `json:"deliveryId"`
	Outcome    string `json:"outcome"`
}

// stoppedAt is an endpoint that is not sent to now, and why.
type stoppedAt struct {
	EndpointID string     `json:"endpointId"`
	Reason     string     `json:"reason"`
	Until      store.Time `json:"until,omitzero"`
}

// resendPart counts the progress of a replay for one subscription.
type resendPart struct {
	SubscriptionID string `json:"subscriptionId"`
	EndpointID     string `json:"endpointId"`
	Status         string `json:"status"`
	Reason         string `json:"reason,omitempty"`
	Total          int64  `json:"total"`
	TotalIsMinimum bool   `json:"totalIsMinimum,omitempty"`
	Done           int64  `json:"done"`
	Refused        int64  `json:"refused"`
}

// previewAnswer counts the deliveries that a job would handle.
type previewAnswer struct {
	Total          int            `json:"total"`
	TotalIsMinimum bool           `json:"totalIsMinimum,omitempty"`
	Limited        bool           `json:"limited,omitempty"`
	Groups         []previewGroup `json:"groups"`
	Stopped        []stoppedAt    `json:"stopped,omitempty"`
	// StoppedSubscriptions may not be sent to: their deliveries cannot be resent.
	StoppedSubscriptions []stoppedSubscription `json:"stoppedSubscriptions,omitempty"`
	// Refusals counts those of Total that the job cannot resend, by reason.
	Refusals map[string]int `json:"refusals,omitempty"`
}

type previewGroup struct {
	EndpointID     string `json:"endpointId"`
	SubscriptionID string `json:"subscriptionId,omitempty"`
	EventType      string `json:"eventType"`
	Count          int    `json:"count"`
}

func newResendAnswer(j store.ResendJob) ResendAnswer {
	a := ResendAnswer{
		ResendID: j.ID, Action: j.Action, Status: j.Status, Total: j.Total, TotalIsMinimum: j.TotalMore, Done: j.Done, Refused: j.Refused,
		CreatedAt: j.CreatedAt, FinishedAt: j.FinishedAt, Canary: j.Canary, Rate: newRate(j.Rate), Refusals: outbox.JobRefusals(j),
	}
	if j.Status == store.JobStopped {
		a.StoppedFor = i18n.Message(j.StoppedFor).String()
	}
	if j.Action == outbox.ActionReplay {
		a.Mode = replayOf(j).Mode
	}
	return a
}

// replayOf returns the selection of a replay.
func replayOf(j store.ResendJob) outbox.Replay {
	var r outbox.Replay
	_ = json.Unmarshal([]byte(j.Filter), &r) // the engine wrote it
	return r
}

func newResendPart(p store.ReplayPart) resendPart {
	return resendPart{
		SubscriptionID: p.SubscriptionID, EndpointID: p.EndpointID, Status: p.Status, Reason: p.Reason,
		Total: p.Total, TotalIsMinimum: p.TotalMore, Done: p.Done, Refused: p.Refused,
	}
}

func newPreviewAnswer(p outbox.Preview) previewAnswer {
	a := previewAnswer{Total: p.Total, TotalIsMinimum: p.More, Limited: p.Limited, Groups: make([]previewGroup, len(p.Groups))}
	if p.SentForGood > 0 {
		a.Refusals = map[string]int{outbox.RefusedSent: p.SentForGood}
	}
	for i, g := range p.Groups {
		a.Groups[i] = previewGroup{EndpointID: g.EndpointID, SubscriptionID: g.SubscriptionID, EventType: g.EventType, Count: g.Count}
	}
	return a
}
