package web

import (
	"net/http"

	"github.com/labstack/echo/v4"
	"schakel/registry/partners"
	"schakel/store"
	"schakel/templates/ui"
)

// subscriptionSelection shows the form for the filters and the order of a subscription.
func (d desk) subscriptionSelection(c echo.Context) error {
	owner, grant, err := d.ownSubscription(c)
	if err != nil {
		return err
	}
	if !changeable(owner, grant.Subscription) {
		return d.closed(c, nil, "/subscriptions/"+grant.Subscription.ID)
	}
	chosen, err := selectionOf(grant.Subscription)
	if err != nil {
		return err
	}
	return d.showSelection(c, http.StatusOK, grant.Subscription, chosen, nil, nil)
}

// changeSelection changes filters and order, or tries the filters, or offers more rows.
func (d desk) changeSelection(c echo.Context) error {
	owner, grant, err := d.ownSubscription(c)
	if err != nil {
		return err
	}
	form, err := readForm(c)
	if err != nil {
		return err
	}
	sub, chosen := grant.Subscription, readSelection(form)
	switch form.Get("do") {
	case "rows":
		return d.showSelection(c, http.StatusOK, sub, chosen.grown(spareRows), nil, nil)
	case "preview":
		return d.previewSelection(c, owner, sub, chosen)
	}
	filters, orderBy := chosen.filters(), chosen.orderBy()
	err = d.Registry.Subscriptions.Change(c.Request().Context(), actor(c), sub.ID, partners.SubscriptionChange{
		Filters: &filters, OrderBy: &orderBy, Retry: &chosen.retry, Dedupe: &chosen.dedupe,
	})
	if fields, ok := refused(err); ok {
		return d.showSelection(c, http.StatusUnprocessableEntity, sub, chosen, chosen.merged(fields), nil)
	}
	return d.settled(c, err, d.href("/subscriptions/"+sub.ID), "The changes are saved.")
}

func (d desk) previewSelection(c echo.Context, owner store.Partner, sub store.Subscription, chosen selection) error {
	if wrong := chosen.wrong(); len(wrong) > 0 {
		return d.showSelection(c, http.StatusUnprocessableEntity, sub, chosen, wrong, nil)
	}
	preview, err := d.preview(c.Request().Context(), owner, sub.Types, sub.Versions, chosen.filters())
	if err != nil {
		return err
	}
	return d.showSelection(c, http.StatusOK, sub, chosen, nil, preview)
}

func (d desk) showSelection(c echo.Context, status int, sub store.Subscription, chosen selection, wrong map[string]string,
	preview *ui.PreviewView,
) error {
	here := d.href("/subscriptions/" + sub.ID)
	v := ui.SelectionFormView{
		Action: here + "/selection", Cancel: here, Types: sub.Types, State: sub.Status, Preview: preview,
		Selection: chosen.view(here+"/selection", wrong),
	}
	page := d.pageFrame(c, "Filters, repeats, order and retries",
		ui.Crumb{Label: "Subscriptions", Href: d.href("/subscriptions")}, ui.Crumb{Label: subscriptionLabel(sub), Href: here})
	page.Invalid = len(wrong) > 0
	return d.render(c, status, ui.SelectionFormPage(page, v))
}

// changeable reports whether an owner can change filters and order now.
func changeable(owner store.Partner, sub store.Subscription) bool {
	switch sub.Status {
	case store.SubscriptionRequested, store.SubscriptionApproved, store.SubscriptionPaused:
		return waits(owner) == ""
	}
	return false
}
