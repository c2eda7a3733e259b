package partners

import (
	"net/http"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
	view "schakel/templates/partners"
	"schakel/templates/ui"
	"schakel/web/site"
)

// partnerAuditPath leads a partner to the entries that concern it.
const partnerAuditPath = "/partner/audit"

// partnerAudit is the audit trail of the own organisation, in sentences.
func (d ownerPages) partnerAudit(c echo.Context) error {
	saved, redirect, err := d.SavedFilters(c, partnerAuditPath)
	if err != nil || redirect != "" {
		return site.Elsewhere(c, redirect, err)
	}
	ctx, q, wrong := c.Request().Context(), site.ReadAuditQuery(c), site.FormErrors{}
	filter := q.Filter(wrong)
	actors, err := d.AuditActors(ctx, site.PartnerID(c))
	if err != nil {
		return err
	}
	fields := site.WithErrors(q.Fields(ctx, site.PartnerAuditActions(), actors), wrong)
	v := view.ChangesView{Saved: saved, Fields: fields, Export: site.ExportHref(c, partnerAuditPath), Now: d.Cfg.Now()}
	page := d.PageFrame(c, i18n.T(ctx, "partners.organisation.changes"))
	page.Lead = i18n.T(ctx, "partners.organisation.changes-lead")
	if len(wrong) > 0 {
		page.Invalid, v.Invalid, v.Errors = true, true, site.FieldErrors(fields)
		return d.Render(c, http.StatusUnprocessableEntity, view.ChangesPage(page, v))
	}
	paging := site.PagePaging(c)
	filter.Page, filter.PartnerID = paging, ""
	rows, total, err := d.Registry.Audit.List(ctx, registry.ScopeOf(site.PartnerID(c)), filter)
	if err != nil {
		return err
	}
	v.Table = ui.TableView{
		Total: total, Most: store.ListBound, Pager: site.LongPager(c, paging, total),
		Empty: ui.Empty{Text: i18n.T(ctx, "partners.organisation.no-changes"), ActionLabel: i18n.T(ctx, "partners.organisation.whole-trail"), ActionHref: saved.All},
	}
	for _, a := range rows {
		v.Rows = append(v.Rows, view.ChangeRow{At: a.At.Time, Text: site.AuditSentence(ctx, a)})
	}
	return d.Render(c, http.StatusOK, view.ChangesPage(page, v))
}

// exportPartnerAudit sends the entries that concern the own organisation, with their filter, as a file.
func (d ownerPages) exportPartnerAudit(c echo.Context) error {
	wrong := site.FormErrors{}
	filter := site.ReadAuditQuery(c).Filter(wrong)
	if len(wrong) > 0 {
		return site.FilterProblem(wrong)
	}
	filter.PartnerID = site.PartnerID(c)
	return d.SendAudit(c, filter.PartnerID, filter)
}
