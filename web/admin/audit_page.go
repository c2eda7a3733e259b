package admin

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"
	"schakel/store"
	view "schakel/templates/admin"
	"schakel/templates/i18n"
	"schakel/templates/ui"
	"schakel/web/site"
)

// auditPage shows who did what, in sentences.
func (p *pages) auditPage(c echo.Context) error {
	saved, redirect, err := p.SavedFilters(c, "/admin/audit")
	if err != nil || redirect != "" {
		return site.Elsewhere(c, redirect, err)
	}
	ctx, q := c.Request().Context(), site.ReadAuditQuery(c)
	wrong := site.FormErrors{}
	filter := q.Filter(wrong)
	fields, err := p.auditFields(ctx, q, wrong)
	if err != nil {
		return err
	}
	v := view.AuditView{Path: "/admin/audit", Saved: saved, Fields: fields, Export: site.ExportHref(c, "/admin/audit"), Now: p.Cfg.Now()}
	page := p.Page(c, i18n.T(ctx, "admin.audit.title"))
	page.Lead = i18n.T(ctx, "admin.audit.lead")
	page.Crumbs = append(page.Crumbs, ui.Crumb{Label: i18n.T(ctx, "admin.audit.title")})
	if len(wrong) > 0 {
		page.Invalid, v.Invalid, v.Errors = true, true, site.FieldErrors(fields)
		return p.Render(c, http.StatusUnprocessableEntity, view.AuditTrail(page, v))
	}
	paging := site.PagePaging(c)
	filter.Page = paging
	rows, total, err := p.Registry.Audit.List(ctx, site.Actor(c).Scope(), filter)
	if err != nil {
		return err
	}
	if v.Rows, err = p.auditRows(ctx, rows); err != nil {
		return err
	}
	v.Table = ui.TableView{
		ID: "audit", Caption: i18n.T(ctx, "admin.audit.entries-title"), Total: total, Most: store.ListBound, Noun: [2]string{i18n.T(ctx, "admin.audit.entry"), i18n.T(ctx, "admin.audit.entries")}, Pager: site.LongPager(c, paging, total),
		Empty: ui.Empty{Text: i18n.T(ctx, "admin.audit.none")},
	}
	if !q.Empty() {
		v.Table.Empty = ui.Empty{Text: i18n.T(ctx, "admin.audit.no-match"), ActionLabel: i18n.T(ctx, "admin.audit.clear"), ActionHref: saved.All}
	}
	return p.Render(c, http.StatusOK, view.AuditTrail(page, v))
}

func (p *pages) auditFields(ctx context.Context, q site.AuditQuery, wrong site.FormErrors) ([]ui.Field, error) {
	partners, err := p.PartnerOptions(ctx, p.DeliveryNames())
	if err != nil {
		return nil, err
	}
	whose := []string{""} // the administrators, and the people of the partner that is filtered by
	if q.Partner != "" {
		whose = append(whose, q.Partner)
	}
	actors, err := p.AuditActors(ctx, whose...)
	if err != nil {
		return nil, err
	}
	partner := site.ChoiceField("partner", i18n.T(ctx, "admin.audit.partner"), q.Partner, partners)
	return site.WithErrors(append([]ui.Field{partner}, q.Fields(ctx, site.AuditActions(), actors)...), wrong), nil
}

// auditRows puts entries in sentences, with a link to the subject of each.
func (p *pages) auditRows(ctx context.Context, rows []store.Audit) ([]view.AuditRow, error) {
	names := p.DeliveryNames()
	list := make([]view.AuditRow, len(rows))
	for i, row := range rows {
		partner, err := names.Partner(ctx, row.PartnerID)
		if err != nil {
			return nil, err
		}
		list[i] = view.AuditRow{
			At: row.At.Time, Sentence: site.AuditSentence(ctx, row), Partner: partner,
			ObjectID: row.ObjectID, Href: auditHref(row),
		}
	}
	return list, nil
}

// auditHref is the page of what an entry is about; "" when it has none.
func auditHref(row store.Audit) string {
	switch row.ObjectKind {
	case "partner":
		return "/admin/partners/" + row.ObjectID
	case "client":
		return "/admin/clients/" + row.ObjectID
	case "endpoint":
		return "/admin/endpoints/" + row.ObjectID
	case "subscription":
		return "/admin/subscriptions/" + row.ObjectID
	case "contract":
		return site.ContractHref(row.ObjectID)
	case "delivery":
		return "/admin/deliveries/" + row.ObjectID
	case "job":
		return "/admin/jobs/" + row.ObjectID
	}
	return ""
}
