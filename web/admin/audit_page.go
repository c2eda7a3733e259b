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

// auditQuery is the filter of the audit trail as it was typed.
type auditQuery struct{ partner, action, actor, object, zone, from, until string }

func readAuditQuery(c echo.Context) auditQuery {
	read := func(name string) string { return site.Shown(site.Clean(c.QueryParam(name))) }
	return auditQuery{read("partner"), read("action"), read("actor"), read("object"), read("zone"), read("from"), read("until")}
}

func (q auditQuery) empty() bool { return q == auditQuery{zone: q.zone} }

// filter turns the query into what the store selects; what is wrong is told by field.
func (q auditQuery) filter(wrong site.FormErrors) store.AuditFilter {
	from, until := site.Period(q.zone, q.from, q.until, wrong)
	return store.AuditFilter{PartnerID: q.partner, Action: q.action, ActorID: q.actor, ObjectID: q.object, From: from, Until: until}
}

// auditPage shows who did what, in sentences.
func (p *pages) auditPage(c echo.Context) error {
	saved, redirect, err := p.SavedFilters(c, "/admin/audit")
	if err != nil || redirect != "" {
		return site.Elsewhere(c, redirect, err)
	}
	ctx, q := c.Request().Context(), readAuditQuery(c)
	wrong := site.FormErrors{}
	filter := q.filter(wrong)
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
	if !q.empty() {
		v.Table.Empty = ui.Empty{Text: i18n.T(ctx, "admin.audit.no-match"), ActionLabel: i18n.T(ctx, "admin.audit.clear"), ActionHref: saved.All}
	}
	return p.Render(c, http.StatusOK, view.AuditTrail(page, v))
}

func (p *pages) auditFields(ctx context.Context, q auditQuery, wrong site.FormErrors) ([]ui.Field, error) {
	partners, err := p.PartnerOptions(ctx, p.DeliveryNames())
	if err != nil {
		return nil, err
	}
	actors, err := p.actorOptions(ctx, q.partner)
	if err != nil {
		return nil, err
	}
	actions := []ui.Option{{Label: i18n.T(ctx, "admin.audit.all-actions")}}
	for _, action := range site.AuditActions() {
		actions = append(actions, ui.Option{Value: action, Label: site.ActionLabel(ctx, action)})
	}
	return site.WithErrors([]ui.Field{
		site.ChoiceField("partner", i18n.T(ctx, "admin.audit.partner"), q.partner, partners), site.ChoiceField("action", i18n.T(ctx, "admin.audit.action"), q.action, actions),
		site.ChoiceField("actor", i18n.T(ctx, "admin.audit.done-by"), q.actor, actors),
		{Name: "object", Label: i18n.T(ctx, "admin.audit.object"), Value: q.object, MaxLength: site.MaxFilterText},
		site.MomentField(ctx, "from", i18n.T(ctx, "admin.audit.from"), q.zone, q.from),
		site.MomentField(ctx, "until", i18n.T(ctx, "admin.audit.until"), q.zone, q.until),
	}, wrong), nil
}

// actorOptions are the administrators, and the people of the partner that is filtered by.
func (p *pages) actorOptions(ctx context.Context, partner string) ([]ui.Option, error) {
	options := []ui.Option{{Label: i18n.T(ctx, "admin.audit.everybody")}}
	accounts, err := p.DB.Accounts(ctx, "")
	if err != nil {
		return nil, err
	}
	if partner != "" {
		more, err := p.DB.Accounts(ctx, partner)
		if err != nil {
			return nil, err
		}
		accounts = append(accounts, more...)
	}
	for _, account := range accounts {
		options = append(options, ui.Option{Value: account.ID, Label: account.Name + " (" + account.Email + ")"})
	}
	return options, nil
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
