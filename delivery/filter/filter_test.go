package filter

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
)

func event(name string) (string, bool) {
	value, ok := map[string]string{"type": "nl.example.student.v1", "source": "urn:nld:oin:1", "subject": "4711", "grade": "7"}[name]
	return value, ok
}

// Rules: CE-80, OPEN-11, EDU-N08.
func TestDialects(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		filters string
		want    bool
	}{
		{``, true},
		{`null`, true},
		{`[]`, true},
		{`[{"exact":{"type":"nl.example.student.v1"}}]`, true},
		{`[{"exact":{"type":"nl.example.student"}}]`, false},
		{`[{"exact":{"type":"nl.example.student.v1","subject":"4711"}}]`, true},
		{`[{"exact":{"type":"nl.example.student.v1","subject":"4712"}}]`, false},
		{`[{"exact":{"missing":"x"}}]`, false},
		{`[{"not":{"exact":{"missing":"x"}}}]`, true},
		{`[{"prefix":{"type":"nl.example."}}]`, true},
		{`[{"prefix":{"type":"nl.Example."}}]`, false},
		{`[{"suffix":{"type":".v1"}}]`, true},
		{`[{"suffix":{"type":".v2"}}]`, false},
		{`[{"exact":{"grade":"7"}}]`, true},
		{`[{"all":[{"prefix":{"type":"nl."}},{"suffix":{"type":".v1"}}]}]`, true},
		{`[{"all":[{"prefix":{"type":"nl."}},{"suffix":{"type":".v2"}}]}]`, false},
		{`[{"any":[{"prefix":{"type":"no."}},{"suffix":{"type":".v1"}}]}]`, true},
		{`[{"any":[{"prefix":{"type":"no."}}]}]`, false},
		{`[{"not":{"any":[{"prefix":{"type":"no."}}]}}]`, true},
		{`[{"prefix":{"type":"nl."}},{"exact":{"subject":"1"}}]`, false},
	} {
		f, err := Parse([]byte(tt.filters))
		if err != nil {
			t.Errorf("%s: %v", tt.filters, err)
		} else if got := f.Match(event); got != tt.want {
			t.Errorf("%s: match %t, want %t", tt.filters, got, tt.want)
		}
	}
}

func TestBrokenFilterNamesItsPlace(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ filters, pointer string }{
		{`{"exact":{}}`, ""},
		{`[`, ""},
		{`[5]`, "/0"},
		{`[{}]`, "/0"},
		{`[{"exact":{"type":"a"},"prefix":{"type":"a"}}]`, "/0"},
		{`[{"exact":{"type":"a"},"exact":{"type":"b"}}]`, "/0"},
		{`[{"sql":"type = 'a'"}]`, "/0/sql"},
		{`[{"exact":{}}]`, "/0/exact"},
		{`[{"exact":{"type":"a"}},{"exact":{"Type":"a"}}]`, "/1/exact"},
		{`[{"exact":{"data":"a"}}]`, "/0/exact"},
		{`[{"exact":{"type":""}}]`, "/0/exact/type"},
		{`[{"exact":{"type":5}}]`, "/0/exact/type"},
		{`[{"all":[]}]`, "/0/all"},
		{`[{"any":[{"exact":{"type":"a"}},{"all":{}}]}]`, "/0/any/1/all"},
		{`[{"not":[{"exact":{"type":"a"}}]}]`, "/0/not"},
	} {
		_, err := Parse([]byte(tt.filters))
		var e *Error
		if !errors.As(err, &e) || e.Pointer != tt.pointer || e.Detail == "" {
			t.Errorf("%s: error %v, want one at %q", tt.filters, err, tt.pointer)
		}
	}
	if _, err := Parse([]byte(strings.Repeat(`[{"not":`, 1) + strings.Repeat(`{"not":`, 50) + `{"exact":{"type":"a"}}` + strings.Repeat(`}`, 51) + `]`)); err == nil {
		t.Error("50 levels were taken")
	}
}

