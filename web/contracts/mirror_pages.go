package contracts

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/registry/contracts"
	"schakel/store"
	view "schakel/templates/contracts"
	"schakel/templates/i18n"
	"schakel/templates/ui"
	"schakel/web/site"
)

// MirrorPages holds the path below which mirrors are shown.
const MirrorPages = "/admin/mirrors"

// routesMirrors registers the pages about mirrors of other registers.
func (p *pages) routesMirrors(g site.RouteGroup) {
	change := g.Needs(registry.ChangeContracts)
	g.GET("/mirrors", p.mirrorsPage)
	change.POST("/mirrors", p.createMirror)
	change.GET("/mirrors/new", p.newMirrorPage)
	g.GET("/mirrors/:id", p.mirrorPage)
	change.GET("/mirrors/:id/edit", p.editMirrorPage)
	change.POST("/mirrors/:id/edit", p.changeMirror)
	change.POST("/mirrors/:id/runs", p.runMirror)
	g.GET("/mirrors/:id/copies", p.mirrorCopiesPage)
	change.POST("/mirrors/:id/removal", p.removeMirror)
	g.GET("/mirrors/:id/runs/:run", p.mirrorRunPage)
	g.GET("/mirrors/:id/alarms/:alarm", p.mirrorAlarmPage)
	g.GET("/mirrors/:id/alarms/:alarm/content", p.mirrorAlarmContent)
	change.POST("/mirrors/:id/alarms/:alarm/settlement", p.settleAlarm)
}

func mirrorHref(id string) string { return MirrorPages + "/" + url.PathEscape(id) }

// mirrorKinds are the kinds of registers, with what they are.
func mirrorKinds(ctx context.Context) []ui.Option {
	return []ui.Option{
		{Value: store.MirrorSchakel, Label: i18n.T(ctx, "contracts.mirror-kind.schakel"), Hint: i18n.T(ctx, "contracts.mirror-kind.schakel-hint")},
		{Value: store.MirrorCatalog, Label: i18n.T(ctx, "contracts.mirror-kind.catalog"), Hint: i18n.T(ctx, "contracts.mirror-kind.catalog-hint")},
		{Value: store.MirrorApicurio, Label: i18n.T(ctx, "contracts.mirror-kind.apicurio"), Hint: i18n.T(ctx, "contracts.mirror-kind.apicurio-hint")},
		{Value: store.MirrorURLs, Label: i18n.T(ctx, "contracts.mirror-kind.urls"), Hint: i18n.T(ctx, "contracts.mirror-kind.urls-hint")},
	}
}

func mirrorKindName(ctx context.Context, kind string) string {
	return i18n.Of(ctx, "contracts.mirror-kind", kind)
}

// mirrorsPage lists the registers that are mirrored.
func (p *pages) mirrorsPage(c echo.Context) error {
	ctx := c.Request().Context()
	all, err := p.Registry.Mirrors.List(ctx, site.Actor(c))
	if err != nil {
		return err
	}
	alarms := site.PageChoice(c, "alarms", []string{"open"})
	if alarms != "" {
		all = slices.DeleteFunc(all, func(s contracts.MirrorState) bool { return s.Alarms == 0 })
	}
	paging := site.PagePaging(c)
	v := view.MirrorsView{Alarms: alarms, Total: len(all), Pager: site.Pager(c, paging, len(all)), Now: p.Cfg.Now()}
	for _, s := range site.OnPage(all, paging) {
		row := view.MirrorRow{Name: s.Name, Href: mirrorHref(s.ID), Kind: mirrorKindName(ctx, s.Kind), State: "active", Copies: s.Copies, Alarms: s.Alarms, Next: s.Next}
		if !s.Enabled {
			row.State = "paused"
		}
		if s.Last != nil {
			last := mirrorRunRow(ctx, *s.Last)
			row.Last = &last
		}
		v.Rows = append(v.Rows, row)
	}
	page := p.Frame(c, i18n.T(ctx, "contracts.mirror.mirrors"))
	page.Lead = i18n.T(ctx, "contracts.mirror.lead")
	page.Actions = ui.LinkButton(ui.Primary, i18n.T(ctx, "contracts.mirror.add"), MirrorPages+"/new")
	return p.Render(c, http.StatusOK, view.MirrorsPage(page, v))
}

func mirrorRunRow(ctx context.Context, r store.MirrorRun) view.MirrorRunRow {
	cause := i18n.T(ctx, "contracts.mirror.cause-asked", r.Cause)
	if r.Cause == contracts.MirrorScheduled {
		cause = i18n.T(ctx, "contracts.mirror.cause-schedule")
	}
	return view.MirrorRunRow{
		Href: mirrorHref(r.SourceID) + "/runs/" + url.PathEscape(r.ID), Cause: cause, Error: i18n.Message(r.Error).In(ctx), Started: r.StartedAt.Time, Finished: r.FinishedAt.Time,
		Added: r.Added, Unchanged: r.Unchanged, Changed: r.Changed, Refused: r.Refused, Marked: r.Marked, Failed: r.Failed,
	}
}

