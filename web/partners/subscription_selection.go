package partners

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"
	"schakel/delivery/event"
	"schakel/delivery/filter"
	"schakel/registry"
	"schakel/registry/partners"
	"schakel/store"
	"schakel/templates/i18n"
	"schakel/templates/ui"
	"schakel/web/site"
)

// selection holds the filters and the order of a subscription in a form.
type selection struct {
	dedupe bool
	rows   []filter.Simple // as typed, empty ones too
	others string          // JSON list
	order  string
	other  string // the attribute, when order is templates.OrderOther
	retry  partners.RetryInput

	do      string          // the button: "rows", "preview", or to send the form
	preview *ui.PreviewView // the outcome of trying the filters
}

// spareRows sets the number of empty comparisons in a form.
const spareRows = 2

// readSelection reads the fields of templates.Selection. A form that never had
// them gives no filters.
func readSelection(form site.Form) selection {
	s := selection{do: form.Get("do"), dedupe: form.Get("dedupe") != "", others: form.Get("filters"), order: form.Get("orderBy"), other: form.Get("orderOther"), retry: typedRetry(form)}
	count, _ := strconv.Atoi(form.Get("rows")) // what is no number counts as none
	for i := range min(max(count, spareRows), ui.FilterRows) {
		dialect, negated := strings.CutPrefix(form.Get(ui.FilterControl(i, "comparison")), "not-")
		s.rows = append(s.rows, filter.Simple{
			Attribute: form.Get(ui.FilterControl(i, "attribute")), Dialect: cmp.Or(dialect, "exact"),
			Text: form.Get(ui.FilterControl(i, "value")), Not: negated,
		})
	}
	return s
}

// selectionOf shows what a subscription has now.
func selectionOf(sub store.Subscription) (selection, error) {
	rows, others, err := filter.Split([]byte(sub.Filters))
	if err != nil {
		return selection{}, err
	}
	retry, err := partners.RetryOf(sub)
	if err != nil {
		return selection{}, err
	}
	s := selection{dedupe: sub.Dedupe, rows: rows, others: others, order: sub.OrderBy, retry: retry.Text()}
	if len(rows) > ui.FilterRows {
		s.rows, s.others = nil, sub.Filters
	}
	if sub.OrderBy != "" && sub.OrderBy != "subject" && sub.OrderBy != "partitionkey" {
		s.order, s.other = ui.OrderOther, sub.OrderBy
	}
	return s.grown(spareRows), nil
}

// changed reports whether something was chosen, or is being: a filter, an order, a retry schedule of its own or the end of repeats.
func (s selection) changed() bool {
	return s.dedupe || s.others != "" || s.order != "" || s.retry != partners.RetryInput{} || s.preview != nil || s.do == "rows" || s.do == "preview" ||
		slices.ContainsFunc(s.rows, func(row filter.Simple) bool { return !empty(row) })
}

// grown offers more empty comparisons.
func (s selection) grown(more int) selection {
	s.rows = append(slices.Clone(s.rows), make([]filter.Simple, max(0, min(more, ui.FilterRows-len(s.rows))))...)
	for i := range s.rows {
		s.rows[i].Dialect = cmp.Or(s.rows[i].Dialect, "exact")
	}
	return s
}

func empty(row filter.Simple) bool { return row.Attribute == "" && row.Text == "" }

// filters is the list that rows and JSON make together. It is not right when
// wrong says so, and is refused then by whoever reads it.
func (s selection) filters() string {
	rows := slices.DeleteFunc(slices.Clone(s.rows), empty)
	list, err := filter.Join(rows, s.others)
	if err != nil {
		return s.others
	}
	return list
}

// orderBy is the attribute chosen. Another one that was not named is told by a
// name that is refused.
func (s selection) orderBy() string {
	if s.order == ui.OrderOther {
		return cmp.Or(s.other, "?")
	}
	return s.order
}

// wrong returns the problems of the filters, by control.
func (s selection) wrong() map[string]i18n.Message {
	wrong := map[string]i18n.Message{}
	for i, row := range s.rows {
		if empty(row) {
			continue
		}
		control, text := rowProblem(row)
		if text != "" {
			wrong[ui.FilterControl(i, control)] = text
		}
	}
	if text := filterText(filter.Check(s.others)); text != "" {
		wrong["filters"] = text
	}
	if len(wrong) == 0 {
		if text := filterText(filter.Check(s.filters())); text != "" {
			wrong["filters"] = text
		}
	}
	return wrong
}

func rowProblem(row filter.Simple) (control string, text i18n.Message) {
	switch err := filter.Check("[" + row.JSON() + "]"); {
	case row.Attribute == "":
		return "attribute", "partners.filter.attribute-missing"
	case row.Text == "":
		return "value", "partners.filter.value-missing"
	default:
		wrong, _ := errors.AsType[*filter.Error](err)
		if wrong == nil {
			return "", ""
		}
		return "attribute", i18n.Raw(site.Capital(wrong.Detail) + ".")
	}
}

// filterText describes an error of filters with its place; "" without one.
func filterText(err error) i18n.Message {
	wrong, ok := errors.AsType[*filter.Error](err)
	switch {
	case !ok:
		return ""
	case wrong.Pointer == "":
		return i18n.Raw(site.Capital(wrong.Detail) + ".")
	}
	return i18n.M("partners.filter.at", wrong.Pointer, wrong.Detail)
}

// merged puts what the registry refused beside the controls where it was typed.
func (s selection) merged(refused map[string]i18n.Message) map[string]i18n.Message {
	all := maps.Clone(refused)
	if found := s.wrong(); len(found) > 0 {
		delete(all, "filters")
		maps.Copy(all, found)
	}
	if text := all["orderBy"]; text != "" && s.order == ui.OrderOther {
		delete(all, "orderBy")
		all["orderOther"] = text
	}
	return all
}

