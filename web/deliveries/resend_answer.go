package deliveries

import (
	"encoding/json"

	"schakel/delivery/outbox"
	"schakel/store"
)

// ResendAnswer is a job and how far it is.
type ResendAnswer struct {
	ResendID string `json:"resendId"`
	Action   string `json:"action"`
	Mode     string `json:"mode,omitempty"` // of a replay
	Status   string `json:"status"`
	Total    int64  `json:"total"`
	// TotalIsMinimum is set when counting stopped: there are more than Total.
	TotalIsMinimum bool         `json:"totalIsMinimum,omitempty"`
	Done           int64        `json:"done"`
	Refused        int64        `json:"refused"`
	CreatedAt      store.Time   `json:"createdAt"`
	FinishedAt     store.Time   `json:"finishedAt,omitzero"`
	Parts          []resendPart `json:"parts,omitempty"`
	Outcome        *jobOutcome  `json:"outcome,omitempty"`
	Stopped        []stoppedAt  `json:"stopped,omitempty"`
}

// jobOutcome counts the outcomes of a job's deliveries until now.
type jobOutcome struct {
	Delivered   int64 `json:"delivered"`
	FailedAgain int64 `json:"failedAgain"`
	Pending     int64 `json:"pending"`
	Discarded   int64 `json:"discarded"`
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
		CreatedAt: j.CreatedAt, FinishedAt: j.FinishedAt,
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
	for i, g := range p.Groups {
		a.Groups[i] = previewGroup{EndpointID: g.EndpointID, SubscriptionID: g.SubscriptionID, EventType: g.EventType, Count: g.Count}
	}
	return a
}
