package partners

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"schakel/registry"
	"schakel/store"
)

// Settled tells at which lines a subscription to these types would be, as settleVersions decides. Fields: versions.
func (s *Subscriptions) Settled(ctx context.Context, types []string, asked map[string]string) (map[string]string, error) {
	return settleVersions(ctx, &s.cfg.DB.Queries, types, asked)
}

// settleVersions decides at which line each type is subscribed to: as asked, or at the newest one. Nothing switches by
// itself after that (EDU-08). What is left out of the answer comes in every version.
func settleVersions(ctx context.Context, q *store.Queries, types []string, asked map[string]string) (map[string]string, error) {
	settled := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		if !slices.Contains(types, name) {
			return nil, registry.Invalid(registry.Problems{"versions": "There is a version for " + name + ", which is not among the event types you ask for."})
		}
	}
	for _, name := range types {
		rows, err := q.EventTypeVersions(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("list versions of event type: %w", err)
		}
		lines := registry.Lines(rows)
		want := strings.TrimSpace(asked[name])
		switch line := strings.TrimSuffix(want, ".x"); {
		case want == registry.AnyVersion:
			continue
		case want == "" && len(lines) > 0:
			settled[name] = lines[0].Line
		case slices.ContainsFunc(lines, func(l registry.VersionLineOf) bool { return l.Line == line }):
			settled[name] = line
		default:
			return nil, registry.Invalid(registry.Problems{"versions": "There is no version " + want + " of event type " + name + ". Choose " + lineNames(lines) + "."})
		}
	}
	return settled, nil
}

func lineNames(lines []registry.VersionLineOf) string {
	var names []string
	for _, l := range lines {
		names = append(names, registry.LineName(l.Line))
	}
	return strings.Join(append(names, registry.AnyVersion), ", ")
}

// overlaps reports whether two subscriptions would both get an event of a type: unless each wants a line of its own.
func overlaps(a, b map[string]string, name string) bool {
	return a[name] == "" || b[name] == "" || a[name] == b[name]
}

// lineLeft reports whether any version of the line that a subscription wants can still be used.
func lineLeft(ctx context.Context, tx *store.Tx, name, line string) (bool, error) {
	rows, err := tx.EventTypeVersions(ctx, name)
	if err != nil {
		return false, fmt.Errorf("list versions of event type: %w", err)
	}
	return line == "" || slices.ContainsFunc(rows, func(v store.EventType) bool { return store.VersionLine(v.ContractVersion) == line }), nil
}
