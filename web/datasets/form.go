package datasets

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/registry/datasets"
	"schakel/store"
	view "schakel/templates/datasets"
	"schakel/templates/i18n"
	"schakel/templates/ui"
	"schakel/web/site"
)

// datasetForm is a dataset as typed, with what could not be read of it.
type datasetForm struct {
	datasets.DatasetInput
	namespaces, perFile string
	wrong               site.FormErrors
}

// newDatasetPage asks for a new dataset.
func (p *Pages) newDatasetPage(c echo.Context) error {
	in := datasetForm{DatasetInput: datasets.DatasetInput{CRS: 28992, AreaKind: store.AreaGeometry, DeltaSchedule: "0 * * * *"}}
	in.namespaces, in.perFile = "gml http://www.opengis.net/gml/3.2", "5000"
	return p.showDatasetForm(c, http.StatusOK, "", in, nil)
}

// createDataset makes a dataset.
func (p *Pages) createDataset(c echo.Context) error {
	return site.SubmitAbout(c, "", readDataset, func(in datasetForm) error {
		if len(in.wrong) > 0 {
			return registry.Invalid(in.wrong)
		}
		made, err := p.Registry.Datasets.Create(c.Request().Context(), site.Actor(c), in.DatasetInput)
		return p.Saved(c, err, datasetHref(made.ID), i18n.M("datasets.form.made", made.Title))
	}, p.showDatasetForm)
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
	id := c.Param("dataset")
	if _, err := p.Registry.Datasets.Get(c.Request().Context(), id); err != nil {
		return err
	}
	return site.SubmitAbout(c, id, readDataset, func(in datasetForm) error {
		if len(in.wrong) > 0 {
			return registry.Invalid(in.wrong)
		}
		in.ID = id
		_, err := p.Registry.Datasets.Update(c.Request().Context(), site.Actor(c), id, func(now *datasets.DatasetInput) { *now = in.DatasetInput })
		return p.Saved(c, err, datasetHref(id), "datasets.form.saved")
	}, p.showDatasetForm)
}

// readDataset takes over what was typed; what is no number or no pair is told.
func readDataset(form site.Form) datasetForm {
	d := datasetForm{perFile: form.Get("perFile"), namespaces: form.Get("namespaces"), wrong: site.FormErrors{}}
	d.DatasetInput = datasets.DatasetInput{
		ID: form.Get("id"), Title: form.Get("title"), Description: form.Get("description"),
		RootPrefix: form.Get("rootPrefix"), RootSpace: form.Get("rootSpace"), RootLocal: form.Get("rootLocal"), Namespaces: map[string]string{},
		AreaKind: form.Get("areaKind"), DeltaSchedule: form.Get("deltaSchedule"), SnapshotSchedule: form.Get("snapshotSchedule"),
		ObjectTypes: typedLines(form, "objectTypes"), GeometryElements: typedLines(form, "geometryElements"), KeyElements: typedLines(form, "keyElements"),
	}
	var err error
	if d.perFile != "" {
		if d.PerFile, err = strconv.ParseInt(d.perFile, 10, 64); err != nil || d.PerFile < 1 {
			d.wrong["perFile"] = "datasets.form.whole-number"
		}
	}
	if d.CRS, err = strconv.ParseInt(form.Get("crs"), 10, 64); err != nil {
		d.wrong["crs"] = "datasets.form.choose"
	}
	for _, text := range typedLines(form, "namespaces") {
		prefix, space, ok := strings.Cut(text, " ")
		if !ok {
			d.wrong["namespaces"] = "datasets.form.namespace-line"
			break
		}
		if d.Namespaces[prefix] != "" {
			d.wrong["namespaces"] = i18n.M("datasets.form.prefix-twice", prefix)
			break
		}
		d.Namespaces[prefix] = strings.TrimSpace(space)
	}
	return d
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
		Action: datasetPages, Cancel: datasetPages, New: id == "", ID: cmp.Or(id, in.ID), Title: in.Title, Description: in.Description,
		RootPrefix: in.RootPrefix, RootSpace: in.RootSpace, RootLocal: in.RootLocal, Namespaces: in.namespaces,
		ObjectTypes: strings.Join(in.ObjectTypes, "\n"), CRS: strconv.FormatInt(in.CRS, 10), AreaKind: in.AreaKind,
		GeometryElements: strings.Join(in.GeometryElements, "\n"), KeyElements: strings.Join(in.KeyElements, "\n"), PerFile: in.perFile,
		DeltaSchedule: in.DeltaSchedule, SnapshotSchedule: in.SnapshotSchedule, Wrong: wrong,
	}
	ctx := c.Request().Context()
	title := i18n.T(ctx, "datasets.list.make")
	crumbs := []ui.Crumb{{Label: i18n.T(ctx, "datasets.title"), Href: datasetPages}}
	if id != "" {
		title, v.Action, v.Cancel = i18n.T(ctx, "datasets.form.change"), datasetHref(id)+"/edit", datasetHref(id)
		crumbs = append(crumbs, ui.Crumb{Label: id, Href: datasetHref(id)})
	}
	page := p.Frame(c, title, crumbs...)
	page.Invalid = len(wrong) > 0
	return p.Render(c, status, view.DatasetFormPage(page, v))
}

// cutDelta asks for a delta at once.
func (p *Pages) cutDelta(c echo.Context) error {
	id := c.Param("dataset")
	err := p.Registry.Datasets.AskDelta(c.Request().Context(), site.Actor(c), id)
	return p.OwnPages("/admin").Settled(c, err, datasetHref(id), "datasets.done.delta")
}

// makeSnapshot asks for a snapshot at once.
func (p *Pages) makeSnapshot(c echo.Context) error {
	id := c.Param("dataset")
	err := p.Registry.Datasets.AskSnapshot(c.Request().Context(), site.Actor(c), id)
	return p.OwnPages("/admin").Settled(c, err, datasetHref(id), "datasets.done.snapshot")
}

// resetLineage makes every copy begin again.
func (p *Pages) resetLineage(c echo.Context) error {
	return p.stopDataset(c, "lineage", datasetHref(c.Param("dataset")), "datasets.done.lineage",
		func(ctx context.Context, a registry.Actor, id, reason string) error {
			_, err := p.Registry.Datasets.ResetLineage(ctx, a, id, reason)
			return err
		})
}

// endDataset ends a dataset for good.
func (p *Pages) endDataset(c echo.Context) error {
	return p.stopDataset(c, "end", datasetHref(c.Param("dataset")), "datasets.done.ended", p.Registry.Datasets.End)
}

// stopDataset does what needs a reason.
func (p *Pages) stopDataset(c echo.Context, verb, back string, text i18n.Message, do func(ctx context.Context, a registry.Actor, id, reason string) error) error {
	id := c.Param("dataset")
	if _, err := p.Registry.Datasets.Get(c.Request().Context(), id); err != nil {
		return err
	}
	return site.WithReason(c, site.ShortReason, func(reason string) error {
		return p.OwnPages("/admin").Settled(c, do(c.Request().Context(), site.Actor(c), id, reason), back, text)
	}, func(reason string, wrong i18n.Message) error {
		return p.showDataset(c, http.StatusUnprocessableEntity, datasetRefusal{verb, reason, wrong})
	})
}
