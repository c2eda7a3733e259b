package admin

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/registry/installation"
	view "schakel/templates/admin"
	"schakel/templates/i18n"
	"schakel/templates/ui"
	"schakel/web/site"
)

const installationPath = "/admin/installation"

// routesInstallation registers the page about the installation, and the path at which it proves who it is to anybody who asks.
func (p *pages) routesInstallation() {
	p.Pages("", registry.Anyone).GET(installation.ReachablePath+":question", p.reachable)
	g := p.Pages(installationPath, registry.ReadOrganisation)
	g.GET("", p.installation)
	change := g.Needs(registry.ChangeSettings)
	change.POST("/test", p.testInstallation)
	change.POST("/key", p.confirmKeyBackup)
	change.POST("/mail", p.sendTestMail)
	change.POST("/mail/confirmation", p.confirmMail)
}

// reachable answers a question with what only an installation that has this secret key can know.
func (p *pages) reachable(c echo.Context) error {
	proof, err := p.Registry.Installation.Reachable(c.Param("question"))
	if err != nil {
		return err
	}
	c.Response().Header().Set("Cache-Control", "no-store")
	return c.String(http.StatusOK, proof)
}

// installation lists what is wrong with the installation, and how far it is.
func (p *pages) installation(c echo.Context) error {
	ctx := c.Request().Context()
	facts, report, err := p.Registry.Installation.Report(ctx, false)
	if err != nil {
		return err
	}
	steps, err := p.Registry.Installation.Steps(ctx, &facts)
	if err != nil {
		return err
	}
	v := view.InstallationView{
		Now: p.Cfg.Now(), ProbedAt: facts.ProbedAt, Key: facts.StoredKey, KeyBackup: record(facts.KeyBackup), Backup: record(facts.Backup),
		Proof: c.QueryParam("mail"), BackupGuide: p.served("/docs/backups"),
		Mandates: p.Registry.Mandates != nil, MandatesGuide: p.served("/docs/mandates"),
	}
	if facts.Key != nil {
		v.KeyFile = facts.Key.Path
	}
	v.KeyConfirmed = facts.KeyBackup != nil && facts.KeyBackup.KeyID == facts.StoredKey
	if facts.Mail != nil {
		v.MailServer, v.MailKnown = facts.Mail.Host, true
	}
	for _, f := range report.Findings() {
		v.Problems = append(v.Problems, p.findingRow(ctx, f))
	}
	for _, r := range report {
		v.Checks = append(v.Checks, view.CheckRow{Title: r.Title.In(ctx), State: string(r.State)})
	}
	for _, s := range steps {
		v.Steps = append(v.Steps, view.StepRow{Title: s.Title.In(ctx), Hint: s.Hint.In(ctx), Href: p.served(s.Href), Done: s.Done, At: s.At})
	}
	page := p.Frame(c, i18n.T(ctx, "admin.installation.title"))
	page.Lead = i18n.T(ctx, "admin.installation.lead")
	page.Actions = ui.PostButton(ui.Primary, i18n.T(ctx, "admin.installation.test"), installationPath+"/test")
	return p.Render(c, http.StatusOK, view.InstallationPage(page, v))
}

func (p *pages) findingRow(ctx context.Context, f installation.Finding) view.FindingRow {
	return view.FindingRow{Code: f.Code, Severity: string(f.Severity), Text: f.Text.In(ctx), Remedy: f.Remedy.In(ctx), Href: p.served(f.Href)}
}

// served is the address of a page, or empty for a guide that this program does not serve.
func (p *pages) served(href string) string {
	name, guide := strings.CutPrefix(href, "/docs/")
	if guide && !slices.ContainsFunc(p.Docs, func(d site.Doc) bool { return d.Name == name }) {
		return ""
	}
	return href
}

func record(r *installation.Record) view.RecordView {
	if r == nil {
		return view.RecordView{}
	}
	return view.RecordView{At: r.At, By: r.By, Place: r.Place, Bytes: r.Bytes, Key: r.KeyID}
}

// testInstallation asks for our own address and looks outside again.
func (p *pages) testInstallation(c echo.Context) error {
	_, report, err := p.Registry.Installation.Report(c.Request().Context(), true)
	if err != nil {
		return err
	}
	kind, text := ui.KindOK, i18n.Message("admin.installation.tested-fine")
	if n := report.Open(); n > 0 {
		kind, text = ui.KindWarning, i18n.M("admin.installation.tested", n)
	}
	p.Flash(c, kind, text)
	return c.Redirect(http.StatusSeeOther, installationPath)
}

// confirmKeyBackup notes that the key was backed up.
func (p *pages) confirmKeyBackup(c echo.Context) error {
	form, err := site.ReadForm(c)
	if err != nil {
		return err
	}
	err = p.Registry.Installation.ConfirmKeyBackup(c.Request().Context(), site.Actor(c), form.Get("fingerprint"))
	return p.Settled(c, err, installationPath, "admin.installation.key-confirmed")
}

// sendTestMail sends a mail to the administrator who asks.
func (p *pages) sendTestMail(c echo.Context) error {
	email, err := p.Registry.Installation.SendTestMail(c.Request().Context(), site.Actor(c))
	return p.Settled(c, err, installationPath, i18n.M("admin.installation.mail-sent", email))
}

// confirmMail notes that the test mail arrived.
func (p *pages) confirmMail(c echo.Context) error {
	form, err := site.ReadForm(c)
	if err != nil {
		return err
	}
	err = p.Registry.Installation.ConfirmMail(c.Request().Context(), site.Actor(c), strings.TrimSpace(form.Get("proof")))
	return p.Settled(c, err, installationPath, "admin.installation.mail-confirmed")
}

// installationTile counts what is open of the installation; nothing when nothing is.
func (p *pages) installationTile(ctx context.Context) ([]ui.Tile, error) {
	s, err := p.Registry.Installation.Summary(ctx)
	if err != nil || s.Problems+s.Steps == 0 {
		return nil, err
	}
	t := ui.Tile{Label: i18n.T(ctx, "admin.installation.title"), Href: installationPath, Kind: ui.KindInfo}
	t.Value, t.Hint = i18n.Count(ctx, s.Problems), i18n.T(ctx, "admin.installation.tile-problems", s.Problems)
	switch {
	case s.Errors > 0:
		t.Kind = ui.KindError
	case s.Problems > 0:
		t.Kind = ui.KindWarning
	default:
		t.Value, t.Hint = i18n.Count(ctx, s.Steps), i18n.T(ctx, "admin.installation.tile-steps", s.Steps)
	}
	return []ui.Tile{t}, nil
}
