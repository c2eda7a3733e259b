package compare

import "strings"

// maxUnrolled bounds how many schemas a walk meets that follows every way through the references; oasdiff takes such walks,
// and a few dozen schemas that each refer twice to the next would keep it busy for ever.
const maxUnrolled = 20_000_000

// effort counts what such a walk meets. Schemas that refer to each other in a circle are met once a walk.
type effort struct {
	schemas  map[string]any
	index    map[string]int // order of discovery
	low      map[string]int
	stack    []string
	waiting  map[string]bool
	unrolled map[string]int // what a walk from a schema meets, once known
}

// unrolled tells how much a walk through all the paths of a copy meets, at most a little over maxUnrolled.
func unrolled(copied map[string]any) int {
	e := &effort{
		schemas: schemasOf(copied), index: map[string]int{}, low: map[string]int{}, waiting: map[string]bool{}, unrolled: map[string]int{},
	}
	total := 0
	for _, name := range sortedKeys(e.schemas) {
		if _, seen := e.index[name]; !seen {
			e.visit(name)
		}
	}
	for _, item := range child(copied, "paths") {
		total = capped(total + e.size(item, nil))
	}
	return total
}

func capped(n int) int { return min(n, maxUnrolled+1) }

// visit finds the circles (Tarjan) and sums up each when it is complete.
func (e *effort) visit(name string) {
	e.index[name] = len(e.index) + 1
	e.low[name] = e.index[name]
	e.stack = append(e.stack, name)
	e.waiting[name] = true
	for used := range referred(e.schemas[name]) {
		if _, exists := e.schemas[used]; !exists {
			continue
		}
		if e.index[used] == 0 {
			e.visit(used)
			e.low[name] = min(e.low[name], e.low[used])
		} else if e.waiting[used] {
			e.low[name] = min(e.low[name], e.index[used])
		}
	}
	if e.low[name] == e.index[name] {
		e.complete(name)
	}
}

func (e *effort) complete(name string) {
	first := len(e.stack) - 1
	for e.stack[first] != name {
		first--
	}
	circle := map[string]bool{}
	for _, member := range e.stack[first:] {
		circle[member] = true
		e.waiting[member] = false
	}
	e.stack = e.stack[:first]
	total := 0
	for member := range circle {
		total = capped(total + e.size(e.schemas[member], circle))
	}
	for member := range circle {
		e.unrolled[member] = total
	}
}

// size counts a value and what it refers to, a schema of the same circle as one.
func (e *effort) size(value any, circle map[string]bool) int {
	switch v := value.(type) {
	case map[string]any:
		total := 1
		for _, item := range v {
			total = capped(total + e.size(item, circle))
		}
		return total
	case []any:
		total := 0
		for _, item := range v {
			total = capped(total + e.size(item, circle))
		}
		return total
	case string:
		if name, ok := strings.CutPrefix(v, "#/components/schemas/"); ok && !circle[name] {
			return e.unrolled[name]
		}
	}
	return 0
}
