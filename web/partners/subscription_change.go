package partners

import (
	"net/http"

	"github.com/labstack/echo/v4"
	"schakel/registry/partners"
	"schakel/store"
	"schakel/templates/ui"
	"schakel/web/site"
)

// subscriptionSelection shows the form for the filters and the order of a subscription.
func (d ownerPages) subscriptionSelection(c echo.Context) error {
	owner, grant, err := d.ownSubscription(c)
	if err != nil {
		return err
	}
	if !changeable(owner, grant.Subscription) {
		return d.Closed(c, nil, "/subscriptions/"+grant.Subscription.ID)
	}
	chosen, err := selectionOf(grant.Subscription)
	if err != nil {
		return err
	}
	return d.showSelection(c, http.StatusOK, grant.Subscription, chosen, nil, nil)
}

// changeSelection changes filters and order, or tries the filters, or offers more rows.
func (d ownerPages) changeSelection(c echo.Context) error {
	owner, grant, err := d.ownSubscription(c)
	if err != nil {
		return err
	}
	form, err := site.ReadForm(c)
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
	err = d.Registry.Subscriptions.Change(c.Request().Context(), site.Actor(c), sub.ID, partners.SubscriptionChange{
		Filters: &filters, OrderBy: &orderBy, Retry: &chosen.retry, Dedupe: &chosen.dedupe,
	})
	if fields, ok := site.Refused(err); ok {
		return d.showSelection(c, http.StatusUnprocessableEntity, sub, chosen, chosen.merged(fields), nil)
	}
	return d.Settled(c, err, d.Href("/subscriptions/"+sub.ID), "The changes are saved.")
}

func (d ownerPages) previewSelection(c echo.Context, owner store.Partner, sub store.Subscription, chosen selection) error {
	if wrong := chosen.wrong(); len(wrong) > 0 {
		return d.showSelection(c, http.StatusUnprocessableEntity, sub, chosen, wrong, nil)
	}
	preview, err := d.preview(c.Request().Context(), owner, sub.Types, sub.Versions, chosen.filters())
	if err != nil {
		return err
	}
	return d.showSelection(c, http.StatusOK, sub, chosen, nil, preview)
}

func (d ownerPages) showSelection(c echo.Context, status int, sub store.Subscription, chosen selection, wrong map[string]string,
	preview *ui.PreviewView,
) error {
	here := d.Href("/subscriptions/" + sub.ID)
	v := ui.SelectionFormView{
		Action: here + "/selection", Cancel: here, Types: sub.Types, State: sub.Status, Preview: preview,
		Selection: chosen.view(here+"/selection", wrong),
	}
	page := d.PageFrame(c, "Filters, repeats, order and retries",
		ui.Crumb{Label: "Subscriptions", Href: d.Href("/subscriptions")}, ui.Crumb{Label: site.SubscriptionLabel(sub), Href: here})
	page.Invalid = len(wrong) > 0
	return d.Render(c, status, ui.SelectionFormPage(page, v))
}

// changeable reports whether an owner can change filters and order now.
func changeable(owner store.Partner, sub store.Subscription) bool {
	switch sub.Status {
	case store.SubscriptionRequested, store.SubscriptionApproved, store.SubscriptionPaused:
		return site.Waits(owner) == ""
	}
	return false
}
