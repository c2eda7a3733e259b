package event

import (
	"errors"
	"strings"
	"testing"
)

func wantTooLarge(t *testing.T, err error, want TooLarge) {
	t.Helper()
	var tooLarge *TooLarge
	if !errors.Is(err, ErrTooLarge) || !errors.As(err, &tooLarge) || *tooLarge != want {
		t.Errorf("got %v, want %+v", err, want)
	}
}

// Rules: CE-56.
func TestBatch(t *testing.T) {
	t.Parallel()
	for body, count := range map[string]int{
		`[]`: 0, " [ ] \n": 0, `[` + with("") + `]`: 1, "[ " + with("") + " ,\n" + with(`"data":[{}]`) + " ]": 2,
	} {
		events, err := ParseBatch([]byte(body), Limits{})
		if err != nil || len(events) != count {
			t.Errorf("CE-56 %s: %d events, %v", body, len(events), err)
		}
	}
}

// Rules: CE-56, CE-57.
func TestBatchRefused(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, body string
		want       Problem
	}{
		{"CE-56 mixed specversion", "[" + with("") + "," + strings.Replace(with(""), `"1.0"`, `"0.9"`, 1) + "]", Problem{Index: 1, Attribute: "specversion", Pointer: "/1/specversion", Code: CodeSpecVersion}},
		{"CE-56 no object", `["not an object",` + with("") + "]", Problem{Index: 0, Pointer: "/0", Code: CodeNotObject}},
		{"CE-56 no array", with(""), Problem{Index: -1, Code: CodeNotArray}},
		{"CE-56 null", "null", Problem{Index: -1, Code: CodeNotArray}},
		{"CE-57 one bad time", "[" + with("") + "," + with("") + "," + with("") + "," + with(`"time":"x"`) + "]", Problem{Index: 3, Attribute: "time", Pointer: "/3/time", Code: CodeTime}},
		{"CE-57 duplicate names per event only", "[" + with("") + "," + with(`"id":"1"`) + "]", Problem{Index: 1, Attribute: "id", Pointer: "/1/id", Code: CodeDuplicate}},
		{"CE-60 empty body", "", Problem{Index: -1, Code: CodeEmptyBody}},
		{"CE-44 trailing comma", "[" + with("") + ",]", Problem{Index: 1, Pointer: "/1", Code: CodeSyntax}},
		{"CE-44 trailing bytes", "[] []", Problem{Index: -1, Code: CodeSyntax}},
		{"CE-44 breaks off", "[" + with(""), Problem{Index: -1, Code: CodeSyntax}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			events, err := ParseBatch([]byte(test.body), Limits{})
			got := wantProblem(t, err, test.want.Attribute, test.want.Code)
			if got.Index != test.want.Index || got.Pointer != test.want.Pointer || events != nil {
				t.Errorf("got %+v and %d events", got, len(events))
			}
		})
	}
}

func TestBatchCollects(t *testing.T) {
	t.Parallel()
	_, err := ParseBatch([]byte(`[{"specversion":"1.0","id":"1","source":"a"},`+with("")+`,{"specversion":"1.0","source":"a","type":"b.c"}]`), Limits{})
	problems := problemsOf(t, err)
	if len(problems) != 2 || problems[0].Pointer != "/0/type" || problems[1].Pointer != "/2/id" {
		t.Errorf("got %+v", problems)
	}
}

// Rules: CE-56.
func TestBatchLimits(t *testing.T) {
	t.Parallel()
	body := "[" + strings.Repeat(with("")+",", 100) + with("") + "]"
	_, err := ParseBatch([]byte(body), Limits{})
	wantTooLarge(t, err, TooLarge{"batch events", -1, 100, 101})
	if events, err := ParseBatch([]byte(body), Limits{BatchEvents: 101}); err != nil || len(events) != 101 {
		t.Errorf("%d events, %v", len(events), err)
	}
	large := strings.Repeat(" ", 1<<20)
	_, err = ParseBatch([]byte(large+"[]"), Limits{})
	wantTooLarge(t, err, TooLarge{"batch bytes", -1, 1 << 20, 1<<20 + 2})
}