func (s selection) view(action string, wrong map[string]i18n.Message) ui.SelectionView {
	v := ui.SelectionView{Dedupe: s.dedupe, Others: s.others, Order: s.order, OrderOther: s.other, Retry: retryView(s.retry), Wrong: wrong, MoreAction: action}
	for _, row := range s.rows {
		comparison := row.Dialect
		if row.Not {
			comparison = "not-" + comparison
		}
		v.Rows = append(v.Rows, ui.FilterRow{Attribute: row.Attribute, Comparison: comparison, Value: row.Text})
	}
	return v
}

// subscriptionSelection shows the form for the filters and the order of a subscription.
func (d ownerPages) subscriptionSelection(c echo.Context) error {
	owner, grant, err := d.ownSubscription(c)
	if err != nil {
		return err
	}
	if !changeable(c.Request().Context(), owner, grant.Subscription) {
		return d.Closed(c, nil, "/subscriptions/"+grant.Subscription.ID)
	}
	chosen, err := selectionOf(grant.Subscription)
	if err != nil {
		return err
	}
	return d.showSelection(c, http.StatusOK, grant.Subscription, chosen, nil)
}

// changeSelection changes filters and order, or tries the filters, or offers more rows.
func (d ownerPages) changeSelection(c echo.Context) error {
	owner, grant, err := d.ownSubscription(c)
	if err != nil {
		return err
	}
	sub := grant.Subscription
	return site.SubmitAbout(c, sub, readSelection, func(chosen selection) error {
		switch chosen.do {
		case "rows":
			return d.showSelection(c, http.StatusOK, sub, chosen.grown(spareRows), nil)
		case "preview":
			return d.previewSelection(c, owner, sub, chosen)
		}
		filters, orderBy := chosen.filters(), chosen.orderBy()
		err := d.Registry.Subscriptions.Change(c.Request().Context(), site.Actor(c), sub.ID, partners.SubscriptionChange{
			Filters: &filters, OrderBy: &orderBy, Retry: &chosen.retry, Dedupe: &chosen.dedupe,
		})
		if fields, ok := site.Refused(err); ok {
			return registry.Invalid(chosen.merged(fields))
		}
		return d.Settled(c, err, d.Href("/subscriptions/"+sub.ID), "partners.selection.saved")
	}, d.showSelection)
}

func (d ownerPages) previewSelection(c echo.Context, owner store.Partner, sub store.Subscription, chosen selection) error {
	wrong := chosen.wrong()
	if len(wrong) > 0 {
		return registry.Invalid(wrong)
	}
	var err error
	if chosen.preview, err = d.preview(c.Request().Context(), owner, sub.Types, sub.Versions, chosen.filters()); err != nil {
		return err
	}
	return d.showSelection(c, http.StatusOK, sub, chosen, nil)
}

func (d ownerPages) showSelection(c echo.Context, status int, sub store.Subscription, chosen selection, wrong site.FormErrors) error {
	here := d.Href("/subscriptions/" + sub.ID)
	v := ui.SelectionFormView{
		Action: here + "/selection", Cancel: here, Types: sub.Types, State: sub.Status, Preview: chosen.preview,
		Selection: chosen.view(here+"/selection", wrong),
	}
	page := d.PageFrame(c, i18n.T(c.Request().Context(), "partners.selection.title"),
		ui.Crumb{Label: i18n.T(c.Request().Context(), "partners.label.subscriptions"), Href: d.Href("/subscriptions")}, ui.Crumb{Label: site.SubscriptionLabel(c.Request().Context(), sub), Href: here})
	page.Invalid = len(wrong) > 0
	return d.Render(c, status, ui.SelectionFormPage(page, v))
}

// changeable reports whether an owner can change filters and order now.
func changeable(ctx context.Context, owner store.Partner, sub store.Subscription) bool {
	switch sub.Status {
	case store.SubscriptionRequested, store.SubscriptionApproved, store.SubscriptionPaused:
		return site.Waits(ctx, owner) == ""
	}
	return false
}

// What a preview shows: filters are tried on the most recent events, and some of
// those are listed.
const (
	previewEvents = 200
	previewRows   = 50
)

// preview tries filters on the recent events that the owner may know of, of these
// types in the lines of versions given for them. The filters must be right.
func (d ownerPages) preview(ctx context.Context, owner store.Partner, types []string, lines map[string]string, filters string) (*ui.PreviewView, error) {
	compiled, err := filter.Parse([]byte(filters))
	if err != nil {
		return nil, err
	}
	events, withheld, err := d.Registry.Subscriptions.Recent(ctx, owner, types, lines, previewEvents)
	if err != nil {
		return nil, err
	}
	v := &ui.PreviewView{Withheld: withheld, Now: d.Cfg.Now(), Total: len(events)}
	var others []ui.PreviewRow
	for _, e := range events {
		row := ui.PreviewRow{ID: site.Shown(e.CEID), Type: e.CEType, Subject: site.Shown(e.CESubject), Accepted: e.AcceptedAt.Time}
		row.OtherVersion = !store.FitsLine(e.ContractVersions, lines[e.CEType])
		if parsed, err := event.FromParts(e.Attributes, event.DataKind(e.DataKind), nil); err == nil && !row.OtherVersion {
			row.Match = compiled.Match(parsed.Extension)
		}
		if row.Match {
			v.Rows = append(v.Rows, row)
		} else {
			others = append(others, row)
		}
	}
	v.Matching = len(v.Rows)
	v.Rows = append(v.Rows, others...)
	v.Rows = v.Rows[:min(len(v.Rows), previewRows)]
	return v, nil
}
