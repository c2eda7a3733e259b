package contract

import (
	"regexp"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Contracts write patterns in the language of ECMA-262, which has look-around, back references and escapes that Go has
// not. Those are not run here, only held against the grammar: each such part is replaced by one that Go knows.
var ecmaOnly = sync.OnceValue(func() []substitution {
	return []substitution{
		{regexp.MustCompile(`\\(?:u\{[0-9a-fA-F]+\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|c[A-Za-z]|[1-9][0-9]*|k<\w+>)`), "a"},
		{regexp.MustCompile(`\\0`), `\x00`},
		{regexp.MustCompile(`\\([/\-_#%&,:;<=>@!"'~ ` + "`" + `])`), `a`},
		{regexp.MustCompile(`\(\?(?:<?[=!]|<[A-Za-z_$][\w$]*>)`), `(?:`},
		{regexp.MustCompile(`\[\^\]`), `[a]`},
		{regexp.MustCompile(`\{(\d+)(,?)(\d*)\}`), `{1}`},
		{regexp.MustCompile(`\\[pP]\{[^}]*\}`), `a`},
	}
})

type substitution struct {
	find *regexp.Regexp
	with string
}

// grammarOnly stands in for a pattern that only ECMA-262 engines run; it matches everything.
type grammarOnly string

// MatchString implements jsonschema.Regexp.
func (grammarOnly) MatchString(string) bool { return true }

// String gives the pattern as written.
func (g grammarOnly) String() string { return string(g) }

// ecmaRegexp compiles a pattern, or fails when it is a pattern neither for Go nor for ECMA-262.
func ecmaRegexp(pattern string) (jsonschema.Regexp, error) {
	compiled, err := regexp.Compile(pattern)
	if err == nil {
		return compiled, nil
	}
	rewritten := pattern
	for _, s := range ecmaOnly() {
		rewritten = s.find.ReplaceAllString(rewritten, s.with)
	}
	if _, second := regexp.Compile(rewritten); second != nil {
		return nil, err
	}
	return grammarOnly(pattern), nil
}
