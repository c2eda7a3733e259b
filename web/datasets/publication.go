package datasets

import (
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
	"schakel/store"
	view "schakel/templates/datasets"
	"schakel/templates/ui"
	"schakel/web/site"
)

// publicationEvery sets how often the page of a publication refreshes its progress.
const publicationEvery = 2 * time.Second

// publication finds a publication of the dataset of the address.
func (p *Pages) publication(c echo.Context, id string) (store.MutationPublication, error) {
	one, err := p.DB.Publication(c.Request().Context(), id)
	if err == nil && one.DatasetID != c.Param("dataset") {
		err = store.ErrNotFound
	}
	return one, err
}

// publicationPage shows how far a publication is.
func (p *Pages) publicationPage(c echo.Context) error {
	one, err := p.publication(c, c.Param("publication"))
	if err != nil {
		return err
	}
	d, page, err := p.datasetOf(c, "Publication of "+ui.Time(one.CreatedAt.Time))
	if err != nil {
		return err
	}
	row := publicationRow(one)
	v := view.PublicationView{
		PublicationRow: row, Here: row.Href, Dataset: ui.Named{Name: d.Title, Href: datasetHref(d.ID)},
		First: one.FirstSeq, Last: one.LastSeq, Updated: one.UpdatedAt.Time, Now: p.Cfg.Now(), Every: publicationEvery,
	}
	own := one.ClientID == site.Actor(c).ID && one.RequestKey != "" && d.Status == store.DatasetActive
	if own && (one.Status == store.MutationFailed || one.Status == store.MutationRunning) {
		v.AgainHref = datasetHref(d.ID) + "/import?publication=" + one.ID
	}
	page.Badge = ui.State(one.Status)
	return p.Render(c, http.StatusOK, view.PublicationPage(page, v))
}

// cancelPublication stops a publication; what is in stays in.
func (p *Pages) cancelPublication(c echo.Context) error {
	one, err := p.publication(c, c.Param("publication"))
	if err != nil {
		return err
	}
	err = p.Registry.Datasets.CancelPublication(c.Request().Context(), site.Actor(c), one.DatasetID, one.ID)
	return p.OwnPages("/admin").Settled(c, err, publicationRow(one).Href, "It is stopped. What is in stays in.")
}