// newMirrorPage asks what to mirror.
func (p *pages) newMirrorPage(c echo.Context) error {
	return p.showMirrorForm(c, http.StatusOK, store.MirrorSource{}, contracts.MirrorInput{Kind: store.MirrorSchakel, Schedule: "15 4 * * *", Enabled: true}, nil)
}

// createMirror adds a register to mirror.
func (p *pages) createMirror(c echo.Context) error {
	read := func(form site.Form) contracts.MirrorInput {
		in := contracts.MirrorInput{Kind: form.Get("kind"), Prefix: form.Get("prefix")}
		readMirror(form, &in)
		return in
	}
	return site.SubmitAbout(c, store.MirrorSource{}, read, func(in contracts.MirrorInput) error {
		made, err := p.Registry.Mirrors.Create(c.Request().Context(), site.Actor(c), in)
		return p.Saved(c, err, mirrorHref(made.ID), i18n.M("contracts.mirror.created", made.Name))
	}, p.showMirrorForm)
}

// readMirror reads what can be changed of a mirror.
func readMirror(form site.Form, in *contracts.MirrorInput) {
	in.Name, in.URL, in.PartnerID, in.Schedule = form.Get("name"), form.Get("url"), form.Get("partnerId"), form.Get("schedule")
	in.Secret, in.NoSecret, in.Enabled = form.Get("secret"), form.Checked("noSecret"), form.Checked("enabled")
	in.URLs, in.Contracts = strings.Split(form.Get("urls"), "\n"), strings.Split(form.Get("contracts"), "\n")
}

// editMirrorPage asks how a register is mirrored from now on.
func (p *pages) editMirrorPage(c echo.Context) error {
	s, err := p.Registry.Mirrors.Get(c.Request().Context(), site.Actor(c), c.Param("id"))
	if err != nil {
		return err
	}
	return p.showMirrorForm(c, http.StatusOK, s.MirrorSource, contracts.InputOfMirror(s.MirrorSource), nil)
}

// changeMirror changes how a register is mirrored.
func (p *pages) changeMirror(c echo.Context) error {
	s, err := p.Registry.Mirrors.Get(c.Request().Context(), site.Actor(c), c.Param("id"))
	if err != nil {
		return err
	}
	read := func(form site.Form) contracts.MirrorInput {
		in := contracts.InputOfMirror(s.MirrorSource)
		readMirror(form, &in)
		return in
	}
	return site.SubmitAbout(c, s.MirrorSource, read, func(in contracts.MirrorInput) error {
		row, err := p.Registry.Mirrors.Update(c.Request().Context(), site.Actor(c), s.ID, func(now *contracts.MirrorInput) { *now = in })
		return p.Saved(c, err, mirrorHref(row.ID), "contracts.mirror.saved")
	}, p.showMirrorForm)
}

func (p *pages) showMirrorForm(c echo.Context, status int, row store.MirrorSource, in contracts.MirrorInput, wrong site.FormErrors) error {
	ctx := c.Request().Context()
	partners, err := p.RoutePartners(ctx, site.Actor(c))
	if err != nil {
		return err
	}
	partners[0].Label = i18n.T(ctx, "contracts.mirror.no-partner")
	v := view.MirrorFormView{
		Action: MirrorPages, Cancel: MirrorPages, New: row.ID == "", HasKey: row.Secret != "", Enabled: in.Enabled, Name: in.Name, Kind: in.Kind, URL: in.URL,
		URLs: strings.Join(in.URLs, "\n"), Partner: in.PartnerID, Schedule: in.Schedule, Contracts: strings.Join(in.Contracts, "\n"), Prefix: in.Prefix,
		Kinds: mirrorKinds(ctx), Partners: partners, Wrong: wrong,
	}
	title := i18n.T(ctx, "contracts.mirror.add-heading")
	if row.ID != "" {
		title, v.Action, v.Cancel = i18n.T(ctx, "contracts.mirror.change-heading"), mirrorHref(row.ID)+"/edit", mirrorHref(row.ID)
	}
	page := p.Frame(c, title, ui.Crumb{Label: i18n.T(ctx, "contracts.mirror.mirrors"), Href: MirrorPages})
	page.Invalid = wrong != nil
	return p.Render(c, status, view.MirrorFormPage(page, v))
}

// runMirror asks for a run at once.
func (p *pages) runMirror(c echo.Context) error {
	id := c.Param("id")
	err := p.Registry.Mirrors.AskRun(c.Request().Context(), site.Actor(c), id)
	return p.OwnPages("/admin").Settled(c, err, mirrorHref(id), "contracts.mirror.run-begins")
}
