package contract

import (
	"compress/gzip"
	"embed"
	"fmt"
	"regexp"
	"sync"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/message"
)

// schemaFiles holds the official schemas, compressed; schemas/README.md names their origin and licences.
//
//go:embed schemas/*.json.gz
var schemaFiles embed.FS

// official gives the compiled schema of a kind and release such as "openapi-3.1".
var official = func() map[string]func() (*officialSchema, error) {
	list := map[string]func() (*officialSchema, error){}
	for _, name := range []string{"openapi-3.0", "openapi-3.1", "openapi-3.2", "asyncapi-2.6", "asyncapi-3.0", "asyncapi-3.1"} {
		list[name] = (&idling{name: name}).get
	}
	return list
}()

// officialSchema is a compiled schema with its source, in which the names that are allowed can be looked up.
type officialSchema struct {
	whole *jsonschema.Schema
	// plain leaves Schema Objects unchecked, for documents that choose a dialect of their own; nil where there is none.
	plain  *jsonschema.Schema
	source any
}

const schemaBase = "https://schakel.invalid/"

func compile(name string) (*officialSchema, error) {
	source, err := schemaFile(name)
	if err != nil {
		return nil, err
	}
	s := &officialSchema{source: source}
	if name == "openapi-3.1" || name == "openapi-3.2" {
		if s.plain, err = compileSource(name, source); err != nil {
			return nil, err
		}
		// The published file leaves Schema Objects open; joined with the dialect they are checked too.
		definitions := source.(map[string]any)["$defs"].(map[string]any)
		definitions["schema"] = map[string]any{"$dynamicAnchor": "meta", "$ref": dialect(name)}
	}
	s.whole, err = compileSource(name, source)
	return s, err
}

// dialect is the address of the schema dialect of an OpenAPI release, as its own documents write it.
func dialect(name string) string {
	if name == "openapi-3.1" {
		return "https://spec.openapis.org/oas/3.1/dialect/base"
	}
	return "https://spec.openapis.org/oas/3.2/dialect"
}

func compileSource(name string, source any) (*jsonschema.Schema, error) {
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	c.UseRegexpEngine(ecmaRegexp)
	c.UseLoader(sealed{})
	c.RegisterVocabulary(nameVocabulary())
	c.AssertVocabs()
	resources := map[string]string{
		"https://spec.openapis.org/oas/3.1/dialect/base": "openapi-3.1-dialect",
		"https://spec.openapis.org/oas/3.1/meta/base":    "openapi-3.1-meta",
		"https://spec.openapis.org/oas/3.2/dialect":      "openapi-3.2-dialect",
		"https://spec.openapis.org/oas/3.2/meta":         "openapi-3.2-meta",
	}
	for address, file := range resources {
		content, err := schemaFile(file)
		if err != nil {
			return nil, err
		}
		if err := c.AddResource(address, content); err != nil {
			return nil, fmt.Errorf("add schema %s: %w", file, err)
		}
	}
	if err := c.AddResource(schemaBase+name, source); err != nil {
		return nil, fmt.Errorf("add schema %s: %w", name, err)
	}
	compiled, err := c.Compile(schemaBase + name)
	if err != nil {
		return nil, fmt.Errorf("compile schema %s: %w", name, err)
	}
	return compiled, nil
}

func schemaFile(name string) (any, error) {
	file, err := schemaFiles.Open("schemas/" + name + ".json.gz")
	if err != nil {
		return nil, fmt.Errorf("read schema %s: %w", name, err)
	}
	defer file.Close()
	content, err := gzip.NewReader(file)
	if err != nil {
		return nil, fmt.Errorf("unpack schema %s: %w", name, err)
	}
	source, err := jsonschema.UnmarshalJSON(content)
	if err != nil {
		return nil, fmt.Errorf("decode schema %s: %w", name, err)
	}
	return source, nil
}

// sealed is the loader of the compiler: nothing is fetched, ever.
type sealed struct{}

// Load implements jsonschema.URLLoader.
func (sealed) Load(address string) (any, error) {
	return nil, fmt.Errorf("schema %s is not embedded", address)
}

// idleAfter bounds how long a compiled schema stays in memory unused. Documents come in bursts, and the schemas of all releases
// take some megabytes that the delivery of events would miss.
const idleAfter = 3 * time.Second

// idling compiles an official schema when it is used and releases it when it is not.
type idling struct {
	name   string
	mu     sync.Mutex
	schema *officialSchema
	timer  *time.Timer
}

func (i *idling) get() (*officialSchema, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.schema == nil {
		compiled, err := compile(i.name)
		if err != nil {
			return nil, err
		}
		i.schema = compiled
	}
	if i.timer == nil {
		i.timer = time.AfterFunc(idleAfter, i.release)
	}
	i.timer.Reset(idleAfter)
	return i.schema, nil
}

func (i *idling) release() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.schema = nil
}

// badName is a member name that propertyNames does not allow. The validator reports these too, but shares the slice that
// holds their place with later faults, so that the place may be another; those are passed over and these are used.
type badName struct {
	name string
}

// KeywordPath implements jsonschema.ErrorKind.
func (badName) KeywordPath() []string { return []string{"propertyNames"} }

// LocalizedString implements jsonschema.ErrorKind.
func (b badName) LocalizedString(*message.Printer) string {
	return "name " + b.name + " is not allowed"
}

// nameVocabulary checks propertyNames once more, to report it at its own place.
func nameVocabulary() *jsonschema.Vocabulary {
	return &jsonschema.Vocabulary{
		URL: schemaBase + "names",
		Compile: func(ctx *jsonschema.CompilerContext, schema map[string]any) (jsonschema.SchemaExt, error) {
			if _, ok := schema["propertyNames"]; !ok {
				return nil, nil
			}
			return nameCheck{ctx.Enqueue([]string{"propertyNames"})}, nil
		},
	}
}

type nameCheck struct {
	names *jsonschema.Schema
}

// Validate implements jsonschema.SchemaExt.
func (c nameCheck) Validate(ctx *jsonschema.ValidatorContext, value any) {
	object, _ := value.(map[string]any)
	for name := range object {
		if err := c.names.Validate(name); err != nil {
			failed, _ := err.(*jsonschema.ValidationError)
			ctx.AddErrors([]*jsonschema.ValidationError{failed}, badName{name})
		}
	}
}

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
