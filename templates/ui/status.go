package ui

import (
	"time"

	"github.com/a-h/templ"
)

// StateKind gives each state word of the product its kind. A word means the same
// wherever it is used, so one table serves partners, contracts, subscriptions,
// deliveries, endpoints and clients.
func StateKind(state string) Kind {
	switch state {
	case "approved", "published", "delivered", "active", "closed", "valid", "accepted", "resent", "done":
		return KindOK
	case "requested", "pending", "running", "half-open", "invited", "unconfirmed", "confirmed":
		return KindInfo
	case "retrying", "held", "paused", "deprecated", "waiting", "warning", "cancelled":
		return KindWarning
	case "dead", "rejected", "suspended", "open", "failed", "invalid", "error", "refused", "breaking":
		return KindError
	default:
		return KindNeutral
	}
}

// StateLabel names a state for people.
func StateLabel(state string) string {
	switch state {
	case "dead":
		return "Dead letter"
	case "open":
		return "Stopped (circuit open)"
	case "half-open":
		return "Trying again (circuit half-open)"
	case "closed":
		return "Healthy (circuit closed)"
	case "":
		return "Unknown"
	}
	if state[0] >= 'a' && state[0] <= 'z' {
		return string(state[0]-'a'+'A') + state[1:]
	}
	return state
}

// Item is one line of a DescriptionList. Content wins over Text when set; an
// empty Text is shown as a dash with the unseen words "not given".
type Item struct {
	Label   string
	Text    string
	Content templ.Component
}

// Moment is one entry of a Timeline, newest first by custom.
type Moment struct {
	At time.Time
	// Kind chooses the mark: KindOK for a success, KindError for a failure.
	Kind  Kind
	Title string
	// Text is one sentence below the title.
	Text string
	// Detail is folded away until asked for, such as a request and its answer.
	Detail      templ.Component
	DetailLabel string
}

// Tile is one number of an overview.
type Tile struct {
	Label string
	Value string
	// Hint puts the number in proportion, such as "in the last 24 hours".
	Hint string
	Href string
	Kind Kind
}

// Secret is a value that is shown one time only.
type Secret struct {
	// ID must be unique on the page.
	ID    string
	Label string
	Value string
	// Warning announces the next step; empty gives the usual sentence.
	Warning string
}

func (s Secret) warning() string {
	if s.Warning != "" {
		return s.Warning
	}
	return "Copy this now. It is not kept in a readable form and cannot be shown again."
}

func (m Moment) detailLabel() string {
	if m.DetailLabel == "" {
		return "Details"
	}
	return m.DetailLabel
}

func (k Kind) alertClass() string {
	switch k {
	case KindOK:
		return "utrecht-alert utrecht-alert--ok schakel-alert"
	case KindWarning:
		return "utrecht-alert utrecht-alert--warning schakel-alert"
	case KindError:
		return "utrecht-alert utrecht-alert--error schakel-alert"
	default:
		return "utrecht-alert utrecht-alert--info schakel-alert"
	}
}

// alertRole interrupts a screen reader for errors only.
func (k Kind) alertRole() string {
	if k == KindError {
		return "alert"
	}
	return "status"
}

func (k Kind) word() string {
	switch k {
	case KindOK:
		return "Done: "
	case KindWarning:
		return "Warning: "
	case KindError:
		return "Error: "
	default:
		return "Note: "
	}
}

func (k Kind) badgeClass() string {
	switch k {
	case KindOK, KindWarning, KindError, KindInfo:
		return "utrecht-badge-status schakel-badge schakel-badge--" + string(k)
	default:
		return "utrecht-badge-status schakel-badge schakel-badge--neutral"
	}
}
