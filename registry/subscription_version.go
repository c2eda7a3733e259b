package registry

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"schakel/store"
)

// AnyVersion asks for an event type in every version.
const AnyVersion = "any"

// VersionLineOf is one line of compatible versions of an event type: all of 1, say, or of 0.3 (CE-16).
type VersionLineOf struct {
	Line string
	// Newest is its newest published version, or its newest deprecated one when there is no other.
	Newest store.EventType
	// Versions are all that can be used, the newest first.
	Versions []store.EventType
}

// LineName writes a line as people do, such as 1.x; for no line in particular it is "any".
func LineName(line string) string {
	if line == "" {
		return AnyVersion
	}
	return line + ".x"
}

// Lines sorts the versions of an event type, as store.EventTypeVersions orders them, into lines; the one that a new subscription
// gets unless it asks for another comes first: the newest that is published and stable.
func Lines(versions []store.EventType) []VersionLineOf {
	var lines []VersionLineOf
	for _, v := range versions {
		line := store.VersionLine(v.ContractVersion)
		i := slices.IndexFunc(lines, func(l VersionLineOf) bool { return l.Line == line })
		if i < 0 {
			lines = append(lines, VersionLineOf{Line: line, Newest: v})
			i = len(lines) - 1
		}
		lines[i].Versions = append(lines[i].Versions, v)
	}
	slices.SortStableFunc(lines, func(a, b VersionLineOf) int { return cmp.Compare(a.rank(), b.rank()) })
	return lines
}

// rank puts what is published and stable before what is not.
func (l VersionLineOf) rank() int {
	rank := 2
	for _, v := range l.Versions {
		switch stable := !isPreRelease(v.ContractVersion); {
		case v.Status == store.VersionPublished && stable:
			return 0
		case v.Status == store.VersionPublished:
			rank = 1
		}
	}
	return rank
}

// LinesOf lists the lines of event types that a reader was shown, by name.
func (e *EventTypes) LinesOf(ctx context.Context, names ...string) (map[string][]VersionLineOf, error) {
	rows, err := e.cfg.DB.EventTypeVersions(ctx, names...)
	if err != nil {
		return nil, fmt.Errorf("list versions of event types: %w", err)
	}
	byName := map[string][]store.EventType{}
	for _, r := range rows {
		byName[r.Name] = append(byName[r.Name], r)
	}
	lines := make(map[string][]VersionLineOf, len(byName))
	for name, versions := range byName {
		lines[name] = Lines(versions)
	}
	return lines, nil
}

// Settled tells at which lines a subscription to these types would be, as settleVersions decides. Fields: versions.
func (e *EventTypes) Settled(ctx context.Context, types []string, asked map[string]string) (map[string]string, error) {
	return settleVersions(ctx, &e.cfg.DB.Queries, types, asked)
}

// settleVersions decides at which line each type is subscribed to: as asked, or at the newest one. Nothing switches by
// itself after that (EDU-08). What is left out of the answer comes in every version.
func settleVersions(ctx context.Context, q *store.Queries, types []string, asked map[string]string) (map[string]string, error) {
	settled := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		if !slices.Contains(types, name) {
			return nil, invalidFields(problems{"versions": "There is a version for " + name + ", which is not among the event types you ask for."})
		}
	}
	for _, name := range types {
		rows, err := q.EventTypeVersions(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("list versions of event type: %w", err)
		}
		lines := Lines(rows)
		want := strings.TrimSpace(asked[name])
		switch line := strings.TrimSuffix(want, ".x"); {
		case want == AnyVersion:
			continue
		case want == "" && len(lines) > 0:
			settled[name] = lines[0].Line
		case slices.ContainsFunc(lines, func(l VersionLineOf) bool { return l.Line == line }):
			settled[name] = line
		default:
			return nil, invalidFields(problems{"versions": "There is no version " + want + " of event type " + name + ". Choose " + lineNames(lines) + "."})
		}
	}
	return settled, nil
}

func lineNames(lines []VersionLineOf) string {
	var names []string
	for _, l := range lines {
		names = append(names, LineName(l.Line))
	}
	return strings.Join(append(names, AnyVersion), ", ")
}

// overlaps tells whether two subscriptions would both get an event of a type: unless each wants a line of its own.
func overlaps(a, b map[string]string, name string) bool {
	return a[name] == "" || b[name] == "" || a[name] == b[name]
}

// lineLeft tells whether any version of the line that a subscription wants can still be used.
func lineLeft(ctx context.Context, tx *store.Tx, name, line string) (bool, error) {
	rows, err := tx.EventTypeVersions(ctx, name)
	if err != nil {
		return false, fmt.Errorf("list versions of event type: %w", err)
	}
	return line == "" || slices.ContainsFunc(rows, func(v store.EventType) bool { return store.VersionLine(v.ContractVersion) == line }), nil
}

// typesWithVersions names event types with the line wanted of each.
func typesWithVersions(s store.Subscription) []string {
	if s.DatasetID != "" {
		return subscribedTo(s)
	}
	list := make([]string, len(s.Types))
	for i, name := range s.Types {
		list[i] = name
		if line := s.Versions[name]; line != "" {
			list[i] += " (version " + LineName(line) + ")"
		}
	}
	return list
}
