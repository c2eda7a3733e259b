package partners

import (
	"maps"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/registry/partners"
	"schakel/store"
	view "schakel/templates/partners"
	"schakel/templates/ui"
	"schakel/web/site"
)

// shownTypes bounds the event types to tick on one page, besides those ticked.
const shownTypes = 50

// newSubscription shows the form; a link may bring event types that are ticked.
func (d ownerPages) newSubscription(c echo.Context) error {
	owner, err := d.Owner(c)
	if err != nil || site.Waits(owner) != "" {
		return d.Closed(c, err, "/subscriptions")
	}
	form, err := site.NewForm(c.QueryParams())
	if err != nil {
		return err
	}
	return d.showSubscriptionForm(c, http.StatusOK, owner, typedSubscription{Form: form, chosen: readSelection(form)}, nil)
}

// typedSubscription holds the form as typed so far, and the outcome of a preview.
type typedSubscription struct {
	site.Form
	chosen  selection
	preview *ui.PreviewView
}

// requestSubscription asks for a subscription. The buttons to search, to preview
// and for more filters post here too, so that nothing typed is lost without
// JavaScript.
func (d ownerPages) requestSubscription(c echo.Context) error {
	owner, err := d.Owner(c)
	if err != nil {
		return err
	}
	form, err := site.ReadForm(c)
	if err != nil {
		return err
	}
	typed := typedSubscription{Form: form, chosen: readSelection(form)}
	switch form.Get("do") {
	case "search":
		return d.showSubscriptionForm(c, http.StatusOK, owner, typed, nil)
	case "rows":
		typed.chosen = typed.chosen.grown(spareRows)
		return d.showSubscriptionForm(c, http.StatusOK, owner, typed, nil)
	case "preview":
		return d.previewSubscription(c, owner, typed)
	}
	in := partners.SubscriptionRequest{
		Name: form.Get("name"), EndpointID: form.Get("endpoint"), Purpose: form.Get("purpose"),
		Filters: typed.chosen.filters(), OrderBy: typed.chosen.orderBy(), Retry: typed.chosen.retry, Dedupe: typed.chosen.dedupe,
	}
	var twice string
	if in.Types, in.Versions, twice = chosenTypes(form.List("types")); twice != "" {
		return d.showSubscriptionForm(c, http.StatusUnprocessableEntity, owner, typed, typed.chosen.merged(map[string]string{"types": twice}))
	}
	if e, err := d.EndpointOf(c, owner, in.EndpointID); err != nil {
		return err
	} else if e == "" {
		in.EndpointID = ""
	}
	made, err := d.Registry.Subscriptions.Request(c.Request().Context(), site.Actor(c), in)
	if fields, ok := site.Refused(err); ok {
		if fields["versions"] != "" {
			fields["types"] = fields["versions"]
		}
		return d.showSubscriptionForm(c, http.StatusUnprocessableEntity, owner, typed, typed.chosen.merged(fields))
	}
	if err != nil {
		return d.Settled(c, err, d.Href("/subscriptions"), "")
	}
	return d.Done(c, d.Href("/subscriptions/"+made.ID), "Your request is sent. It starts once the administrator approves it.")
}

// previewSubscription tries the filters typed.
func (d ownerPages) previewSubscription(c echo.Context, owner store.Partner, typed typedSubscription) error {
	wrong := typed.chosen.wrong()
	if len(typed.List("types")) == 0 {
		wrong["types"] = "Choose at least one event type."
	}
	if len(wrong) > 0 {
		return d.showSubscriptionForm(c, http.StatusUnprocessableEntity, owner, typed, wrong)
	}
	ctx := c.Request().Context()
	chosen, asked, twice := chosenTypes(typed.List("types"))
	if twice != "" {
		return d.showSubscriptionForm(c, http.StatusUnprocessableEntity, owner, typed, map[string]string{"types": twice})
	}
	types, err := d.knownTypes(c, chosen)
	if err != nil {
		return err
	}
	maps.DeleteFunc(asked, func(name, _ string) bool { return !slices.Contains(types, name) })
	lines, err := d.Registry.Subscriptions.Settled(ctx, types, asked)
	if fields, ok := site.Refused(err); ok {
		return d.showSubscriptionForm(c, http.StatusUnprocessableEntity, owner, typed, map[string]string{"types": fields["versions"]})
	}
	if err != nil {
		return err
	}
	if typed.preview, err = d.preview(ctx, owner, types, lines, typed.chosen.filters()); err != nil {
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

func (d ownerPages) showSubscriptionForm(c echo.Context, status int, owner store.Partner, form typedSubscription, wrong map[string]string) error {
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
	v := view.SubscriptionFormView{
		Action: d.Href("/subscriptions/new"), Cancel: d.Href("/subscriptions"), Search: form.Get("q"), Endpoint: form.Get("endpoint"),
		Name: form.Get("name"), Purpose: form.Get("purpose"), Endpoints: endpointOptions(endpoints), NewEndpoint: d.Href("/endpoints/new"), Wrong: wrong,
		Selection: form.chosen.view(d.Href("/subscriptions/new"), wrong), Preview: form.preview,
	}
	found := site.SearchTypes(all, v.Search, "")
	if v.Types, err = d.typeOptions(ctx, all, found, form.List("types")); err != nil {
		return err
	}
	v.Found = len(found)
	v.Shown = min(v.Found, shownTypes)
	page := d.PageFrame(c, "Ask for a subscription", ui.Crumb{Label: "Subscriptions", Href: d.Href("/subscriptions")})
	page.Lead = "You get what you need for your purpose, and no more."
	page.Invalid = len(wrong) > 0
	return d.Render(c, status, view.SubscriptionFormPage(page, v))
}
