package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"schakel/delivery/event"
	"schakel/registry"
	"schakel/registry/contracts"
	"schakel/registry/profile"
	"schakel/store"
)

// errNoVersions keeps a type without versions from being remembered, so that a
// publication counts at once.
var errNoVersions = errors.New("no version defines this event type")

// typeVersions are the versions in which a type can be used; none for a type that no
// published or deprecated contract defines.
func (m *machineAPI) typeVersions(ctx context.Context, name string) ([]store.EventType, error) {
	found, err := m.types.get(ctx, name, func(ctx context.Context, name string) ([]store.EventType, error) {
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
	refused  []ProblemError
	against  store.EventType // the first version that was not met
}

// checkPayload checks an event against the versions of its type (CE-15, CE-18), and records the
// outcome. Warnings that do not refuse it go to findings.
func (m *machineAPI) checkPayload(set *profile.ProfileState, at place, e *event.Event, versions []store.EventType, p *payloads, findings *advice) error {
	if set.Payload == registry.PolicyOff || len(versions) == 0 {
		p.versions = append(p.versions, m.Registry.Payloads.NamedOnly(e.DataSchema, versions))
		return nil
	}
	j, err := m.Registry.Payloads.Judge(offerOf(e), versions)
	if err != nil {
		return err
	}
	p.versions = append(p.versions, j.Versions())
	for _, note := range j.Notes {
		findings.warnings = append(findings.warnings, at.problem(note.Attribute, note.Detail).coded(note.Code))
	}
	if len(j.Misfits) > 0 && p.against.ID == "" {
		p.against = j.Against
	}
	for _, misfit := range j.Misfits {
		entry := at.problem(misfit.Attribute, misfit.Detail).coded(misfit.Code)
		entry.Pointer += misfit.Pointer
		if set.Payload == registry.PolicyWarn {
			findings.warnings = append(findings.warnings, entry)
		} else {
			p.refused = append(p.refused, entry)
		}
	}
	return nil
}

// offerOf describes the data of an event by its attributes.
func offerOf(e *event.Event) contracts.Offer {
	_, elsewhere := e.Extension("dataref")
	return contracts.Offer{
		DataSchema: e.DataSchema, ContentType: e.DataContentType, Data: e.Data, Empty: e.DataKind == event.DataNone, Elsewhere: elsewhere,
		JSON: e.DataKind == event.DataJSON || e.DataKind == event.DataBinary && saysJSON(e.DataContentType),
	}
}

// saysJSON reports whether bytes are declared to be JSON.
func saysJSON(contentType string) bool {
	kind, _, _ := strings.Cut(strings.ToLower(contentType), ";")
	kind = strings.TrimSpace(kind)
	return kind == "application/json" || kind == "text/json" || strings.HasSuffix(kind, "+json")
}

// err is the answer to events that do not fit their contract; nil when all do.
func (m *machineAPI) payloadProblem(p *payloads) error {
	if len(p.refused) == 0 {
		return nil
	}
	detail := "These events do not fit their contract; the errors say where. Nothing of this request was stored. Mend them and send them under a new Idempotency-Key."
	if t := p.against; t.ID != "" {
		detail += fmt.Sprintf(" The contract is %s version %s: %s", t.ContractID, t.ContractVersion, m.app.absolute(contractVersionHref(t.ContractID, t.ContractVersion)))
	}
	problem := newProblem(http.StatusBadRequest, "payload-refused", detail)
	problem.Errors = p.refused[:min(len(p.refused), maxAdvice)]
	return problem
}
