package payload

import (
	"container/list"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Finding is a place where data does not fit its schema.
type Finding struct {
	// Pointer is the JSON Pointer within the data; empty for the data itself.
	Pointer string
	// Code is payload- and the keyword of the schema, such as payload-required; or payload-broken, payload-number
	// and payload-too-complex for data that cannot be held against any.
	Code string
	// Detail words the demand of the contract. It never repeats what the data says.
	Detail string
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
			found, err = []Finding{{Code: "payload-too-complex", Detail: "it takes too long to hold this against the schema of the contract"}}, nil
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
