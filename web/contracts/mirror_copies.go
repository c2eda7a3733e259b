package contracts

import (
	"net/http"

	"github.com/labstack/echo/v4"
	"schakel/store"
	view "schakel/templates/contracts"
	"schakel/templates/ui"
	"schakel/web/site"
)

func mirrorCopyRows(copies []store.MirrorContract) []view.MirrorCopyRow {
	rows := make([]view.MirrorCopyRow, len(copies))
	for i, one := range copies {
		rows[i] = view.MirrorCopyRow{
			Copy: ui.Named{Name: one.ContractID, Href: site.ContractHref(one.ContractID)}, Origin: one.OriginID, Gone: one.GoneAt.Time, Since: one.CreatedAt.Time,
		}
	}
	return rows
}

// mirrorCopiesPage lists all contracts that were copied from a register.
func (p *pages) mirrorCopiesPage(c echo.Context) error {
	ctx, who, id, paging := c.Request().Context(), site.Actor(c), c.Param("id"), site.PagePaging(c)
	s, err := p.Registry.Mirrors.Get(ctx, who, id)
	if err != nil {
		return err
	}
	copies, total, err := p.Registry.Mirrors.CopyPage(ctx, who, id, store.Page{Number: paging.Page, Size: paging.PerPage})
	if err != nil {
		return err
	}
	page := p.Frame(c, "Copies from "+s.Name, ui.Crumb{Label: "Mirrors", Href: MirrorPages}, ui.Crumb{Label: s.Name, Href: mirrorHref(id)})
	return p.Render(c, http.StatusOK, view.MirrorCopiesPage(page, view.MirrorCopiesView{
		Rows: mirrorCopyRows(copies), Total: total, Pager: site.Pager(c, paging, total), Now: p.Cfg.Now(),
	}))
}

// removeMirror ends a mirror for good; its copies stay.
func (p *pages) removeMirror(c echo.Context) error {
	form, err := site.ReadForm(c)
	if err != nil {
		return err
	}
	ctx, id, reason := c.Request().Context(), c.Param("id"), form.Get("reason")
	s, err := p.Registry.Mirrors.Get(ctx, site.Actor(c), id)
	if err != nil {
		return err
	}
	err = p.Registry.Mirrors.Remove(ctx, site.Actor(c), id, reason)
	if fields, ok := site.Refused(err); ok {
		return p.showMirrorPage(c, http.StatusUnprocessableEntity, reason, fields["reason"])
	}
	if err != nil {
		return err
	}
	return p.Done(c, MirrorPages, s.Name+" is not mirrored any more. Its copies stay.")
}
