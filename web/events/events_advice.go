package events

import (
	"errors"
	"net/http"

	"schakel/delivery/event"
	"schakel/registry"
	"schakel/registry/profile"
	"schakel/web/site"
)

// maxAdvice bounds the advice in one answer.
const maxAdvice = 100

// advice lists the findings of the profile about the events of a request: warnings
// to the sender, and reasons to refuse them.
type advice struct {
	warnings, refused []site.ProblemError
}

// advise holds events against the profile. Refused is only what the profile says
// to refuse; all else is told with the 202.
func advise(set *profile.ProfileState, mode event.Mode, events []event.Event, a *advice) {
	policy := advicePolicy(set)
	for i := range events {
		at := place{batch: mode == event.Batch, index: i}
		for _, found := range events[i].Advice(policy) {
			entry := at.problem(found.Attribute, found.Detail)
			entry.Code = found.Code
			if refuses(set, found.Code) {
				a.refused = append(a.refused, entry)
			} else {
				a.warnings = append(a.warnings, entry)
			}
		}
	}
}

func advicePolicy(set *profile.ProfileState) event.Policy {
	p := event.Policy{AnyType: set.TypePolicy == registry.PolicyOff, AllowPrivate: set.Sensitive == registry.PolicyOff}
	switch set.SourcePolicy {
	case registry.SourceAny:
		p.Source = event.SourceAny
	case registry.SourceURNOIN:
		p.Source = event.SourceOIN
	}
	return p
}

// refuses reports whether the profile refuses events for an advice.
func refuses(set *profile.ProfileState, code string) bool {
	switch code {
	case event.AdviceType, event.AdviceTypeVersion:
		return set.TypePolicy == registry.PolicyStrict
	case event.AdviceSource, event.AdviceOIN, event.AdviceLocation:
		return set.SourceAction == registry.PolicyRefuse && set.SourcePolicy != registry.SourceAny
	case event.AdviceBSN, event.AdviceEmailAddress:
		return set.Sensitive == registry.PolicyRefuse
	}
	return false
}

// err is the answer to events that the profile refuses; nil when it takes them.
func (a *advice) err() error {
	if len(a.refused) == 0 {
		return nil
	}
	p := site.NewProblem(http.StatusBadRequest, "profile-refused", "The settings of this chain do not take these events; the errors say why. Nothing of this request was stored. Mend them and send them under a new Idempotency-Key.")
	p.Errors = a.refused[:min(len(a.refused), maxAdvice)]
	return p
}

// bindSource decides about an event whose source its client was not
// granted (CE-10): refused rejects it, advised goes out with the answer.
func bindSource(set *profile.ProfileState, err error) (advised string, refused error) {
	switch e, _ := errors.AsType[*registry.Error](err); {
	case err == nil || set.SourceBinding == registry.PolicyOff:
		return "", nil
	case set.SourceBinding == registry.PolicyWarn && e != nil:
		return e.Message, nil
	}
	return "", err
}
