package compare

import (
	"reflect"
	"strings"
)

// prune takes out of both copies what is the same in both and leads to nothing that is not: nothing can be found there, and
// versions of a contract differ little.
func prune(old, new map[string]any) {
	before, after := child(old, "paths"), child(new, "paths")
	dirty := changedSchemas(schemasOf(old), schemasOf(new))
	for path, item := range before {
		if !reflect.DeepEqual(item, after[path]) {
			continue
		}
		if !touches(item, dirty) {
			delete(before, path)
			delete(after, path)
		}
	}
	keepReached(old)
	keepReached(new)
}

func schemasOf(copied map[string]any) map[string]any {
	return child(child(copied, "components"), "schemas")
}

// changedSchemas gives the names of schemas that differ, or that lead to one that does.
func changedSchemas(before, after map[string]any) map[string]bool {
	dirty, users, queue := map[string]bool{}, map[string][]string{}, []string{}
	for _, name := range unionKeys(before, after) {
		if !reflect.DeepEqual(before[name], after[name]) {
			dirty[name] = true
			queue = append(queue, name)
		}
		for _, side := range []map[string]any{before, after} {
			for used := range referred(side[name]) {
				users[used] = append(users[used], name)
			}
		}
	}
	for len(queue) > 0 {
		name := queue[0]
		queue = queue[1:]
		for _, user := range users[name] {
			if !dirty[user] {
				dirty[user] = true
				queue = append(queue, user)
			}
		}
	}
	return dirty
}

func touches(item any, dirty map[string]bool) bool {
	for name := range referred(item) {
		if dirty[name] {
			return true
		}
	}
	return false
}

// keepReached leaves the schemas that the paths lead to.
func keepReached(copied map[string]any) {
	schemas, reached, queue := schemasOf(copied), map[string]bool{}, []any{child(copied, "paths")}
	for len(queue) > 0 {
		value := queue[0]
		queue = queue[1:]
		for name := range referred(value) {
			if !reached[name] {
				reached[name] = true
				queue = append(queue, schemas[name])
			}
		}
	}
	for name := range schemas {
		if !reached[name] {
			delete(schemas, name)
		}
	}
}

// referred gives the names of the schemas that a value refers to. A text that only looks like a reference counts too: it
// does no harm to look at more.
func referred(value any) map[string]bool {
	names := map[string]bool{}
	var look func(any)
	look = func(value any) {
		switch v := value.(type) {
		case map[string]any:
			for _, item := range v {
				look(item)
			}
		case []any:
			for _, item := range v {
				look(item)
			}
		case string:
			if name, ok := strings.CutPrefix(v, "#/components/schemas/"); ok {
				names[name] = true
			}
		}
	}
	look(value)
	return names
}
