package payload

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Schema is a compiled schema, for use by many at once.
type Schema struct {
	source string
	// Each copy counts the steps of one check at a time.
	free, room chan *instance
	unchecked  []string
}

// instance is one compiled copy of a schema.
type instance struct {
	compiled *jsonschema.Schema
	steps    int // that are left
}

// maxInstances bounds the copies of one schema.
const maxInstances = 8

// address identifies a schema to the compiler; nothing is fetched from it.
const address = "https://schakel.invalid/payload"

// Compile compiles a schema that is whole in itself.
func Compile(source string) (*Schema, error) {
	copies := min(runtime.GOMAXPROCS(0), maxInstances)
	s := &Schema{source: source, free: make(chan *instance, copies), room: make(chan *instance, copies)}
	first, unchecked, err := newInstance(source)
	if err != nil {
		return nil, err
	}
	s.unchecked = unchecked
	s.room <- first
	s.free <- first
	return s, nil
}

// Unchecked lists the patterns of the schema that are not run, as they are written there.
func (s *Schema) Unchecked() []string { return s.unchecked }

// take takes a copy for one check; give gives it back.
func (s *Schema) take() (*instance, error) {
	select {
	case i := <-s.free:
		return i, nil
	default:
	}
	select {
	case i := <-s.free:
		return i, nil
	case s.room <- nil:
	}
	i, _, err := newInstance(s.source)
	if err != nil {
		<-s.room
	}
	return i, err
}

func (s *Schema) give(i *instance) { s.free <- i }

func newInstance(source string) (*instance, []string, error) {
	decoder := json.NewDecoder(bytes.NewReader([]byte(source)))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, nil, fmt.Errorf("read schema: %w", err)
	}
	i := &instance{}
	var patterns patterns
	c := jsonschema.NewCompiler()
	c.UseLoader(nothing{})
	c.UseRegexpEngine(patterns.compile)
	c.AssertFormat()
	for _, f := range i.formats() {
		c.RegisterFormat(f)
	}
	if err := c.AddResource(address, countSteps(value, 0)); err != nil {
		return nil, nil, fmt.Errorf("add schema: %w", err)
	}
	compiled, err := c.Compile(address)
	if err != nil {
		return nil, nil, fmt.Errorf("compile schema: %w", err)
	}
	i.compiled = compiled
	return i, patterns.unchecked, nil
}

// nothing is a loader that fetches nothing.
type nothing struct{}

var errRemote = errors.New("references to other documents are not followed")

// Load implements jsonschema.URLLoader.
func (nothing) Load(string) (any, error) { return nil, errRemote }

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
