package contracts

import (
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"
	"schakel/registry/contracts"
	"schakel/store"
	view "schakel/templates/contracts"
	"schakel/templates/i18n"
	"schakel/templates/ui"
	"schakel/web/site"
)

// Bounds of the lists on the page of a mirror: the copies have a page of their own, and
// the API has all alarms.
const (
	maxShownCopies = 20
	maxShownAlarms = 100
)

// mirrorPage shows a register that is mirrored, with its runs, copies and alarms.
func (p *pages) mirrorPage(c echo.Context) error { return p.showMirrorPage(c, http.StatusOK, "", "") }

// showMirrorPage shows the page, with the reason for a removal that was refused.
func (p *pages) showMirrorPage(c echo.Context, status int, typed string, wrong i18n.Message) error {
	ctx, who := c.Request().Context(), site.Actor(c)
	s, err := p.Registry.Mirrors.Get(ctx, who, c.Param("id"))
	if err != nil {
		return err
	}
	v := view.MirrorView{
		Name: s.Name, Kind: mirrorKindName(ctx, s.Kind), URL: s.URL, URLs: s.URLs, Contracts: s.Contracts, Schedule: s.Schedule, Prefix: s.Prefix,
		HasKey: s.Secret != "", Enabled: s.Enabled, Asked: s.AskedAt.Time, Next: s.Next, Created: s.CreatedAt.Time, CreatedBy: s.CreatedBy, Now: p.Cfg.Now(),
		RemoveAction: mirrorHref(s.ID) + "/removal", RemoveTyped: typed, RemoveError: wrong,
	}
	if s.PartnerID != "" {
		if v.Partner, err = p.AdminNames().PartnerLink(ctx, s.PartnerID); err != nil {
			return err
		}
	}
	if err := p.fillMirror(c, s.ID, &v); err != nil {
		return err
	}
	if v.History, err = p.History(ctx, store.AuditFilter{ObjectKind: "mirror", ObjectID: s.ID}, ""); err != nil {
		return err
	}
	page := p.Frame(c, s.Name, ui.Crumb{Label: i18n.T(ctx, "contracts.mirror.mirrors"), Href: MirrorPages})
	page.Actions = view.MirrorActions(mirrorHref(s.ID), s.Enabled)
	page.Invalid = wrong != ""
	return p.Render(c, status, view.MirrorPage(page, v))
}

// fillMirror adds the lists.
func (p *pages) fillMirror(c echo.Context, id string, v *view.MirrorView) error {
	ctx, who, paging := c.Request().Context(), site.Actor(c), site.PagePaging(c)
	runs, total, err := p.Registry.Mirrors.Runs(ctx, who, id, paging)
	if err != nil {
		return err
	}
	v.RunTotal, v.RunPager = total, site.Pager(c, paging, total)
	for _, r := range runs {
		v.Runs = append(v.Runs, mirrorRunRow(ctx, r))
	}
	alarms, total, err := p.Registry.Mirrors.Alarms(ctx, who, store.MirrorAsideFilter{SourceID: id, Page: store.Page{Number: 1, Size: maxShownAlarms}})
	if err != nil {
		return err
	}
	v.AlarmTotal = total
	for _, a := range alarms {
		v.Alarms = append(v.Alarms, view.MirrorAlarmRow{
			Href: alarmHref(a), Contract: a.ContractID, Version: a.Version, Found: a.FoundAt.Time, Seen: a.SeenAt.Time, Settled: a.SettledAt.Time,
		})
	}
	copies, total, err := p.Registry.Mirrors.CopyPage(ctx, who, id, store.Page{Number: 1, Size: maxShownCopies})
	if err != nil {
		return err
	}
	v.Copies, v.CopyTotal = mirrorCopyRows(copies), total
	if total > len(copies) {
		v.CopiesHref = mirrorHref(id) + "/copies"
	}
	return nil
}

func alarmHref(a store.MirrorAside) string {
	return mirrorHref(a.SourceID) + "/alarms/" + url.PathEscape(a.ID)
}

// mirrorRunPage shows one run with its log.
func (p *pages) mirrorRunPage(c echo.Context) error {
	ctx, id := c.Request().Context(), c.Param("id")
	s, err := p.Registry.Mirrors.Get(ctx, site.Actor(c), id)
	if err != nil {
		return err
	}
	run, err := p.Registry.Mirrors.OneRun(ctx, site.Actor(c), id, c.Param("run"))
	if err != nil {
		return err
	}
	lines, err := contracts.MirrorLines(run)
	if err != nil {
		return err
	}
	paging := site.PagePaging(c)
	v := view.MirrorRunView{MirrorRunRow: mirrorRunRow(ctx, run), Total: len(lines), Pager: site.Pager(c, paging, len(lines)), Now: p.Cfg.Now()}
	for _, l := range site.OnPage(lines, paging) {
		row := view.MirrorLineRow{Contract: l.Contract, Version: l.Version, Outcome: l.Outcome, Text: l.Text.In(ctx)}
		if l.Copy != "" {
			row.Copy = ui.Named{Name: l.Copy, Href: site.ContractHref(l.Copy)}
		}
		v.Lines = append(v.Lines, row)
	}
	page := p.Frame(c, i18n.T(ctx, "contracts.mirror.run-of", i18n.Time(ctx, run.StartedAt.Time)), ui.Crumb{Label: i18n.T(ctx, "contracts.mirror.mirrors"), Href: MirrorPages}, ui.Crumb{Label: s.Name, Href: mirrorHref(id)})
	return p.Render(c, http.StatusOK, view.MirrorRunPage(page, v))
}

