package payload

import (
	"cmp"
	"container/list"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"schakel/registry/jsonpointer"
	"schakel/registry/sorted"
	"schakel/templates/i18n"
)

// Finding is a place where data does not fit its schema.
type Finding struct {
	// Pointer is the JSON Pointer within the data; empty for the data itself.
	Pointer string
	// Code is payload- and the keyword of the schema, such as payload-required; or payload-broken, payload-number
	// and payload-too-complex for data that cannot be held against any.
	Code string
	// Detail words the demand of the contract. It never repeats what the data says.
	Detail i18n.Message
}

// What one check may cost: steps at least, and more for larger data.
const (
	leastSteps   = 20_000
	stepsPerByte = 4
	maxFindings  = 50
)

// Check holds data, which is JSON, against the schema. It gives at most 50 findings, and none for data that fits.
func (s *Schema) Check(data []byte) ([]Finding, error) {
	value, wrong := decode(data)
	if wrong != nil {
		return []Finding{*wrong}, nil
	}
	i, err := s.take()
	if err != nil {
		return nil, err
	}
	defer s.give(i)
	return i.check(value, leastSteps+stepsPerByte*len(data))
}

// check runs one check; one that takes too many steps is a finding.
func (i *instance) check(value any, steps int) (found []Finding, err error) {
	i.steps = steps
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(outOfSteps); !ok {
				panic(r)
			}
			found, err = []Finding{{Code: "payload-too-complex", Detail: "findings.data-too-complex"}}, nil
		}
	}()
	err = i.compiled.Validate(value)
	if wrong, ok := errors.AsType[*jsonschema.ValidationError](err); ok {
		return explain(wrong), nil
	}
	if err != nil {
		return nil, fmt.Errorf("check payload: %w", err)
	}
	return nil, nil
}

// maxDigits bounds a number as it is written.
const maxDigits = 400

// tooLarge finds a number that costs much to compute with.
func tooLarge(value any, path []string) ([]string, bool) {
	switch v := value.(type) {
	case json.Number:
		return path, !smallNumber(string(v))
	case map[string]any:
		for name, item := range v {
			if found, ok := tooLarge(item, append(path, name)); ok {
				return found, true
			}
		}
	case []any:
		for n, item := range v {
			if found, ok := tooLarge(item, append(path, strconv.Itoa(n))); ok {
				return found, true
			}
		}
	}
	return nil, false
}

func smallNumber(text string) bool {
	if len(text) > maxDigits {
		return false
	}
	if !strings.ContainsAny(text, "eE") {
		return true
	}
	f, err := strconv.ParseFloat(text, 64)
	// What is too small for a double is read as nought, and can have an exponent as costly as a large one.
	_, exponent, _ := strings.Cut(strings.ToLower(text), "e")
	n, bad := strconv.Atoi(exponent)
	return err == nil && !math.IsInf(f, 0) && bad == nil && n >= -maxDigits && n <= maxDigits
}

// Checker keeps compiled schemas by a key of its user, the least recently used of which go.
type Checker struct {
	most  int
	mu    sync.Mutex
	byKey map[string]*list.Element
	order *list.List // of *kept, the last used first
}

type kept struct {
	key     string
	compile func() (*Schema, error)
}

// DefaultSchemas is the number of schemas a Checker caches by default.
const DefaultSchemas = 500

// NewChecker makes a checker that keeps so many schemas.
func NewChecker(most int) *Checker {
	if most <= 0 {
		most = DefaultSchemas
	}
	return &Checker{most: most, byKey: make(map[string]*list.Element), order: list.New()}
}

// Schema gives the compiled schema of a key, which stands for the same source always. It is compiled once, also when
// several ask at a time, and so is a failure.
func (c *Checker) Schema(key, source string) (*Schema, error) {
	return c.kept(key, source).compile()
}

func (c *Checker) kept(key, source string) *kept {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.byKey[key]; ok {
		c.order.MoveToFront(e)
		return e.Value.(*kept)
	}
	k := &kept{key: key, compile: sync.OnceValues(func() (*Schema, error) { return Compile(source) })}
	c.byKey[key] = c.order.PushFront(k)
	if c.order.Len() > c.most {
		oldest := c.order.Back()
		c.order.Remove(oldest)
		delete(c.byKey, oldest.Value.(*kept).key)
	}
	return k
}

// explain gives the findings of a failed check, by pointer.
func explain(wrong *jsonschema.ValidationError) []Finding {
	var list []Finding
	leaves(wrong, func(e *jsonschema.ValidationError) { list = append(list, findings(e)...) })
	sorted.Stable(list, func(a, b Finding) int {
		return cmp.Or(strings.Compare(a.Pointer, b.Pointer), strings.Compare(a.Code, b.Code), cmp.Compare(a.Detail, b.Detail))
	})
	list = slices.Compact(list)
	return list[:min(len(list), maxFindings)]
}

