package partners

import (
	"context"
	"slices"
	"strings"

	"schakel/registry"
	"schakel/store"
	"schakel/templates/ui"
	"schakel/web/site"
)

// LineMark stands between an event type and a line of its versions in the value of
// a checkbox; a type without it is asked for at its newest line.
const LineMark = "@"

// chosenTypes reads the event types that are ticked, with the line of versions of
// those that have several; wrong is set when a type is ticked twice.
func chosenTypes(values []string) (types []string, versions map[string]string, wrong string) {
	versions = map[string]string{}
	for _, value := range values {
		name, line := value, ""
		if i := strings.LastIndex(value, LineMark); i > 0 {
			name, line = value[:i], value[i+1:]
		}
		if slices.Contains(types, name) {
			wrong = "Choose one version of " + name + ". For another one, ask for a subscription of its own."
			continue
		}
		types = append(types, name)
		if line != "" {
			versions[name] = line
		}
	}
	return types, versions, wrong
}

// typeOptions lists what is ticked first, and then what was found. A type of which
// several lines of versions can be used is listed once for each (EDU-08).
func (d ownerPages) typeOptions(ctx context.Context, all, found []store.EventType, ticked []string) ([]ui.Option, error) {
	names, _, _ := chosenTypes(ticked)
	var shown []store.EventType
	for _, t := range all {
		if slices.Contains(names, t.Name) {
			shown = append(shown, t)
		}
	}
	for _, t := range found[:min(len(found), shownTypes)] {
		if !slices.Contains(names, t.Name) {
			shown = append(shown, t)
		}
	}
	lines, err := d.Registry.EventTypes.LinesOf(ctx, site.TypeNames(shown)...)
	if err != nil {
		return nil, err
	}
	var options []ui.Option
	for _, t := range shown {
		options = append(options, optionsOf(t.Name, lines[t.Name], ticked)...)
	}
	return options, nil
}

// optionsOf are the options of one event type.
func optionsOf(name string, lines []registry.VersionLineOf, ticked []string) []ui.Option {
	var options []ui.Option
	for i, l := range lines {
		o := ui.Option{Value: name, Label: name, Hint: l.Newest.Title}
		marked := name + LineMark + l.Line
		o.Selected = slices.Contains(ticked, marked) || i == 0 && slices.Contains(ticked, name)
		if len(lines) > 1 {
			o.Value, o.Label = marked, name+", version "+registry.LineName(l.Line)
		} else {
			o.Hint = strings.TrimSpace(o.Hint + " (version " + registry.LineName(l.Line) + ")")
		}
		if l.Newest.Status == store.VersionDeprecated {
			o.Hint += " (deprecated)"
		}
		options = append(options, o)
	}
	return options
}
