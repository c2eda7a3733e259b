package admin

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/registry/profile"
	"schakel/store"
	view "schakel/templates/admin"
	"schakel/templates/i18n"
	"schakel/templates/ui"
	"schakel/web/site"
)

// routesSettings registers the pages about the profile of the chain collaboration.
func (p *pages) routesSettings() {
	g := p.Pages("/admin/settings", registry.ReadOrganisation)
	g.GET("", p.settings)
	change := g.Needs(registry.ChangeSettings)
	change.POST("", p.saveSettings, p.RequireProof)
	change.GET("/edit", p.editSettings)
	change.POST("/revert", p.revertSetting, p.RequireProof)
	change.POST("/strict", p.strictSettings, p.RequireProof)
	g.GET("/export", p.exportSettings)
	change.GET("/import", p.importSettings)
	change.POST("/import", p.previewSettings)
	change.POST("/import/confirmation", p.applySettings, p.RequireProof)
}

// settings shows the settings and names what is relaxed.
func (p *pages) settings(c echo.Context) error {
	return p.showSettings(c, http.StatusOK, settingsForm{}, nil)
}

func (p *pages) showSettings(c echo.Context, status int, in settingsForm, wrong site.FormErrors) error {
	ctx := c.Request().Context()
	state, err := p.Registry.Profile.Load(ctx)
	if err != nil {
		return err
	}
	v := p.settingsView(ctx, state, strings.TrimSpace(c.QueryParam("q")))
	v.Now, v.Message = p.Cfg.Now(), wrong[""]
	if v.Strict != nil {
		v.Strict.ReasonValue, v.Strict.ReasonError = in.reason, wrong["reason"]
	}
	if v.History, err = p.History(ctx, store.AuditFilter{ObjectKind: "profile"}, "/admin/audit?action="+registry.ActionProfileChanged); err != nil {
		return err
	}
	page := p.Frame(c, i18n.T(ctx, "admin.settings.title"))
	page.Lead = i18n.T(ctx, "admin.settings.lead")
	page.Actions = templ.Join(ui.LinkButton(ui.Primary, i18n.T(ctx, "admin.settings.change"), "/admin/settings/edit"), ui.LinkButton(ui.Secondary, i18n.T(ctx, "admin.conformance.title"), "/admin/conformance"))
	page.Invalid = wrong != nil
	if err := p.NoteWaiting(ctx, &page, "profile"); err != nil {
		return err
	}
	return p.Render(c, status, view.SettingsPage(page, v))
}

// settingsView groups the settings that have the words looked for, with those that differ first: from the profile, then from what the
// installation started with.
func (p *pages) settingsView(ctx context.Context, state *profile.ProfileState, words string) view.SettingsView {
	v := view.SettingsView{Search: words, Version: strconv.FormatInt(state.Version, 10)}
	values := state.Values()
	var changed []view.SettingRow
	for _, group := range profile.Groups() {
		shown := view.SettingGroup{Key: group.Key, Title: group.Title.In(ctx)}
		for _, s := range profile.Settings() {
			if s.Group() != group.Key {
				continue
			}
			row := p.settingRow(ctx, s, values[s.Key])
			v.All++
			switch {
			case row.Standing == "relaxed":
				v.Relaxed = append(v.Relaxed, row)
			case row.Standard != "":
				changed = append(changed, row)
			}
			if row.Standard != "" {
				shown.Differ++
			}
			if has(words, row.Title, row.Explain, row.Value, row.Asked, row.Rules, row.Key) {
				shown.Rows = append(shown.Rows, row)
				v.Found++
			}
		}
		if len(shown.Rows) > 0 {
			v.Groups = append(v.Groups, shown)
		}
	}
	v.Differences = slices.Concat(v.Relaxed, changed)
	for _, f := range profile.FixedChoices() {
		v.Fixed = append(v.Fixed, view.FixedChoiceRow{ID: f.ID, Question: f.Question.In(ctx), Answer: f.Answer.In(ctx)})
	}
	if len(v.Relaxed) > 0 {
		v.Strict = strictDanger(ctx, state)
	}
	return v
}

