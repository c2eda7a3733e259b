package filter

import (
	"slices"
	"strings"
	"testing"
)

func TestWords(t *testing.T) {
	t.Parallel()
	tests := []struct{ filters, want string }{
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
	}
	for _, tt := range tests {
		f, err := Parse([]byte(tt.filters))
		if got := strings.Join(f.Words(), "; "); err != nil || got != tt.want {
			t.Errorf("%s: %s (%v), want %s", tt.filters, got, err, tt.want)
		}
	}
}

func TestSplitAndJoin(t *testing.T) {
	t.Parallel()
	any := `{"any":[{"exact":{"type":"a"}}, {"exact":{"type":"<b>"}}]}`
	tests := []struct {
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
	}
	for _, tt := range tests {
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
