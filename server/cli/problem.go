package cli

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Problem describes why a request did not succeed (RFC 9457).
type Problem struct {
	Title  string         `json:"title"`
	Detail string         `json:"detail"`
	Code   string         `json:"code"`
	Errors []ProblemError `json:"errors"`
}

// ProblemError names one fault in the request.
type ProblemError struct {
	Pointer  string `json:"pointer,omitempty"`
	Line     int    `json:"line,omitempty"`
	Column   int    `json:"column,omitempty"`
	Severity string `json:"severity,omitempty"`
	Code     string `json:"code"`
	Detail   string `json:"detail"`
}

// Problem reads the problem+json of an answer; an answer of another kind gives an empty one.
func (a Answer) Problem() (p Problem) {
	if json.Unmarshal(a.Body, &p) != nil {
		return Problem{}
	}
	return p
}

// Refusal returns an answer as an error in one line.
func (a Answer) Refusal() error {
	p := a.Problem()
	text := strings.TrimSpace(p.Detail)
	if text == "" {
		return fmt.Errorf("the register answers with status %d", a.Status)
	}
	for _, e := range p.Errors {
		text += " " + strings.TrimSpace(strings.TrimPrefix(e.Pointer, "/")+": "+e.Detail)
	}
	return fmt.Errorf("the register answers with status %d: %s", a.Status, text)
}
