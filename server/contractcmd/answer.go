package contractcmd

import "schakel/registry/contracts/compare"

// differenceAnswer holds the changes in the JSON form of the register.
type differenceAnswer struct {
	From             string         `json:"from"`
	To               string         `json:"to"`
	Level            string         `json:"level,omitempty"`
	SuggestedVersion string         `json:"suggestedVersion,omitempty"`
	Counts           countsAnswer   `json:"counts"`
	Changes          []changeAnswer `json:"changes"`
}

type countsAnswer struct {
	Breaking int `json:"breaking"`
	Warning  int `json:"warning"`
	Info     int `json:"info"`
}

type changeAnswer struct {
	Level       string   `json:"level"`
	Code        string   `json:"code"`
	Pointer     string   `json:"pointer"`
	Removed     bool     `json:"removed,omitempty"`
	OldPointer  string   `json:"oldPointer,omitempty"`
	NewPointer  string   `json:"newPointer,omitempty"`
	Direction   string   `json:"direction,omitempty"`
	Side        string   `json:"side"`
	Subjects    []string `json:"subjects"`
	Text        string   `json:"text"`
	Explanation string   `json:"explanation"`
	Cause       string   `json:"cause"`
	EventTypes  []string `json:"eventTypes,omitempty"`
}

func (d difference) answer() differenceAnswer {
	a := differenceAnswer{
		From: d.before.name, To: d.after.name, Level: string(compare.Worst(d.changes)), SuggestedVersion: d.suggested(),
		Counts: countsAnswer{d.count(compare.Breaking), d.count(compare.Warning), d.count(compare.Info)}, Changes: []changeAnswer{},
	}
	for _, c := range d.changes {
		a.Changes = append(a.Changes, changeAnswer{
			Level: string(c.Level), Code: c.Code, Pointer: c.Pointer, Removed: c.Removed, Side: c.Side,
			OldPointer: c.OldPointer, NewPointer: c.NewPointer, Direction: c.Direction,
			Subjects: append([]string{}, c.Subjects...), Text: c.Text, Explanation: c.Why, Cause: c.Cause, EventTypes: c.EventTypes,
		})
	}
	return a
}
