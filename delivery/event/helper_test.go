package event

import (
	"errors"
	"net/http"
	"slices"
	"testing"
)

// with returns a minimal event in JSON with more members behind it.
func with(members string) string {
	if members != "" {
		members = "," + members
	}
	return `{"specversion":"1.0","id":"1","source":"urn:nld:oin:00000001823288444000:systeem:BRP","type":"nl.brp.persoon-verhuisd"` + members + `}`
}

// ceHeader returns the headers of a minimal binary event and more pairs.
func ceHeader(pairs ...string) http.Header {
	header := http.Header{}
	for _, pair := range [][2]string{
		{"Ce-Specversion", "1.0"},
		{"Ce-Id", "1"},
		{"Ce-Source", "urn:nld:oin:00000001823288444000:systeem:BRP"},
		{"Ce-Type", "nl.brp.persoon-verhuisd"},
	} {
		header.Set(pair[0], pair[1])
	}
	for i := 0; i < len(pairs); i += 2 {
		header.Set(pairs[i], pairs[i+1])
	}
	return header
}

func accept(t *testing.T, body string) Event {
	t.Helper()
	e, err := ParseJSON([]byte(body), Limits{})
	if err != nil {
		t.Fatalf("ParseJSON(%q): %v", body, err)
	}
	return e
}

// problemsOf returns the problems of err and fails when it is no *Invalid.
func problemsOf(t *testing.T, err error) []Problem {
	t.Helper()
	var invalid *Invalid
	if !errors.As(err, &invalid) {
		t.Fatalf("got error %v, want *Invalid", err)
	}
	if len(invalid.Problems) == 0 {
		t.Fatal("an Invalid without problems")
	}
	return invalid.Problems
}

// wantProblem checks for exactly one problem, about this attribute and of this code.
func wantProblem(t *testing.T, err error, attribute, code string) Problem {
	t.Helper()
	problems := problemsOf(t, err)
	if len(problems) != 1 || problems[0].Attribute != attribute || problems[0].Code != code {
		t.Fatalf("got %+v, want one problem %s of %q", problems, code, attribute)
	}
	if problems[0].Detail == "" {
		t.Error("a problem without a remedy")
	}
	return problems[0]
}

func codes(problems []Problem) []string {
	list := make([]string, 0, len(problems))
	for _, problem := range problems {
		list = append(list, problem.Attribute+" "+problem.Code)
	}
	slices.Sort(list)
	return list
}