// has reports whether one of the texts contains the words, whatever their case.
func has(words string, texts ...string) bool {
	words = strings.ToLower(words)
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(strings.ToLower(text), words) })
}

func (p *pages) settingRow(ctx context.Context, s profile.Setting, value string) view.SettingRow {
	row := view.SettingRow{
		Key: s.Key, Title: s.Title.In(ctx), Explain: s.Explain.In(ctx), Value: s.Text(value).In(ctx), Rules: strings.Join(s.Rules, ", "),
		Standing: view.SettingStanding(s.Standing(value)),
	}
	if s.Strict != "" {
		row.Asked = s.Text(s.Strict).In(ctx)
	}
	if standard, differs := p.Registry.Profile.Standard(s, value); differs {
		row.Standard = s.Text(standard).In(ctx)
	}
	return row
}

// revertSetting takes one setting back. What other settings do not allow is told on the page.
func (p *pages) revertSetting(c echo.Context) error {
	form, err := site.ReadForm(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	s, value, err := p.Registry.Profile.Revert(ctx, site.Actor(c), form.Get("key"), formVersion(form))
	if refused, ok := errors.AsType[*registry.Error](err); ok && refused.Code == registry.CodeInvalid {
		for _, wrong := range site.SortedFields(refused.Fields) {
			p.Flash(c, ui.KindWarning, i18n.M("admin.settings.revert-impossible", s.Title, wrong.Text))
			return c.Redirect(http.StatusSeeOther, "/admin/settings")
		}
	}
	var done i18n.Message
	if err == nil {
		done = i18n.M("admin.settings.reverted", s.Title, s.Text(value))
	}
	return p.Settled(c, err, "/admin/settings", done)
}

// strictDanger takes every relaxation back after a reason.
func strictDanger(ctx context.Context, state *profile.ProfileState) *ui.Danger {
	return &ui.Danger{
		ID: "strict", Label: i18n.T(ctx, "admin.settings.strict-label"), Action: "/admin/settings/strict", Button: i18n.T(ctx, "admin.settings.strict-button"),
		Explain:    i18n.T(ctx, "admin.settings.strict-explain"),
		ReasonName: "reason", ReasonLabel: i18n.T(ctx, "admin.settings.strict-reason"), Hidden: []ui.Hidden{{Name: "version", Value: strconv.FormatInt(state.Version, 10)}},
	}
}

// strictSettings makes the strict profile the profile.
func (p *pages) strictSettings(c echo.Context) error {
	return site.Submit(c, readSettings, func(in settingsForm) error {
		if in.reason == "" {
			return registry.Invalid(map[string]i18n.Message{"reason": "admin.settings.say-why"})
		}
		ctx := c.Request().Context()
		state, err := p.Registry.Profile.Load(ctx)
		if err != nil {
			return err
		}
		_, _, err = p.Registry.Profile.Save(ctx, site.Actor(c), profile.ProfileChange{Version: in.version, Values: state.StrictValues(), Reason: in.reason})
		return p.Saved(c, err, "/admin/settings", "admin.settings.strict-done")
	}, p.showSettings)
}

// formVersion is the version of the profile that a form was made of; one that
// cannot be read is a version that never is.
func formVersion(form site.Form) int64 {
	n, err := strconv.ParseInt(form.Get("version"), 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// exportSettings sends the settings as a file.
func (p *pages) exportSettings(c echo.Context) error {
	state, err := p.Registry.Profile.Load(c.Request().Context())
	if err != nil {
		return err
	}
	c.Response().Header().Set("Content-Disposition", `attachment; filename="schakel-profile.yaml"`)
	return c.Blob(http.StatusOK, "application/yaml; charset=utf-8", profile.ExportProfile(&state.Profile))
}