func TestExactValueForAnIndex(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		filters, want string
		found         bool
	}{
		{`[{"exact":{"subject":"4711"}}]`, "4711", true},
		{`[{"prefix":{"type":"nl."}},{"all":[{"exact":{"type":"a","subject":"4711"}}]}]`, "4711", true},
		{`[{"any":[{"exact":{"subject":"4711"}}]}]`, "", false},
		{`[{"not":{"exact":{"subject":"4711"}}}]`, "", false},
		{`[{"prefix":{"subject":"4711"}}]`, "", false},
		{`[]`, "", false},
	} {
		f, err := Parse([]byte(tt.filters))
		if got, found := f.Exact("subject"); err != nil || got != tt.want || found != tt.found {
			t.Errorf("%s: %q %t (%v), want %q %t", tt.filters, got, found, err, tt.want, tt.found)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`[{"all":[{"prefix":{"type":"nl."}},{"not":{"exact":{"subject":"1"}}}]}]`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		parsed, err := Parse(raw)
		if err == nil {
			split, others, splitErr := Split(raw)
			joined, joinErr := Join(split, others)
			again, parseErr := Parse([]byte(joined))
			if splitErr != nil || joinErr != nil || parseErr != nil && len(raw) < maxBytes/4 {
				t.Errorf("%q split and joined to %q: %v, %v, %v", raw, joined, splitErr, joinErr, parseErr)
			} else if parseErr == nil && again.Match(event) != parsed.Match(event) {
				t.Errorf("%q joined to %q matches otherwise", raw, joined)
			}
			parsed.Words()
			if len(raw) > 0 && !json.Valid(raw) && len(strings.TrimSpace(string(raw))) > 0 {
				t.Errorf("took what is not JSON: %q", raw)
			}
		}
	})
}

func TestWords(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ filters, want string }{
		{`[]`, ``},
		{`[{"exact":{"subject":"4711"}}]`, `subject is “4711”`},
		{`[{"prefix":{"type":"nl."}},{"not":{"suffix":{"type":".v1"}}}]`, `type begins with “nl.”; type does not end with “.v1”`},
		{`[{"exact":{"type":"a","subject":"b"}}]`, `type is “a” and subject is “b”`},
		{
			`[{"any":[{"exact":{"type":"a"}},{"all":[{"exact":{"type":"b"}},{"not":{"exact":{"grade":"7"}}}]}]}]`,
			`type is “a” or (type is “b” and grade is not “7”)`,
		},
		{`[{"not":{"any":[{"exact":{"type":"a"}},{"prefix":{"type":"b"}}]}}]`, `not (type is “a” or type begins with “b”)`},
		{`[{"any":[{"all":[{"exact":{"type":"a"}}]}]}]`, `type is “a”`},
	} {
		f, err := Parse([]byte(tt.filters))
		if got := strings.Join(f.Words(), "; "); err != nil || got != tt.want {
			t.Errorf("%s: %s (%v), want %s", tt.filters, got, err, tt.want)
		}
	}
}

func TestSplitAndJoin(t *testing.T) {
	t.Parallel()
	any := `{"any":[{"exact":{"type":"a"}}, {"exact":{"type":"<b>"}}]}`
	for _, tt := range []struct {
		filters string
		simple  []Simple
		others  string
		joined  string
	}{
		{``, nil, ``, ``},
		{`[]`, nil, ``, ``},
		{`[{"exact":{"subject":"<1>"}}]`, []Simple{{"subject", "exact", "<1>", false}}, ``, `[{"exact":{"subject":"<1>"}}]`},
		{
			`[` + any + `,{"not":{"suffix":{"subject":"\"x"}}}]`,
			[]Simple{{"subject", "suffix", `"x`, true}},
			`[` + any + `]`,
			`[{"not":{"suffix":{"subject":"\"x"}}},` + any + `]`,
		},
		{
			`[{"prefix":{"type":"a","subject":"b"}}]`,
			[]Simple{{"type", "prefix", "a", false}, {"subject", "prefix", "b", false}},
			``,
			`[{"prefix":{"type":"a"}},{"prefix":{"subject":"b"}}]`,
		},
		{
			`[{"not":{"exact":{"type":"a","subject":"b"}}}]`, nil, `[{"not":{"exact":{"type":"a","subject":"b"}}}]`,
			`[{"not":{"exact":{"type":"a","subject":"b"}}}]`,
		},
	} {
		simple, others, err := Split([]byte(tt.filters))
		if err != nil || !slices.Equal(simple, tt.simple) || others != tt.others {
			t.Errorf("%s: split into %v and %s (%v)", tt.filters, simple, others, err)
		}
		if joined, err := Join(simple, others); err != nil || joined != tt.joined {
			t.Errorf("%s: joined to %s (%v), want %s", tt.filters, joined, err, tt.joined)
		}
	}
	if _, _, err := Split([]byte(`[{"sql":"x"}]`)); err == nil {
		t.Error("an unknown dialect was split")
	}
}
