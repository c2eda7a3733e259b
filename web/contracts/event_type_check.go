package contracts

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"schakel/delivery/event"
	"schakel/registry"
	"schakel/registry/contracts"
	"schakel/registry/contracts/contract"
	"schakel/store"
	"schakel/web/site"
)

// MaxCheckedBytes bounds an event that is checked against its contract, in bytes.
const MaxCheckedBytes = 64 << 10

// EventCheck reports the check of an event, or of its data alone, against its contract.
type EventCheck struct {
	Valid bool `json:"valid"`
	// Fits are the versions of the contract that it fits.
	Fits     []string            `json:"fits"`
	Findings []site.ProblemError `json:"findings"`
	Advice   []site.ProblemError `json:"advice"`
}

// CheckEvent checks JSON against the versions of an event type: a CloudEvent in structured
// mode when it has specversion, else data. Nothing is stored of it.
func CheckEvent(payloads *contracts.Payloads, name string, content []byte, versions []store.EventType) (EventCheck, error) {
	answer := EventCheck{Fits: []string{}, Findings: []site.ProblemError{}, Advice: []site.ProblemError{}}
	if !json.Valid(content) {
		answer.add(content, "", site.ProblemError{Code: "json-syntax", Detail: "This is not JSON."})
		return answer, nil
	}
	offer, within := contracts.Offer{JSON: true, Data: content}, ""
	if site.IsWholeEvent(content) {
		e, err := event.ParseJSON(content, event.Limits{EventBytes: MaxCheckedBytes})
		if invalid, ok := errors.AsType[*event.Invalid](err); ok {
			answer.Findings = append(answer.Findings, eventFindings(invalid)...)
			return answer, nil
		}
		if err != nil {
			return answer, err
		}
		if e.Type != name {
			answer.add(content, "/type", site.ProblemError{Attribute: "type", Code: "type-differs", Detail: "This is an event of type " + site.Shown(e.Type) + "."})
			return answer, nil
		}
		offer, within = site.OfferOf(&e), "/data"
	}
	j, err := payloads.Judge(offer, versions)
	if err != nil {
		return answer, err
	}
	for _, t := range j.Fits {
		answer.Fits = append(answer.Fits, t.ContractVersion)
	}
	for _, m := range j.Misfits {
		at := "/" + m.Attribute + m.Pointer
		if m.Attribute == "data" {
			at = within + m.Pointer
		}
		answer.add(content, at, site.ProblemError{Attribute: m.Attribute, Code: m.Code, Detail: m.Detail})
	}
	for _, n := range j.Notes {
		answer.Advice = append(answer.Advice, site.ProblemError{Attribute: n.Attribute, Code: n.Code, Detail: n.Detail})
	}
	answer.Valid = len(answer.Findings) == 0
	return answer, nil
}

// add adds a finding with its place in what was tried.
func (t *EventCheck) add(content []byte, pointer string, found site.ProblemError) {
	found.Pointer = pointer
	if json.Valid(content) {
		found.Line, found.Column = contract.LocateJSON(content, pointer)
	}
	t.Findings = append(t.Findings, found)
}

func eventFindings(invalid *event.Invalid) []site.ProblemError {
	var list []site.ProblemError
	for _, p := range invalid.Problems {
		list = append(list, site.ProblemError{Attribute: p.Attribute, Pointer: p.Pointer, Line: p.Line, Column: p.Column, Code: p.Code, Detail: site.Capital(p.Detail) + "."})
	}
	return list
}

// VersionsIn are all versions of lines, in the order the check wants them: published
// ones first, newest first.
func VersionsIn(lines []registry.VersionLineOf) []store.EventType {
	var all []store.EventType
	for _, l := range lines {
		all = append(all, l.Versions...)
	}
	slices.SortStableFunc(all, func(a, b store.EventType) int {
		if a.Status != b.Status {
			return -strings.Compare(a.Status, b.Status) // published, deprecated
		}
		return strings.Compare(b.SortKey, a.SortKey)
	})
	return all
}
