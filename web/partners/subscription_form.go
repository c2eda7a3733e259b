package partners

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/registry/sorted"
	"schakel/store"
	"schakel/templates/i18n"
	view "schakel/templates/partners"
	"schakel/templates/ui"
	"schakel/web/site"
)

// shownTypes bounds the event types to tick on one page, besides those ticked.
const shownTypes = 50

// newSubscription shows the form; a link may bring event types that are ticked.
func (d ownerPages) newSubscription(c echo.Context) error {
	owner, err := d.Owner(c)
	if err != nil || site.Waits(c.Request().Context(), owner) != "" {
		return d.Closed(c, err, "/subscriptions")
	}
	form, err := site.NewForm(c.QueryParams())
	if err != nil {
		return err
	}
	return d.showSubscriptionForm(c, http.StatusOK, owner, readSubscription(form), nil)
}

// requestSubscription asks for a subscription. The buttons to search, to preview
// and for more filters post here too, so that nothing typed is lost without
// JavaScript.
func (d ownerPages) requestSubscription(c echo.Context) error {
	owner, err := d.Owner(c)
	if err != nil {
		return err
	}
	return site.SubmitAbout(c, owner, readSubscription, func(typed typedSubscription) error {
		switch typed.chosen.do {
		case "search":
			return d.showSubscriptionForm(c, http.StatusOK, owner, typed, nil)
		case "rows":
			typed.chosen = typed.chosen.grown(spareRows)
			return d.showSubscriptionForm(c, http.StatusOK, owner, typed, nil)
		case "preview":
			return d.previewSubscription(c, owner, typed)
		}
		return d.sendRequest(c, owner, typed)
	}, d.showSubscriptionForm)
}

// sendRequest asks the administrator for the subscription typed.
func (d ownerPages) sendRequest(c echo.Context, owner store.Partner, typed typedSubscription) error {
	in := typed.request()
	var twice i18n.Message
	if in.Types, in.Versions, twice = chosenTypes(typed.List("types")); twice != "" {
		return registry.Invalid(typed.chosen.merged(map[string]i18n.Message{"types": twice}))
	}
	var err error
	if in.EndpointID, err = d.EndpointOf(c, owner, in.EndpointID); err != nil {
		return err
	}
	made, err := d.Registry.Subscriptions.Request(c.Request().Context(), site.Actor(c), in)
	if fields, ok := site.Refused(err); ok {
		if fields["versions"] != "" {
			fields["types"] = fields["versions"]
		}
		return registry.Invalid(typed.chosen.merged(fields))
	}
	if err != nil {
		return d.Settled(c, err, d.Href("/subscriptions"), "")
	}
	return d.Done(c, d.Href("/subscriptions/"+made.ID), "partners.subscription.sent")
}

// previewSubscription tries the filters typed.
func (d ownerPages) previewSubscription(c echo.Context, owner store.Partner, typed typedSubscription) error {
	wrong := typed.chosen.wrong()
	if len(typed.List("types")) == 0 {
		wrong["types"] = "partners.subscription.choose-type"
	}
	if len(wrong) > 0 {
		return registry.Invalid(wrong)
	}
	ctx := c.Request().Context()
	chosen, asked, twice := chosenTypes(typed.List("types"))
	if twice != "" {
		return registry.Invalid(map[string]i18n.Message{"types": twice})
	}
	types, err := d.knownTypes(c, chosen)
	if err != nil {
		return err
	}
	maps.DeleteFunc(asked, func(name, _ string) bool { return !slices.Contains(types, name) })
	lines, err := d.Registry.Subscriptions.Settled(ctx, types, asked)
	if fields, ok := site.Refused(err); ok {
		return registry.Invalid(map[string]i18n.Message{"types": fields["versions"]})
	}
	if err != nil {
		return err
	}
	if typed.chosen.preview, err = d.preview(ctx, owner, types, lines, typed.chosen.filters()); err != nil {
		return err
	}
	return d.showSubscriptionForm(c, http.StatusOK, owner, typed, nil)
}

// knownTypes keeps the event types that the reader's catalogue has.
func (d ownerPages) knownTypes(c echo.Context, names []string) ([]string, error) {
	reader, err := d.Reader(c)
	if err != nil {
		return nil, err
	}
	all, err := d.Registry.EventTypes.Catalogue(c.Request().Context(), reader)
	var known []string
	for _, t := range all {
		if slices.Contains(names, t.Name) {
			known = append(known, t.Name)
		}
	}
	return known, err
}

