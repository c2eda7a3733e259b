package account

import (
	"context"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
	"schakel/templates/ui"
	"schakel/web/site"
)

// saveFilter saves the filter of a list under a name, and goes back to the list.
func (p *pages) saveFilter(c echo.Context) error {
	form, err := site.ReadForm(c)
	if err != nil {
		return err
	}
	f, wrong := site.ReadSavedFilter(form)
	f.AccountID = site.AccountOf(c).ID
	if wrong == "" {
		err = p.DB.Write(c.Request().Context(), func(tx *store.Tx) error { return tx.SaveFilter(c.Request().Context(), &f) })
		if errors.Is(err, store.ErrConflict) {
			wrong, err = i18n.M("site.saved-many", store.MaxSavedFilters), nil
		}
	}
	switch {
	case err != nil:
		return err
	case wrong == "":
		p.Flash(c, ui.KindOK, i18n.M("site.saved-done", i18n.Raw(f.Name)))
		return backToList(c, f)
	case !site.CanSave(f):
		p.Flash(c, ui.KindWarning, wrong)
		return backToList(c, f)
	}
	page := p.Page(c, i18n.T(c.Request().Context(), "ui.saved-save"))
	page.Invalid = true
	return p.Render(c, http.StatusUnprocessableEntity, ui.SavedFilterPage(page, ui.SavedFilterForm{
		List: f.List, Query: f.Query, Name: f.Name, CanPreset: site.FilteredLists()[f.List], Preset: f.Preset, Wrong: wrong,
	}))
}

// backToList leads to the list of a filter, with it.
func backToList(c echo.Context, f store.SavedFilter) error {
	if _, known := site.FilteredLists()[f.List]; !known {
		return c.Redirect(http.StatusSeeOther, "/account")
	}
	return c.Redirect(http.StatusSeeOther, f.List+"?"+f.Query)
}

// changeFilter does something with a filter of the reader, and goes back to its list.
func (p *pages) changeFilter(text string, change func(ctx context.Context, tx *store.Tx, f store.SavedFilter) error) echo.HandlerFunc {
	return func(c echo.Context) error {
		ctx := c.Request().Context()
		var f store.SavedFilter
		err := p.DB.Write(ctx, func(tx *store.Tx) (err error) {
			if f, err = tx.SavedFilter(ctx, site.AccountOf(c).ID, c.Param("id")); err != nil {
				return err
			}
			return change(ctx, tx, f)
		})
		if err != nil {
			return err
		}
		p.Flash(c, ui.KindOK, i18n.M(text, i18n.Raw(f.Name)))
		return backToList(c, f)
	}
}

// mountSavedFilters registers what readers do with the filters that they saved.
func (p *pages) mountSavedFilters() {
	g := p.Pages("/account/filters", registry.OwnAccount)
	g.POST("", p.saveFilter)
	g.POST("/:id/delete", p.changeFilter("site.saved-deleted", func(ctx context.Context, tx *store.Tx, f store.SavedFilter) error {
		return tx.DeleteSavedFilter(ctx, f.AccountID, f.ID)
	}))
	g.POST("/:id/preset", p.changeFilter("site.saved-preset", func(ctx context.Context, tx *store.Tx, f store.SavedFilter) error {
		return tx.PresetFilter(ctx, f.AccountID, f.List, f.ID)
	}))
	g.POST("/:id/unset", p.changeFilter("site.saved-unset", func(ctx context.Context, tx *store.Tx, f store.SavedFilter) error {
		return tx.PresetFilter(ctx, f.AccountID, f.List, "")
	}))
}
