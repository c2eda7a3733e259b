package payload

import (
	"regexp"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// patterns compiles patterns, and keeps those that Go cannot run.
type patterns struct{ unchecked []string }

// ecmaEscapes are escapes of ECMA-262 that Go writes in another way.
var ecmaEscapes = regexp.MustCompile(`\\(?:\\|u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]+)\})`)

func (p *patterns) compile(pattern string) (jsonschema.Regexp, error) {
	compiled, err := regexp.Compile(ecmaEscapes.ReplaceAllStringFunc(pattern, func(found string) string {
		parts := ecmaEscapes.FindStringSubmatch(found)
		if code := parts[1] + parts[2]; code != "" {
			return `\x{` + code + `}`
		}
		return found
	}))
	if err != nil {
		if !slices.Contains(p.unchecked, pattern) {
			p.unchecked = append(p.unchecked, pattern)
		}
		return anything(pattern), nil
	}
	return written{compiled, pattern}, nil
}

// written matches as compiled, and shows itself as the contract writes it.
type written struct {
	*regexp.Regexp
	pattern string
}

// String gives the pattern as written.
func (w written) String() string { return w.pattern }

// anything stands in for a pattern that cannot be run.
type anything string

// MatchString implements jsonschema.Regexp.
func (anything) MatchString(string) bool { return true }

// String gives the pattern as written.
func (a anything) String() string { return string(a) }
