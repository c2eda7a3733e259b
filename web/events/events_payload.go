package events

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"schakel/delivery/event"
	"schakel/registry"
	"schakel/registry/profile"
	"schakel/store"
	"schakel/templates/i18n"
	"schakel/web/site"
)

// errNoVersions keeps a type without versions from being remembered, so that a
// publication counts at once.
var errNoVersions = errors.New("no version defines this event type")

// typeVersions are the versions in which a type can be used; none for a type that no
// published or deprecated contract defines.
func (m *handlers) typeVersions(ctx context.Context, name string) ([]store.EventType, error) {
	found, err := m.types.Get(ctx, name, func(ctx context.Context, name string) ([]store.EventType, error) {
		found, err := m.DB.EventTypeVersions(ctx, name)
		if err == nil && len(found) == 0 {
			err = errNoVersions
		}
		return found, err
	})
	if errors.Is(err, errNoVersions) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look up event type: %w", err)
	}
	return found, nil
}

// payloads holds the outcome of checking the events of a request against their contracts.
type payloads struct {
	// versions lists the versions that each event fits, with spaces between.
	versions []string
	refused  []site.ProblemError
	against  store.EventType // the first version that was not met
}

// checkPayload checks an event against the versions of its type (CE-15, CE-18), and records the
// outcome. Warnings that do not refuse it go to findings.
func (m *handlers) checkPayload(set *profile.ProfileState, at place, e *event.Event, versions []store.EventType, p *payloads, findings *advice) error {
	if set.Payload == registry.PolicyOff || len(versions) == 0 {
		p.versions = append(p.versions, m.Registry.Payloads.NamedOnly(e.DataSchema, versions))
		return nil
	}
	j, err := m.Registry.Payloads.Judge(site.OfferOf(e), versions)
	if err != nil {
		return err
	}
	p.versions = append(p.versions, j.Versions())
	for _, note := range j.Notes {
		findings.warnings = append(findings.warnings, at.problem(note.Attribute, note.Detail).Coded(note.Code))
	}
	if len(j.Misfits) > 0 && p.against.ID == "" {
		p.against = j.Against
	}
	for _, misfit := range j.Misfits {
		entry := at.problem(misfit.Attribute, misfit.Detail).Coded(misfit.Code)
		entry.Pointer += misfit.Pointer
		if set.Payload == registry.PolicyWarn {
			findings.warnings = append(findings.warnings, entry)
		} else {
			p.refused = append(p.refused, entry)
		}
	}
	return nil
}

// err is the answer to events that do not fit their contract; nil when all do.
func (m *handlers) payloadProblem(p *payloads) error {
	if len(p.refused) == 0 {
		return nil
	}
	detail := i18n.Message("events.api.payload")
	if t := p.against; t.ID != "" {
		detail = i18n.M("events.api.payload-contract", t.ContractID, t.ContractVersion, m.App.Absolute(site.ContractVersionHref(t.ContractID, t.ContractVersion)))
	}
	problem := site.NewProblem(http.StatusBadRequest, "payload-refused", detail)
	problem.Errors = p.refused[:min(len(p.refused), maxAdvice)]
	return problem
}

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
	p := site.NewProblem(http.StatusBadRequest, "profile-refused", "events.api.profile")
	p.Errors = a.refused[:min(len(a.refused), maxAdvice)]
	return p
}

// bindSource decides about an event whose source its client was not
// granted (CE-10): refused rejects it, advised goes out with the answer.
func bindSource(set *profile.ProfileState, err error) (advised i18n.Message, refused error) {
	switch e, _ := errors.AsType[*registry.Error](err); {
	case err == nil || set.SourceBinding == registry.PolicyOff:
		return "", nil
	case set.SourceBinding == registry.PolicyWarn && e != nil:
		return e.Message, nil
	}
	return "", err
}
