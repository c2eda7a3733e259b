package web

import (
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"
	"schakel/registry/contracts"
	"schakel/store"
	view "schakel/templates/contracts"
	"schakel/templates/ui"
)

// Bounds of the lists on the page of a mirror: the copies have a page of their own, and
// the API has all alarms.
const (
	maxShownCopies = 20
	maxShownAlarms = 100
)

// mirrorPage shows a register that is mirrored, with its runs, copies and alarms.
func (p *portal) mirrorPage(c echo.Context) error { return p.showMirrorPage(c, http.StatusOK, "", "") }

// showMirrorPage shows the page, with the reason for a removal that was refused.
func (p *portal) showMirrorPage(c echo.Context, status int, typed, wrong string) error {
	ctx, who := c.Request().Context(), actor(c)
	s, err := p.Registry.Mirrors.Get(ctx, who, c.Param("id"))
	if err != nil {
		return err
	}
	v := view.MirrorView{
		Name: s.Name, Kind: mirrorKindName(s.Kind), URL: s.URL, URLs: s.URLs, Contracts: s.Contracts, Schedule: s.Schedule, Prefix: s.Prefix,
		HasKey: s.Secret != "", Enabled: s.Enabled, Asked: s.AskedAt.Time, Next: s.Next, Created: s.CreatedAt.Time, CreatedBy: s.CreatedBy, Now: p.cfg.Now(),
		RemoveAction: mirrorHref(s.ID) + "/removal", RemoveTyped: typed, RemoveError: wrong,
	}
	if s.PartnerID != "" {
		if v.Partner, err = p.adminNames().partnerLink(ctx, s.PartnerID); err != nil {
			return err
		}
	}
	if err := p.fillMirror(c, s.ID, &v); err != nil {
		return err
	}
	if v.History, err = p.history(ctx, store.AuditFilter{ObjectKind: "mirror", ObjectID: s.ID}, ""); err != nil {
		return err
	}
	page := p.frame(c, s.Name, ui.Crumb{Label: "Mirrors", Href: mirrorPages})
	page.Actions = view.MirrorActions(mirrorHref(s.ID), s.Enabled)
	page.Invalid = wrong != ""
	return p.render(c, status, view.MirrorPage(page, v))
}

// fillMirror adds the lists.
func (p *portal) fillMirror(c echo.Context, id string, v *view.MirrorView) error {
	ctx, who, paging := c.Request().Context(), actor(c), pagePaging(c)
	runs, total, err := p.Registry.Mirrors.Runs(ctx, who, id, store.Page{Number: paging.Page, Size: paging.PerPage})
	if err != nil {
		return err
	}
	v.RunTotal, v.RunPager = total, pager(c, paging, total)
	for _, r := range runs {
		v.Runs = append(v.Runs, mirrorRunRow(r))
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
func (p *portal) mirrorRunPage(c echo.Context) error {
	ctx, id := c.Request().Context(), c.Param("id")
	s, err := p.Registry.Mirrors.Get(ctx, actor(c), id)
	if err != nil {
		return err
	}
	run, err := p.Registry.Mirrors.OneRun(ctx, actor(c), id, c.Param("run"))
	if err != nil {
		return err
	}
	lines, err := contracts.MirrorLines(run)
	if err != nil {
		return err
	}
	paging := pagePaging(c)
	v := view.MirrorRunView{MirrorRunRow: mirrorRunRow(run), Total: len(lines), Pager: pager(c, paging, len(lines)), Now: p.cfg.Now()}
	for _, l := range slicePage(lines, paging) {
		row := view.MirrorLineRow{Contract: l.Contract, Version: l.Version, Outcome: l.Outcome, Text: l.Text}
		if l.Copy != "" {
			row.Copy = ui.Named{Name: l.Copy, Href: contractHref(l.Copy)}
		}
		v.Lines = append(v.Lines, row)
	}
	page := p.frame(c, "Run of "+ui.Time(run.StartedAt.Time), ui.Crumb{Label: "Mirrors", Href: mirrorPages}, ui.Crumb{Label: s.Name, Href: mirrorHref(id)})
	return p.render(c, http.StatusOK, view.MirrorRunPage(page, v))
}

// mirrorAlarmPage shows other bytes than those of a copy, with what they say otherwise.
func (p *portal) mirrorAlarmPage(c echo.Context) error {
	return p.showAlarm(c, http.StatusOK, "", "")
}

func (p *portal) showAlarm(c echo.Context, status int, typed, wrong string) error {
	ctx, who, id := c.Request().Context(), actor(c), c.Param("id")
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
		Ours: ui.Named{Name: a.ContractID + " " + a.Version, Href: contractVersionHref(a.ContractID, a.Version)}, URL: a.OriginURL,
		OurDigest: ours.Digest, OurSize: ours.Size, Digest: a.Digest, Size: a.Size, Found: a.FoundAt.Time, Seen: a.SeenAt.Time, Settled: a.SettledAt.Time,
		SettledBy: a.SettledBy, Reason: a.Reason, DownloadHref: alarmHref(a) + "/content", SettleAction: alarmHref(a) + "/settlement",
		ReasonTyped: typed, ReasonError: wrong, Now: p.cfg.Now(),
	}
	changes, err := p.Registry.Mirrors.AlarmChanges(ctx, who, id, a.ID)
	if _, refused := formRefusal(err); refused != nil {
		v.Unknown = refused[""]
	} else if err != nil {
		return err
	}
	v.ChangeTotal = len(changes)
	for _, change := range changes[:min(len(changes), maxShownChanges)] {
		v.Changes = append(v.Changes, changeRow(change))
	}
	page := p.frame(c, "Other bytes of "+a.ContractID+" "+a.Version, ui.Crumb{Label: "Mirrors", Href: mirrorPages}, ui.Crumb{Label: s.Name, Href: mirrorHref(id)})
	page.Invalid = wrong != ""
	return p.render(c, status, view.MirrorAlarmPage(page, v))
}

// mirrorAlarmContent answers the bytes stored aside.
func (p *portal) mirrorAlarmContent(c echo.Context) error {
	row, content, err := p.Registry.Mirrors.AlarmContent(c.Request().Context(), actor(c), c.Param("id"), c.Param("alarm"))
	if err != nil {
		return err
	}
	return sendDownload(c, row, content)
}

// settleAlarm ends an alarm with a reason.
func (p *portal) settleAlarm(c echo.Context) error {
	form, err := readForm(c)
	if err != nil {
		return err
	}
	id, reason := c.Param("id"), form.Get("reason")
	err = p.Registry.Mirrors.Settle(c.Request().Context(), actor(c), id, c.Param("alarm"), reason)
	if fields, ok := refused(err); ok {
		return p.showAlarm(c, http.StatusUnprocessableEntity, reason, fields["reason"])
	}
	return p.ownDesk("/admin").settled(c, err, mirrorHref(id), "The alarm is settled. The copy stays as it was.")
}