// leaves visits what is wrong in the end. Where one of several forms would do, those of the form that comes closest: it
// fails deepest in the data, and at the fewest places.
func leaves(e *jsonschema.ValidationError, visit func(*jsonschema.ValidationError)) {
	if len(e.Causes) == 0 {
		visit(e)
		return
	}
	switch e.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf:
		leaves(slices.MaxFunc(e.Causes, func(a, b *jsonschema.ValidationError) int {
			aDeep, aMany := closeness(a)
			bDeep, bMany := closeness(b)
			return cmp.Or(cmp.Compare(aDeep, bDeep), cmp.Compare(bMany, aMany))
		}), visit)
	default:
		for _, cause := range e.Causes {
			leaves(cause, visit)
		}
	}
}

func closeness(e *jsonschema.ValidationError) (deepest, many int) {
	leaves(e, func(leaf *jsonschema.ValidationError) {
		deepest, many = max(deepest, len(leaf.InstanceLocation)), many+1
	})
	return deepest, many
}

func findings(e *jsonschema.ValidationError) []Finding {
	at := func(tokens []string, detail i18n.Message) Finding {
		return Finding{Pointer: jsonpointer.Join(tokens...), Code: code(e.ErrorKind), Detail: detail}
	}
	here := slices.Clone(e.InstanceLocation)
	switch k := e.ErrorKind.(type) {
	case *kind.AdditionalProperties:
		var list []Finding
		for _, name := range k.Properties {
			list = append(list, at(append(slices.Clone(here), name), "findings.data-unknown-member"))
		}
		return list
	case *kind.Required:
		return []Finding{at(here, i18n.M("findings.data-missing", strings.Join(quoted(k.Missing), ", ")))}
	}
	return []Finding{at(here, detail(e.ErrorKind))}
}

// code names the keyword that was not met.
func code(k jsonschema.ErrorKind) string {
	path := k.KeywordPath()
	if len(path) == 0 {
		return "payload-refused"
	}
	var kebab strings.Builder
	for _, r := range path[0] {
		if r >= 'A' && r <= 'Z' {
			kebab.WriteByte('-')
			r += 'a' - 'A'
		}
		kebab.WriteRune(r)
	}
	return "payload-" + strings.TrimPrefix(kebab.String(), "$")
}

// detail words the demand of the schema. The value is not repeated: it may be personal.
func detail(k jsonschema.ErrorKind) i18n.Message {
	switch k := k.(type) {
	case *kind.Type:
		return i18n.M("findings.data-type", k.Got, types(k.Want))
	case *kind.Enum:
		return i18n.M("findings.data-enum", someValues(k.Want))
	case *kind.Const:
		return i18n.M("findings.data-const", someValues([]any{k.Want}))
	case *kind.Format:
		return i18n.M("findings.data-format", k.Want)
	case *kind.Pattern:
		return i18n.M("findings.data-pattern", shorten(k.Want))
	case *kind.MinLength:
		return i18n.M("findings.data-too-short", k.Got, k.Want)
	case *kind.MaxLength:
		return i18n.M("findings.data-too-long", k.Got, k.Want)
	case *kind.MinItems:
		return i18n.M("findings.data-too-few", k.Got, k.Want)
	case *kind.MaxItems:
		return i18n.M("findings.data-too-many", k.Got, k.Want)
	case *kind.Minimum:
		return i18n.M("findings.data-minimum", k.Want.RatString())
	case *kind.Maximum:
		return i18n.M("findings.data-maximum", k.Want.RatString())
	case *kind.ExclusiveMinimum:
		return i18n.M("findings.data-exclusive-minimum", k.Want.RatString())
	case *kind.ExclusiveMaximum:
		return i18n.M("findings.data-exclusive-maximum", k.Want.RatString())
	case *kind.MultipleOf:
		return i18n.M("findings.data-multiple", k.Want.RatString())
	case *kind.UniqueItems:
		return i18n.M("findings.data-not-unique", k.Duplicates[0], k.Duplicates[1])
	case *kind.OneOf:
		return "findings.data-ambiguous"
	case *kind.Not:
		return "findings.data-excluded"
	case *kind.FalseSchema:
		return "findings.data-nothing"
	}
	return i18n.M("findings.data-other", strings.TrimPrefix(code(k), "payload-"))
}

// types lists types that JSON has.
func types(names []string) i18n.Message {
	switch len(names) {
	case 0:
		return ""
	case 1:
		return i18n.Raw(names[0])
	}
	half := len(names) / 2
	return i18n.M("findings.or", types(names[:half]), types(names[half:]))
}

func quoted(names []string) []string {
	list := make([]string, 0, len(names))
	for _, name := range names[:min(len(names), 20)] {
		list = append(list, strconv.Quote(shorten(name)))
	}
	return list
}

func someValues(values []any) string {
	var list []string
	for _, v := range values[:min(len(values), 10)] {
		if text, ok := v.(string); ok {
			v = strconv.Quote(text)
		}
		list = append(list, shorten(fmt.Sprint(v)))
	}
	if len(values) > len(list) {
		list = append(list, "…")
	}
	return strings.Join(list, ", ")
}

// shorten bounds what of a contract stands in an answer.
func shorten(text string) string {
	const most = 100
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}
