package datasets

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"
	"schakel/registry/datasets"
	"schakel/store"
	view "schakel/templates/datasets"
	"schakel/templates/ui"
	"schakel/web/site"
)

// datasetForm is a dataset as typed, with what could not be read of it.
type datasetForm struct {
	datasets.DatasetInput
	namespaces, perFile string
}

// newDatasetPage asks for a new dataset.
func (p *Pages) newDatasetPage(c echo.Context) error {
	in := datasetForm{DatasetInput: datasets.DatasetInput{CRS: 28992, AreaKind: store.AreaGeometry, DeltaSchedule: "0 * * * *"}}
	in.namespaces, in.perFile = "gml http://www.opengis.net/gml/3.2", "5000"
	return p.showDatasetForm(c, http.StatusOK, "", in, nil)
}

// createDataset makes a dataset.
func (p *Pages) createDataset(c echo.Context) error {
	form, err := site.ReadForm(c)
	if err != nil {
		return err
	}
	in := datasetForm{DatasetInput: datasets.DatasetInput{ID: form.Get("id")}}
	wrong := in.read(form)
	var made store.Dataset
	if len(wrong) == 0 {
		made, err = p.Registry.Datasets.Create(c.Request().Context(), site.Actor(c), in.DatasetInput)
	}
	if status, refused := site.FormRefusal(err); refused != nil || len(wrong) > 0 {
		return p.showDatasetForm(c, max(status, http.StatusUnprocessableEntity), "", in, wrong.With(refused))
	}
	if err != nil {
		return err
	}
	return p.Done(c, datasetHref(made.ID), made.Title+" is there. Now publish its initial state: import a file, or let a client of yours do it.")
}

// editDatasetPage asks how a dataset is from now on.
func (p *Pages) editDatasetPage(c echo.Context) error {
	d, err := p.Registry.Datasets.Get(c.Request().Context(), c.Param("dataset"))
	if err != nil {
		return err
	}
	in := datasetForm{DatasetInput: datasets.InputOfDataset(d), perFile: strconv.FormatInt(d.PerFile, 10)}
	for _, prefix := range slices.Sorted(maps.Keys(in.Namespaces)) {
		in.namespaces += prefix + " " + in.Namespaces[prefix] + "\n"
	}
	return p.showDatasetForm(c, http.StatusOK, d.ID, in, nil)
}

// changeDataset changes a dataset.
func (p *Pages) changeDataset(c echo.Context) error {
	form, err := site.ReadForm(c)
	if err != nil {
		return err
	}
	ctx, id := c.Request().Context(), c.Param("dataset")
	if _, err := p.Registry.Datasets.Get(ctx, id); err != nil {
		return err
	}
	in := datasetForm{DatasetInput: datasets.DatasetInput{ID: id}}
	wrong := in.read(form)
	if len(wrong) == 0 {
		_, err = p.Registry.Datasets.Update(ctx, site.Actor(c), id, func(now *datasets.DatasetInput) { *now = in.DatasetInput })
	}
	if status, refused := site.FormRefusal(err); refused != nil || len(wrong) > 0 {
		return p.showDatasetForm(c, max(status, http.StatusUnprocessableEntity), id, in, wrong.With(refused))
	}
	if err != nil {
		return err
	}
	return p.Done(c, datasetHref(id), "The changes are saved.")
}

// read takes over what was typed; what is no number or no pair is told.
func (d *datasetForm) read(form site.Form) site.FormErrors {
	wrong := site.FormErrors{}
	in := &d.DatasetInput
	in.Title, in.Description = form.Get("title"), form.Get("description")
	in.RootPrefix, in.RootSpace, in.RootLocal = form.Get("rootPrefix"), form.Get("rootSpace"), form.Get("rootLocal")
	in.AreaKind, in.DeltaSchedule, in.SnapshotSchedule = form.Get("areaKind"), form.Get("deltaSchedule"), form.Get("snapshotSchedule")
	in.ObjectTypes, in.GeometryElements, in.KeyElements = typedLines(form, "objectTypes"), typedLines(form, "geometryElements"), typedLines(form, "keyElements")
	d.perFile, d.namespaces = form.Get("perFile"), form.Get("namespaces")
	var err error
	if d.perFile != "" {
		if in.PerFile, err = strconv.ParseInt(d.perFile, 10, 64); err != nil || in.PerFile < 1 {
			wrong["perFile"] = "Give a whole number of 1 or more."
		}
	}
	if in.CRS, err = strconv.ParseInt(form.Get("crs"), 10, 64); err != nil {
		wrong["crs"] = "Choose one of these."
	}
	in.Namespaces = map[string]string{}
	for _, text := range typedLines(form, "namespaces") {
		prefix, space, ok := strings.Cut(text, " ")
		if !ok {
			wrong["namespaces"] = "Write a prefix, a space and a namespace on each line."
			break
		}
		if in.Namespaces[prefix] != "" {
			wrong["namespaces"] = "The prefix " + prefix + " is there twice."
			break
		}
		in.Namespaces[prefix] = strings.TrimSpace(space)
	}
	return wrong
}

// typedLines are the lines of a field that are not empty.
func typedLines(form site.Form, name string) []string {
	var list []string
	for text := range strings.Lines(form.Get(name)) {
		if text = strings.TrimSpace(text); text != "" {
			list = append(list, text)
		}
	}
	return list
}

// showDatasetForm shows the form; id is empty for a new dataset.
func (p *Pages) showDatasetForm(c echo.Context, status int, id string, in datasetForm, wrong site.FormErrors) error {
	v := view.DatasetFormView{
		Action: datasetPages, Cancel: datasetPages, New: id == "", ID: in.ID, Title: in.Title, Description: in.Description,
		RootPrefix: in.RootPrefix, RootSpace: in.RootSpace, RootLocal: in.RootLocal, Namespaces: in.namespaces,
		ObjectTypes: strings.Join(in.ObjectTypes, "\n"), CRS: strconv.FormatInt(in.CRS, 10), AreaKind: in.AreaKind,
		GeometryElements: strings.Join(in.GeometryElements, "\n"), KeyElements: strings.Join(in.KeyElements, "\n"), PerFile: in.perFile,
		DeltaSchedule: in.DeltaSchedule, SnapshotSchedule: in.SnapshotSchedule, Wrong: wrong,
	}
	title := "Make a dataset"
	crumbs := []ui.Crumb{{Label: "Datasets", Href: datasetPages}}
	if id != "" {
		title, v.Action, v.Cancel = "Change dataset", datasetHref(id)+"/edit", datasetHref(id)
		crumbs = append(crumbs, ui.Crumb{Label: id, Href: datasetHref(id)})
	}
	page := p.Frame(c, title, crumbs...)
	page.Invalid = len(wrong) > 0
	return p.Render(c, status, view.DatasetFormPage(page, v))
}
