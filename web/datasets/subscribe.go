package datasets

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/labstack/echo/v4"
	"schakel/delivery/mutation/area"
	"schakel/registry"
	"schakel/registry/partners"
	"schakel/store"
	view "schakel/templates/datasets"
	"schakel/templates/i18n"
	"schakel/templates/ui"
	"schakel/web/site"
)

// maxAreaForm is the largest form with an area, in bytes: a boundary of 100,000 points fits.
const maxAreaForm = 10 << 20

// subscribeForm is a subscription to a dataset as typed.
type subscribeForm struct {
	name, purpose, endpoint, fresh string
	types                          []string
	areaName, area, crs, keys      string
	preview                        bool
}

// readSubscribe reads a form with a file in it; the file, when there is one, is the area.
func readSubscribe(c echo.Context) (in subscribeForm, err error) {
	parts, err := c.Request().MultipartReader()
	if err != nil {
		return in, echo.NewHTTPError(http.StatusUnsupportedMediaType, i18n.Message("datasets.form.multipart")).SetInternal(err)
	}
	file := ""
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return in, site.BadForm(fmt.Errorf("read form: %w", err))
		}
		raw, err := io.ReadAll(part)
		if err != nil {
			return in, site.BadForm(fmt.Errorf("read form: %w", err))
		}
		if !utf8.Valid(raw) {
			return in, echo.NewHTTPError(http.StatusBadRequest, i18n.Message("datasets.form.utf8"))
		}
		value := site.Clean(string(raw))
		switch part.FormName() {
		case "areaFile":
			file = value
		case "objectTypes":
			in.types = append(in.types, value)
		case "do":
			in.preview = value == "preview"
		default:
			in.set(part.FormName(), value)
		}
	}
	if file != "" {
		in.area = file
	}
	return in, nil
}

func (in *subscribeForm) set(name, value string) {
	field := map[string]*string{
		"name": &in.name, "purpose": &in.purpose, "endpoint": &in.endpoint, "newEndpoint": &in.fresh,
		"areaName": &in.areaName, "area": &in.area, "areaCrs": &in.crs, "keys": &in.keys,
	}[name]
	if field != nil {
		*field = value
	}
}

// bounds is the area as the registry takes it.
func (in subscribeForm) bounds() partners.AreaInput {
	crs, _ := strconv.ParseInt(in.crs, 10, 64) // what is no number is the dataset's
	a := partners.AreaInput{Name: in.areaName, Text: in.area, CRS: crs}
	if in.keys != "" {
		a.Keys = strings.Split(in.keys, "\n")
	}
	return a
}

// subscribePage asks what of a dataset the organisation wants to follow.
func (d ownerPages) subscribePage(c echo.Context) error {
	owner, err := d.Owner(c)
	if err != nil || site.Waits(owner) != "" {
		return d.Closed(c, err, "/datasets")
	}
	return d.showSubscribe(c, http.StatusOK, owner, nil, subscribeForm{}, nil)
}

// subscribe asks for a subscription, with a new endpoint when one was named; or shows the area on a map first.
func (d ownerPages) subscribe(c echo.Context) error {
	owner, err := d.Owner(c)
	if err != nil {
		return err
	}
	set, err := d.Registry.Datasets.Get(c.Request().Context(), c.Param("dataset"))
	if err != nil {
		return err
	}
	read, err := readSubscribe(c)
	if err != nil {
		return err
	}
	return site.SubmitRead(c, &read, func(in *subscribeForm) error {
		if in.preview {
			return d.showSubscribe(c, http.StatusOK, owner, nil, *in, nil)
		}
		if err := d.endpointFor(c, owner, in); err != nil {
			return err
		}
		made, err := d.Registry.Subscriptions.RequestDataset(c.Request().Context(), site.Actor(c), partners.DatasetRequest{
			Dataset: set.ID, EndpointID: in.endpoint, Name: in.name, Purpose: in.purpose, ObjectTypes: in.types, Area: in.bounds(),
		})
		return d.SettledForm(c, err, d.Dataset(set.ID), i18n.M("datasets.subscribe.sent", cmp.Or(made.Name, set.Title)))
	}, func(c echo.Context, status int, in *subscribeForm, wrong site.FormErrors) error {
		return d.showSubscribe(c, status, owner, nil, *in, wrong)
	})
}

// endpointFor finds the endpoint that was chosen among those of the owner, or makes the one that was named. What was made
// stays chosen when the rest of the form is refused.
func (d ownerPages) endpointFor(c echo.Context, owner store.Partner, in *subscribeForm) error {
	if in.fresh == "" {
		var err error
		in.endpoint, err = d.EndpointOf(c, owner, in.endpoint)
		return err
	}
	made, err := d.Registry.Endpoints.Create(c.Request().Context(), site.Actor(c), owner.ID, partners.EndpointInput{Name: in.fresh, Kind: store.EndpointFiles})
	if _, wrong := site.FormRefusal(err); wrong != nil {
		return registry.Invalid(map[string]i18n.Message{"newEndpoint": cmp.Or(wrong["name"], site.SortedFields(wrong)[0].Text)})
	}
	in.endpoint, in.fresh = made.ID, ""
	return err
}

