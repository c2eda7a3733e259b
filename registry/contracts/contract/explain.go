package contract

import (
	"slices"
	"strings"

	"schakel/registry/jsonpointer"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// explain turns the error tree of the schema validator into few findings for people. Where one of several forms had to
// fit, only the form that was most likely meant is spoken of.
func explain(failed *jsonschema.ValidationError, source, document any) []Finding {
	e := &explainer{source: source, document: document}
	faults := e.prune(failed)
	broken := &spot{}
	for _, f := range faults {
		if !isUnknownMember(f) {
			broken.addTokens(f.InstanceLocation)
		}
	}
	var findings []Finding
	for _, f := range faults {
		if !e.echo(f, broken) {
			findings = append(findings, e.findings(f)...)
		}
	}
	return findings[:min(len(findings), maxPlaced)]
}

type explainer struct {
	source, document any
}

type fault = *jsonschema.ValidationError

// prune gives the leaves of the tree that say something.
func (e *explainer) prune(f fault) []fault {
	switch k := f.ErrorKind.(type) {
	case *kind.AnyOf:
		return e.choose(f)
	case *kind.OneOf:
		if len(k.Subschemas) == 0 {
			return e.choose(f)
		}
		if e.isReference(f.InstanceLocation) {
			return nil // the schemas let a reference pass as other forms too
		}
	case *kind.PropertyNames:
		return nil // badName says it at the right place
	case badName, *kind.Not, *kind.Contains:
		return []fault{f}
	}
	if len(f.Causes) == 0 {
		return []fault{f}
	}
	var leaves []fault
	for _, cause := range f.Causes {
		if leaves = append(leaves, e.prune(cause)...); len(leaves) > maxPlaced {
			break
		}
	}
	return leaves
}

func (e *explainer) isReference(location []string) bool {
	value, _ := jsonpointer.Lookup(e.document, jsonpointer.Join(location...))
	object, _ := value.(map[string]any)
	_, ok := object["$ref"].(string)
	return ok
}

// choose gives the leaves of the form that was most likely meant: not one for another type of value, nor one that a
// fixed value tells apart, and of what is left the one with least to mend.
func (e *explainer) choose(f fault) []fault {
	var best []fault
	var types []string
	least := [3]int{1 << 30}
	for _, cause := range f.Causes {
		leaves := e.prune(cause)
		if len(leaves) == 0 {
			return nil // all that was wrong with this form is passed over
		}
		cost := e.cost(leaves, f.InstanceLocation)
		if slices.Compare(cost[:], least[:]) < 0 {
			best, least = leaves, cost
		}
		for _, leaf := range leaves {
			if t, ok := leaf.ErrorKind.(*kind.Type); ok && len(leaf.InstanceLocation) == len(f.InstanceLocation) {
				types = append(types, t.Want...)
			}
		}
	}
	if len(best) == 0 {
		return []fault{f}
	}
	if t, ok := best[0].ErrorKind.(*kind.Type); ok && least[0] == otherType {
		slices.Sort(types)
		joined := *best[0]
		joined.ErrorKind = &kind.Type{Got: t.Got, Want: slices.Compact(types)}
		return []fault{&joined}
	}
	return best
}

// The ways in which a form can be another one than was meant.
const (
	likely = iota
	otherValue
	otherForm
	otherType
)

// cost measures how far a form is from what stands at a place: why it was not meant, faults at the place, faults below.
func (e *explainer) cost(leaves []fault, place []string) (cost [3]int) {
	cost[2] = len(leaves)
	for _, leaf := range leaves {
		depth := len(leaf.InstanceLocation) - len(place)
		if depth == 0 {
			cost[1]++
		}
		cost[0] = max(cost[0], e.misfit(leaf, depth))
	}
	return cost
}

func (e *explainer) misfit(leaf fault, depth int) int {
	switch k := leaf.ErrorKind.(type) {
	case *kind.Type:
		if depth == 0 {
			return otherType
		}
	case *kind.Required:
		if depth == 0 && slices.Contains(k.Missing, "$ref") {
			return otherForm
		}
	case *kind.Const, *kind.Enum:
		if depth == 1 {
			return otherValue
		}
	}
	return likely
}

// isUnknownMember reports whether a fault is a member that its schema does not name.
func isUnknownMember(f fault) bool {
	_, isFalse := f.ErrorKind.(*kind.FalseSchema)
	return isFalse && strings.HasSuffix(f.SchemaURL, "/unevaluatedProperties")
}

// echo reports whether a member is called unknown only because another fault kept it from being recognised.
func (e *explainer) echo(f fault, broken *spot) bool {
	if !isUnknownMember(f) || len(f.InstanceLocation) == 0 {
		return false
	}
	last := len(f.InstanceLocation) - 1
	for _, token := range f.InstanceLocation[:last] {
		if broken = broken.below[token]; broken == nil {
			return false
		}
	}
	if broken.below == nil && !broken.ends {
		return false
	}
	owner := e.schemaAt(strings.TrimSuffix(f.SchemaURL, "/unevaluatedProperties"))
	return owner == nil || slices.Contains(e.names(owner), f.InstanceLocation[last])
}

// schemaAt looks up a part of the official schema; nil when it lies in another file.
func (e *explainer) schemaAt(address string) any {
	_, fragment, ok := strings.Cut(address, "#")
	if !ok || !strings.HasPrefix(address, schemaBase) {
		return nil
	}
	found, _ := jsonpointer.Lookup(e.source, decodeFragment(fragment))
	return found
}

// names gives the members that a part of the official schema names, in any of its forms.
func (e *explainer) names(schema any) []string {
	c := &nameCollector{source: e.source, seen: map[string]bool{}}
	c.collect(schema, 0)
	slices.Sort(c.names)
	return slices.Compact(c.names)
}

type nameCollector struct {
	source any
	seen   map[string]bool
	names  []string
}

func (c *nameCollector) collect(schema any, depth int) {
	object, ok := schema.(map[string]any)
	if !ok || depth > 8 {
		return
	}
	c.names = append(c.names, sortedKeys(child(object, "properties"))...)
	if ref := member(object, "$ref"); strings.HasPrefix(ref, "#") && !c.seen[ref] {
		c.seen[ref] = true
		target, _ := jsonpointer.Lookup(c.source, decodeFragment(ref[1:]))
		c.collect(target, depth+1)
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		for _, part := range items(object, key) {
			c.collect(part, depth+1)
		}
	}
	for _, key := range []string{"if", "then", "else"} {
		c.collect(object[key], depth+1)
	}
	for _, part := range child(object, "dependentSchemas") {
		c.collect(part, depth+1)
	}
}