func (d ownerPages) showSubscriptionForm(c echo.Context, status int, owner store.Partner, form typedSubscription, wrong site.FormErrors) error {
	ctx := c.Request().Context()
	endpoints, err := d.Registry.Endpoints.List(ctx, registry.ScopeOf(owner.ID), owner.ID)
	if err != nil {
		return err
	}
	endpoints = slices.DeleteFunc(endpoints, func(e store.Endpoint) bool { return e.Kind == store.EndpointFiles }) // those are for datasets
	reader, err := d.Reader(c)
	if err != nil {
		return err
	}
	all, err := d.Registry.EventTypes.Catalogue(ctx, reader)
	if err != nil {
		return err
	}
	v := form.view(d.Href, wrong)
	v.Endpoints = endpointOptions(ctx, endpoints)
	found := ownTypesLast(site.SearchTypes(all, v.Search, ""))
	if v.Types, err = d.typeOptions(ctx, all, found, form.List("types")); err != nil {
		return err
	}
	v.Found = len(found)
	v.Shown = min(v.Found, shownTypes)
	page := d.PageFrame(c, i18n.T(ctx, "partners.action.ask-subscription"), ui.Crumb{Label: i18n.T(ctx, "partners.label.subscriptions"), Href: d.Href("/subscriptions")})
	page.Lead = i18n.T(ctx, "partners.subscription.form-lead")
	page.Invalid = len(wrong) > 0
	return d.Render(c, status, view.SubscriptionFormPage(page, v))
}

// wrongInAdvanced reports whether something is wrong in the part of the form that begins folded.
func wrongInAdvanced(wrong site.FormErrors) bool {
	for name, text := range wrong {
		if text != "" && !slices.Contains([]string{"types", "endpoint", "purpose", ""}, name) {
			return true
		}
	}
	return false
}

// ownTypesLast lists the event types of this program behind those of the chain, which most come for.
func ownTypesLast(types []store.EventType) []store.EventType {
	own := func(t store.EventType) bool { return strings.HasPrefix(t.Name, "nl.schakel.") }
	sorted.Stable(types, func(a, b store.EventType) int {
		switch {
		case own(a) == own(b):
			return 0
		case own(a):
			return 1
		}
		return -1
	})
	return types
}

// LineMark stands between an event type and a line of its versions in the value of
// a checkbox; a type without it is asked for at its newest line.
const LineMark = "@"

// chosenTypes reads the event types that are ticked, with the line of versions of
// those that have several; wrong is set when a type is ticked twice.
func chosenTypes(values []string) (types []string, versions map[string]string, wrong i18n.Message) {
	versions = map[string]string{}
	for _, value := range values {
		name, line := value, ""
		if i := strings.LastIndex(value, LineMark); i > 0 {
			name, line = value[:i], value[i+1:]
		}
		if slices.Contains(types, name) {
			wrong = i18n.M("partners.subscription.one-version", name)
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
		options = append(options, optionsOf(ctx, t.Name, lines[t.Name], ticked)...)
	}
	return options, nil
}

// optionsOf are the options of one event type.
func optionsOf(ctx context.Context, name string, lines []registry.VersionLineOf, ticked []string) []ui.Option {
	var options []ui.Option
	for i, l := range lines {
		o := ui.Option{Value: name, Label: name, Hint: site.TypeTitle(ctx, l.Newest)}
		marked := name + LineMark + l.Line
		o.Selected = slices.Contains(ticked, marked) || i == 0 && slices.Contains(ticked, name)
		if len(lines) > 1 {
			o.Value, o.Label = marked, i18n.T(ctx, "partners.subscription.type-version", name, registry.LineName(l.Line))
			switch {
			case i == 0:
				o.Hint = i18n.T(ctx, "partners.subscription.title-newest", o.Hint)
			case l.Newest.Status != store.VersionDeprecated:
				o.Hint = i18n.T(ctx, "partners.subscription.title-older", o.Hint)
			}
		} else {
			o.Hint = strings.TrimSpace(i18n.T(ctx, "partners.subscription.title-version", o.Hint, registry.LineName(l.Line)))
		}
		if l.Newest.Status == store.VersionDeprecated {
			o.Hint = i18n.T(ctx, "partners.subscription.title-deprecated", o.Hint)
		}
		options = append(options, o)
	}
	return options
}
