package web

import (
	"net/http"

	"github.com/labstack/echo/v4"
	"schakel/store"
	view "schakel/templates/contracts"
	"schakel/templates/ui"
)

func mirrorCopyRows(copies []store.MirrorContract) []view.MirrorCopyRow {
	rows := make([]view.MirrorCopyRow, len(copies))
	for i, one := range copies {
		rows[i] = view.MirrorCopyRow{
			Copy: ui.Named{Name: one.ContractID, Href: contractHref(one.ContractID)}, Origin: one.OriginID, Gone: one.GoneAt.Time, Since: one.CreatedAt.Time,
		}
	}
	return rows
}

// mirrorCopiesPage lists all contracts that were copied from a register.
func (p *portal) mirrorCopiesPage(c echo.Context) error {
	ctx, who, id, paging := c.Request().Context(), actor(c), c.Param("id"), pagePaging(c)
	s, err := p.Registry.Mirrors.Get(ctx, who, id)
	if err != nil {
		return err
	}
	copies, total, err := p.Registry.Mirrors.CopyPage(ctx, who, id, store.Page{Number: paging.Page, Size: paging.PerPage})
	if err != nil {
		return err
	}
	page := p.frame(c, "Copies from "+s.Name, ui.Crumb{Label: "Mirrors", Href: mirrorPages}, ui.Crumb{Label: s.Name, Href: mirrorHref(id)})
	return p.render(c, http.StatusOK, view.MirrorCopiesPage(page, view.MirrorCopiesView{
		Rows: mirrorCopyRows(copies), Total: total, Pager: pager(c, paging, total), Now: p.cfg.Now(),
	}))
}

// removeMirror ends a mirror for good; its copies stay.
func (p *portal) removeMirror(c echo.Context) error {
	form, err := readForm(c)
	if err != nil {
		return err
	}
	ctx, id, reason := c.Request().Context(), c.Param("id"), form.Get("reason")
	s, err := p.Registry.Mirrors.Get(ctx, actor(c), id)
	if err != nil {
		return err
	}
	err = p.Registry.Mirrors.Remove(ctx, actor(c), id, reason)
	if fields, ok := refused(err); ok {
		return p.showMirrorPage(c, http.StatusUnprocessableEntity, reason, fields["reason"])
	}
	if err != nil {
		return err
	}
	return p.done(c, mirrorPages, s.Name+" is not mirrored any more. Its copies stay.")
}
