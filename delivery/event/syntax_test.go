package event

import (
	"slices"
	"strings"
	"testing"
)

// Rules: CE-44, CE-60.
func TestSyntax(t *testing.T) {
	t.Parallel()
	deep := with(`"data":` + strings.Repeat("[", 128) + strings.Repeat("]", 128))
	tests := []struct {
		name, body, code string
		line, column     int
	}{
		{"CE-60 empty body", "", CodeEmptyBody, 0, 0},
		{"CE-44 white space only", " \n ", CodeSyntax, 2, 2},
		{"CE-44 trailing bytes", "{}\n x", CodeSyntax, 2, 2},
		{"CE-44 two events", with("") + with(""), CodeSyntax, 1, len(with("")) + 1},
		{"CE-44 trailing comma", `{"id":"1",}`, CodeSyntax, 1, 11},
		{"CE-44 comma before the first", `{,"id":"1"}`, CodeSyntax, 1, 2},
		{"CE-44 no colon", `{"id" "1"}`, CodeSyntax, 1, 7},
		{"CE-44 name without quotes", `{id:"1"}`, CodeSyntax, 1, 2},
		{"CE-44 breaks off", `{"id":"1"`, CodeSyntax, 1, 10},
		{"CE-44 breaks off in a string", `{"é":"1`, CodeSyntax, 1, 8},
		{"CE-44 breaks off after the colon", `{"data_base64":`, CodeSyntax, 1, 16},
		{"CE-44 bare control character", "{\"id\":\"a\tb\"}", CodeSyntax, 1, 9},
		{"CE-44 unknown escape", `{"id":"\x41"}`, CodeSyntax, 1, 8},
		{"CE-44 broken unicode escape", `{"id":"\u12G4"}`, CodeSyntax, 1, 8},
		{"CE-44 leading zero", `{"ext":012}`, CodeSyntax, 1, 9},
		{"CE-44 plus sign", `{"ext":+1}`, CodeSyntax, 1, 8},
		{"CE-44 minus alone", `{"ext":-}`, CodeSyntax, 1, 9},
		{"CE-44 point without digits", `{"data":1.}`, CodeSyntax, 1, 11},
		{"CE-44 exponent without digits", `{"data":1e+}`, CodeSyntax, 1, 12},
		{"CE-44 NaN", `{"data":NaN}`, CodeSyntax, 1, 9},
		{"CE-44 word with a tail", `{"ext":trueish}`, CodeSyntax, 1, 12},
		{"CE-44 comment", `{"id":"1" /* one */}`, CodeSyntax, 1, 11},
		{"CE-44 single quotes", `{'id':'1'}`, CodeSyntax, 1, 2},
		{"CE-44 broken array in data", `{"data":[1 2]}`, CodeSyntax, 1, 12},
		{"CE-44 byte order mark", "\uFEFF{}", CodeSyntax, 1, 1},
		{"CE-44 stray byte", "{\"id\":\"\n\xFF\"}", CodeUTF8, 2, 1},
		{"CE-44 overlong", "{\"id\":\"\xC0\xA0\"}", CodeUTF8, 1, 8},
		{"CE-44 surrogate in UTF-8", "{\"data\":\"\xED\xA0\x80\"}", CodeUTF8, 1, 10},
		{"CE-44 nesting", deep, CodeDepth, 1, strings.Index(deep, "[") + 128},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := ParseJSON([]byte(test.body), Limits{})
			problems := problemsOf(t, err)
			last := problems[len(problems)-1]
			if last.Code != test.code || last.Line != test.line || last.Column != test.column {
				t.Errorf("got %+v, want %s at %d:%d", last, test.code, test.line, test.column)
			}
		})
	}
}

func TestNotAnEvent(t *testing.T) {
	t.Parallel()
	for _, body := range []string{`[]`, `"text"`, `5`, `null`, `true`} {
		_, err := ParseJSON([]byte(body), Limits{})
		wantProblem(t, err, "", CodeNotObject)
	}
}

func TestDeepestDataPasses(t *testing.T) {
	t.Parallel()
	accept(t, with(`"data":`+strings.Repeat("[", 127)+strings.Repeat("]", 127)))
	_, err := ParseJSON([]byte(with(`"data":[[]]`)), Limits{Depth: 2})
	wantProblem(t, err, "", CodeDepth)
}

// All mistakes of an event come in one answer (CE-57 wants them per index).
func TestAllProblemsAtOnce(t *testing.T) {
	t.Parallel()
	_, err := ParseJSON([]byte("{\n \"id\":5, \"source\":\"a b\",\n \"Ext\":1, \"time\":\"x\", \"a/b~c\":1, \"data\":1, \"data_base64\":2}"), Limits{})
	got := codes(problemsOf(t, err))
	want := []string{
		"Ext attribute-name", "a/b~c attribute-name", "data_base64 data-twice", "id attribute-type", "source uri-reference",
		"specversion attribute-missing", "time time", "type attribute-missing",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	for _, problem := range problemsOf(t, err) {
		if problem.Attribute == "a/b~c" && problem.Pointer != "/a~1b~0c" {
			t.Errorf("pointer is %q", problem.Pointer)
		}
		if problem.Attribute == "source" && (problem.Line != 2 || problem.Column != 19) {
			t.Errorf("source is at %d:%d", problem.Line, problem.Column)
		}
	}
}

func TestProblemsAreBounded(t *testing.T) {
	t.Parallel()
	body := "[" + strings.Repeat(`{"x":"\uD800"},`, 90) + `{}` // 5 mistakes each, and it breaks off
	_, err := ParseBatch([]byte(body), Limits{})
	problems := problemsOf(t, err)
	if len(problems) != maxProblems || problems[maxProblems-1].Code != CodeSyntax {
		t.Errorf("got %d problems, the last %+v", len(problems), problems[len(problems)-1])
	}
}

func TestAttributeCount(t *testing.T) {
	t.Parallel()
	_, err := ParseJSON([]byte(with(`"a":1,"b":2,"c":3,"d":4`)), Limits{Attributes: 4})
	wantProblem(t, err, "", CodeCount)
}
