package web

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
)

// maxCheckedBytes bounds an event that is checked against its contract, in bytes.
const maxCheckedBytes = 64 << 10

// eventCheck reports the check of an event, or of its data alone, against its contract.
type eventCheck struct {
	Valid bool `json:"valid"`
	// Fits are the versions of the contract that it fits.
	Fits     []string       `json:"fits"`
	Findings []ProblemError `json:"findings"`
	Advice   []ProblemError `json:"advice"`
}

// checkEvent checks JSON against the versions of an event type: a CloudEvent in structured
// mode when it has specversion, else data. Nothing is stored of it.
func checkEvent(payloads *contracts.Payloads, name string, content []byte, versions []store.EventType) (eventCheck, error) {
	answer := eventCheck{Fits: []string{}, Findings: []ProblemError{}, Advice: []ProblemError{}}
	if !json.Valid(content) {
		answer.add(content, "", ProblemError{Code: "json-syntax", Detail: "This is not JSON."})
		return answer, nil
	}
	offer, within := contracts.Offer{JSON: true, Data: content}, ""
	if isWholeEvent(content) {
		e, err := event.ParseJSON(content, event.Limits{EventBytes: maxCheckedBytes})
		if invalid, ok := errors.AsType[*event.Invalid](err); ok {
			answer.Findings = append(answer.Findings, eventFindings(invalid)...)
			return answer, nil
		}
		if err != nil {
			return answer, err
		}
		if e.Type != name {
			answer.add(content, "/type", ProblemError{Attribute: "type", Code: "type-differs", Detail: "This is an event of type " + shown(e.Type) + "."})
			return answer, nil
		}
		offer, within = offerOf(&e), "/data"
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
		answer.add(content, at, ProblemError{Attribute: m.Attribute, Code: m.Code, Detail: m.Detail})
	}
	for _, n := range j.Notes {
		answer.Advice = append(answer.Advice, ProblemError{Attribute: n.Attribute, Code: n.Code, Detail: n.Detail})
	}
	answer.Valid = len(answer.Findings) == 0
	return answer, nil
}

// add adds a finding with its place in what was tried.
func (t *eventCheck) add(content []byte, pointer string, found ProblemError) {
	found.Pointer = pointer
	if json.Valid(content) {
		found.Line, found.Column = contract.LocateJSON(content, pointer)
	}
	t.Findings = append(t.Findings, found)
}

func eventFindings(invalid *event.Invalid) []ProblemError {
	var list []ProblemError
	for _, p := range invalid.Problems {
		list = append(list, ProblemError{Attribute: p.Attribute, Pointer: p.Pointer, Line: p.Line, Column: p.Column, Code: p.Code, Detail: capital(p.Detail) + "."})
	}
	return list
}

// isWholeEvent distinguishes a CloudEvent from its data: data rarely has a specversion.
func isWholeEvent(content []byte) bool {
	var members map[string]json.RawMessage
	return json.Unmarshal(content, &members) == nil && members["specversion"] != nil
}

// versionsIn are all versions of lines, in the order the check wants them: published
// ones first, newest first.
func versionsIn(lines []registry.VersionLineOf) []store.EventType {
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