// changeAreaPage asks what a subscription gets from now on.
func (d ownerPages) changeAreaPage(c echo.Context) error {
	owner, _, f, err := d.ownFollow(c)
	if err != nil {
		return err
	}
	in := subscribeForm{types: f.Follower.ObjectTypes}
	if f.Area != nil {
		in.areaName, in.area, in.crs, in.keys = f.Area.Name, f.Area.Given, strconv.FormatInt(f.Area.GivenCRS, 10), strings.Join(f.Area.Keys, "\n")
	}
	return d.showSubscribe(c, http.StatusOK, owner, &f, in, nil)
}

// changeArea asks for another area (MUT-49).
func (d ownerPages) changeArea(c echo.Context) error {
	owner, set, f, err := d.ownFollow(c)
	if err != nil {
		return err
	}
	read, err := readSubscribe(c)
	if err != nil {
		return err
	}
	again := func(c echo.Context, status int, in subscribeForm, wrong site.FormErrors) error {
		return d.showSubscribe(c, status, owner, &f, in, wrong)
	}
	return site.SubmitRead(c, read, func(in subscribeForm) error {
		if in.preview {
			return again(c, http.StatusOK, in, nil)
		}
		_, err := d.Registry.Subscriptions.ChangeArea(c.Request().Context(), site.Actor(c), f.Subscription.ID, partners.AreaChange{Area: in.bounds(), ObjectTypes: in.types})
		return d.SettledForm(c, err, d.Dataset(set.ID), "datasets.subscribe.change-sent")
	}, again)
}

// showSubscribe shows the form; f is the subscription that is changed, nil for a new one.
func (d ownerPages) showSubscribe(c echo.Context, status int, owner store.Partner, f *registry.DatasetFollower, in subscribeForm, wrong site.FormErrors) error {
	ctx := c.Request().Context()
	set, err := d.Registry.Datasets.Get(ctx, c.Param("dataset"))
	if err != nil {
		return err
	}
	v := view.SubscribeView{
		Action: c.Request().URL.Path, Cancel: d.Dataset(set.ID), Dataset: set.Title, Change: f != nil, Name: in.name, Purpose: in.purpose, Endpoint: in.endpoint,
		Fresh: in.fresh, AreaKind: set.AreaKind, AreaName: in.areaName, Area: in.area, CRS: in.crs, Keys: in.keys, MaxBytes: maxAreaForm - (2 << 20), Wrong: wrong,
	}
	for _, name := range set.ObjectTypes {
		v.Types = append(v.Types, ui.Option{Value: name, Label: name, Selected: slices.Contains(in.types, name)})
	}
	endpoints, err := d.Registry.Endpoints.List(ctx, registry.ScopeOf(owner.ID), owner.ID)
	if err != nil {
		return err
	}
	endpoints = slices.DeleteFunc(endpoints, func(e store.Endpoint) bool { return e.Kind != store.EndpointFiles || e.Status == store.EndpointEnded })
	for _, e := range endpoints {
		v.Endpoints = append(v.Endpoints, ui.Option{Value: e.ID, Label: e.Name})
	}
	if in.preview {
		status = d.previewArea(ctx, set, in, &v, status)
	}
	title := i18n.T(ctx, "datasets.subscribe.title", set.Title)
	if f != nil {
		title = i18n.T(ctx, "datasets.subscribe.title-change", set.Title)
	}
	page := d.PageFrame(c, title, ui.Crumb{Label: i18n.T(ctx, "datasets.title"), Href: d.Href("/datasets")}, ui.Crumb{Label: set.Title, Href: v.Cancel})
	page.Lead = i18n.T(ctx, "datasets.subscribe.lead")
	page.Invalid = len(v.Wrong) > 0
	return d.Render(c, status, view.SubscribePage(page, v))
}

// previewArea draws the area that was typed, as it would be used.
func (d ownerPages) previewArea(ctx context.Context, set store.Dataset, in subscribeForm, v *view.SubscribeView, status int) int {
	given := in.bounds()
	if given.Empty() {
		v.Wrong = site.FormErrors{"area": "datasets.subscribe.preview-empty"}
		return http.StatusUnprocessableEntity
	}
	shape, err := area.Parse(given.Text, area.Options{Dataset: area.CRS(set.CRS), Given: area.CRS(given.CRS)})
	if err != nil {
		v.Wrong = site.FormErrors{"area": i18n.Raw(site.Capital(err.Error()))}
		return http.StatusUnprocessableEntity
	}
	name := cmp.Or(given.Name, i18n.T(ctx, "datasets.subscribe.preview-name"))
	v.Preview = datasetMap(ctx, set, "map", name, []mapArea{{label: name, wkt: shape.WKT()}})
	v.PreviewText = i18n.T(ctx, "datasets.subscribe.preview-text", shape.Vertices(), systemName(set.CRS))
	return status
}