// mirrorAlarmPage shows other bytes than those of a copy, with what they say otherwise.
func (p *pages) mirrorAlarmPage(c echo.Context) error {
	return p.showAlarm(c, http.StatusOK, "", "")
}

func (p *pages) showAlarm(c echo.Context, status int, typed string, wrong i18n.Message) error {
	ctx, who, id := c.Request().Context(), site.Actor(c), c.Param("id")
	s, err := p.Registry.Mirrors.Get(ctx, who, id)
	if err != nil {
		return err
	}
	a, err := p.Registry.Mirrors.Alarm(ctx, who, id, c.Param("alarm"))
	if err != nil {
		return err
	}
	ours, err := p.DB.ContractVersion(ctx, a.ContractID, a.Version)
	if err != nil {
		return err
	}
	v := view.MirrorAlarmView{
		Ours: ui.Named{Name: a.ContractID + " " + a.Version, Href: site.ContractVersionHref(a.ContractID, a.Version)}, URL: a.OriginURL,
		OurDigest: ours.Digest, OurSize: ours.Size, Digest: a.Digest, Size: a.Size, Found: a.FoundAt.Time, Seen: a.SeenAt.Time, Settled: a.SettledAt.Time,
		SettledBy: a.SettledBy, Reason: i18n.Message(a.Reason).In(ctx), DownloadHref: alarmHref(a) + "/content", SettleAction: alarmHref(a) + "/settlement",
		ReasonTyped: typed, ReasonError: wrong, Now: p.Cfg.Now(),
	}
	changes, err := p.Registry.Mirrors.AlarmChanges(ctx, who, id, a.ID)
	if _, refused := site.FormRefusal(err); refused != nil {
		v.Unknown = refused[""].In(ctx)
	} else if err != nil {
		return err
	}
	v.ChangeTotal = len(changes)
	for _, change := range changes[:min(len(changes), maxShownChanges)] {
		v.Changes = append(v.Changes, changeRow(ctx, change))
	}
	page := p.Frame(c, i18n.T(ctx, "contracts.mirror.alarm-of", a.ContractID, a.Version), ui.Crumb{Label: i18n.T(ctx, "contracts.mirror.mirrors"), Href: MirrorPages}, ui.Crumb{Label: s.Name, Href: mirrorHref(id)})
	page.Invalid = wrong != ""
	return p.Render(c, status, view.MirrorAlarmPage(page, v))
}

// mirrorAlarmContent answers the bytes stored aside.
func (p *pages) mirrorAlarmContent(c echo.Context) error {
	row, content, err := p.Registry.Mirrors.AlarmContent(c.Request().Context(), site.Actor(c), c.Param("id"), c.Param("alarm"))
	if err != nil {
		return err
	}
	return sendDownload(c, row, content)
}

// settleAlarm ends an alarm with a reason.
func (p *pages) settleAlarm(c echo.Context) error {
	return site.WithReason(c, site.AnyReason, func(reason string) error {
		id := c.Param("id")
		err := p.Registry.Mirrors.Settle(c.Request().Context(), site.Actor(c), id, c.Param("alarm"), reason)
		return p.OwnPages("/admin").Settled(c, err, mirrorHref(id), "contracts.mirror.alarm-settled")
	}, func(reason string, wrong i18n.Message) error {
		return p.showAlarm(c, http.StatusUnprocessableEntity, reason, wrong)
	})
}

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
	copies, total, err := p.Registry.Mirrors.CopyPage(ctx, who, id, paging)
	if err != nil {
		return err
	}
	page := p.Frame(c, i18n.T(ctx, "contracts.mirror.copies-of", s.Name), ui.Crumb{Label: i18n.T(ctx, "contracts.mirror.mirrors"), Href: MirrorPages}, ui.Crumb{Label: s.Name, Href: mirrorHref(id)})
	return p.Render(c, http.StatusOK, view.MirrorCopiesPage(page, view.MirrorCopiesView{
		Rows: mirrorCopyRows(copies), Total: total, Pager: site.Pager(c, paging, total), Now: p.Cfg.Now(),
	}))
}

// removeMirror ends a mirror for good; its copies stay.
func (p *pages) removeMirror(c echo.Context) error {
	ctx, id := c.Request().Context(), c.Param("id")
	s, err := p.Registry.Mirrors.Get(ctx, site.Actor(c), id)
	if err != nil {
		return err
	}
	return site.WithReason(c, site.AnyReason, func(reason string) error {
		return p.Saved(c, p.Registry.Mirrors.Remove(ctx, site.Actor(c), id, reason), MirrorPages, i18n.M("contracts.mirror.removed", s.Name))
	}, func(reason string, wrong i18n.Message) error {
		return p.showMirrorPage(c, http.StatusUnprocessableEntity, reason, wrong)
	})
}
