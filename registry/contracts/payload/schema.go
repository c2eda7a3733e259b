package payload

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"runtime"
	"slices"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Schema is a compiled schema, for use by many at once.
type Schema struct {
	source string
	// Each copy counts the steps of one check at a time.
	free, room chan *instance
	unchecked  []string
}

type instance struct {
	compiled *jsonschema.Schema
	steps    int // that are left
}

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

// stepFormat is the format that every schema without one gets, so that looking at it can be counted: of all keywords that call us,
// format is the one that comes before anything is looked at below. Formats that are known count as well.
const stepFormat = "schakel-step"

// outOfSteps ends a check that takes too much.
type outOfSteps struct{}

func (i *instance) formats() []*jsonschema.Format {
	list := []*jsonschema.Format{{Name: stepFormat, Validate: i.step}}
	for _, f := range knownFormats() {
		list = append(list, &jsonschema.Format{Name: f.Name, Validate: func(v any) error {
			_ = i.step(v) // never fails
			return f.Validate(v)
		}})
	}
	return list
}

// step counts the steps to look at a value.
func (i *instance) step(value any) error {
	if i.steps -= cost(value); i.steps < 0 {
		panic(outOfSteps{}) // the library has no other way to be stopped; check recovers
	}
	return nil
}

// cost estimates the steps to look at a value.
func cost(value any) int {
	switch v := value.(type) {
	case string:
		return 1 + len(v)/64
	case map[string]any:
		return 1 + len(v)
	case []any:
		return 1 + len(v)
	}
	return 1
}

// known lists the formats that the library checks. It runs regular expressions for format regex too, which is left out: it would
// compile what an event says.
var known = []string{
	"json-pointer", "relative-json-pointer", "uuid", "duration", "period", "ipv4", "ipv6", "hostname", "email", "date", "time",
	"date-time", "uri", "iri", "uri-reference", "iri-reference", "uri-template", "semver",
}

// knownFormats returns the library's own checks of the formats that are known. It keeps them to itself, but for those of a schema.
var knownFormats = sync.OnceValue(func() []*jsonschema.Format {
	list := make([]*jsonschema.Format, len(known))
	for i, name := range known {
		c := jsonschema.NewCompiler()
		c.AssertFormat()
		if err := c.AddResource(address, map[string]any{"format": name}); err != nil {
			panic("schema of a format: " + err.Error())
		}
		if list[i] = c.MustCompile(address).Format; list[i] == nil {
			panic("the library does not check format " + name)
		}
	}
	return list
})

// maxSchemaDepth bounds how deep schemas are followed; the parser of contracts has a smaller one.
const maxSchemaDepth = 2_000

// countSteps copies a schema with a step in each schema in it.
func countSteps(value any, depth int) any {
	object, ok := value.(map[string]any)
	if !ok || depth > maxSchemaDepth {
		return value
	}
	copied := maps.Clone(object)
	for key, v := range object {
		switch key {
		case "items", "additionalItems", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames",
			"unevaluatedItems", "unevaluatedProperties", "contentSchema", "allOf", "anyOf", "oneOf", "prefixItems":
			copied[key] = countOneOrAll(v, depth+1)
		case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies":
			copied[key] = countEach(v, depth+1)
		}
	}
	if format, ok := object["format"].(string); !ok || !slices.Contains(known, format) {
		copied["format"] = stepFormat
	}
	return copied
}

func countOneOrAll(value any, depth int) any {
	list, ok := value.([]any)
	if !ok {
		return countSteps(value, depth)
	}
	copied := make([]any, len(list))
	for i, item := range list {
		copied[i] = countSteps(item, depth)
	}
	return copied
}

func countEach(value any, depth int) any {
	object, ok := value.(map[string]any)
	if !ok {
		return value
	}
	copied := make(map[string]any, len(object))
	for name, item := range object {
		copied[name] = countSteps(item, depth)
	}
	return copied
}
