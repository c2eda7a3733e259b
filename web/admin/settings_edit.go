package admin

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"
	"schakel/registry/profile"
	view "schakel/templates/admin"
	"schakel/templates/i18n"
	"schakel/templates/ui"
	"schakel/web/site"
)

// editSettings shows the form with the settings of now, and one group of it open when the address names it.
func (p *pages) editSettings(c echo.Context) error {
	state, err := p.Registry.Profile.Load(c.Request().Context())
	if err != nil {
		return err
	}
	return p.showSettingsForm(c, http.StatusOK, settingsForm{version: state.Version, values: state.Values()}, nil)
}

// settingsForm holds the settings as typed.
type settingsForm struct {
	version int64
	values  map[string]string
	reason  string
	changes []profile.SettingChange
}

// saveSettings changes the settings. When someone else did so meanwhile, the form
// comes back with what was typed and what it would change now.
func (p *pages) saveSettings(c echo.Context) error {
	return site.Submit(c, readSettings, func(in settingsForm) error {
		_, changes, err := p.Registry.Profile.Save(c.Request().Context(), site.Actor(c), profile.ProfileChange{Version: in.version, Values: in.values, Reason: in.reason})
		return p.Saved(c, err, "/admin/settings", savedText(changes))
	}, func(c echo.Context, status int, in settingsForm, wrong site.FormErrors) error {
		if status == http.StatusConflict {
			state, would, err := p.Registry.Profile.Compare(c.Request().Context(), in.values)
			if err != nil {
				return err
			}
			in.version, in.changes = state.Version, would
		}
		return p.showSettingsForm(c, status, in, wrong)
	})
}

func readSettings(form site.Form) settingsForm {
	in := settingsForm{version: formVersion(form), values: map[string]string{}, reason: form.Get("reason")}
	for _, s := range profile.Settings() {
		in.values[s.Key] = form.Get(s.Key)
	}
	return in
}

func savedText(changes []profile.SettingChange) i18n.Message {
	if len(changes) == 0 {
		return "admin.settings.none-changed"
	}
	return i18n.M("admin.settings.changed", len(changes))
}

func (p *pages) showSettingsForm(c echo.Context, status int, in settingsForm, wrong site.FormErrors) error {
	ctx := c.Request().Context()
	v := view.SettingsFormView{Version: strconv.FormatInt(in.version, 10), Reason: in.reason, Wrong: wrong, Changes: changeRows(ctx, in.changes)}
	for _, group := range profile.Groups() {
		shown := view.SettingFormGroup{Title: group.Title.In(ctx), Open: c.QueryParam("group") == group.Key}
		for _, s := range profile.Settings() {
			if s.Group() != group.Key {
				continue
			}
			shown.Fields = append(shown.Fields, settingField(ctx, s, in.values[s.Key], wrong[s.Key]))
			shown.Open = shown.Open || wrong[s.Key] != "" || slices.ContainsFunc(in.changes, func(change profile.SettingChange) bool { return change.Key == s.Key })
		}
		v.Groups = append(v.Groups, shown)
	}
	page := p.Frame(c, i18n.T(ctx, "admin.settings.change-title"), ui.Crumb{Label: i18n.T(ctx, "admin.settings.title"), Href: "/admin/settings"})
	page.Invalid = wrong != nil
	v.Errors = settingErrors(wrong)
	return p.Render(c, status, view.SettingsFormPage(page, v))
}

// settingErrors names the setting in each line of the summary, in the order of the form.
func settingErrors(wrong site.FormErrors) []ui.FieldError {
	var list []ui.FieldError
	for _, s := range profile.Settings() {
		if text := wrong[s.Key]; text != "" {
			list = append(list, ui.FieldError{Field: s.Key, Text: i18n.M("admin.settings.wrong", s.Title, text)})
		}
	}
	return append(list, wrong.Summary("reason")...)
}

// settingField asks for a setting. What the profile asks for is named.
func settingField(ctx context.Context, s profile.Setting, value string, wrong i18n.Message) view.SettingField {
	f := ui.Field{Name: s.Key, Label: s.Title.In(ctx), Hint: settingHint(ctx, s), Value: value, Error: wrong, Required: true}
	for _, choice := range s.Choices {
		option := ui.Option{Value: choice.Value, Label: choice.Text.In(ctx), Selected: choice.Value == value}
		switch s.Standing(choice.Value) {
		case profile.StandingStrict:
			option.Hint = i18n.T(ctx, "admin.settings.asked")
		case profile.StandingRelaxed:
			option.Hint = i18n.T(ctx, "admin.settings.asks-less")
		}
		f.Options = append(f.Options, option)
	}
	return view.SettingField{Field: f, Options: s.Choices != nil}
}

// settingHint explains a setting, and names the bounds of a number or a time.
func settingHint(ctx context.Context, s profile.Setting) string {
	switch {
	case s.Choices != nil:
		return s.Explain.In(ctx)
	case s.Syntax() != "" && s.Strict != "":
		return i18n.T(ctx, "admin.settings.bounds-asked", s.Explain, s.Text(s.Least), s.Text(s.Most), s.Text(s.Strict)) + " " + s.Syntax().In(ctx)
	case s.Syntax() != "":
		return i18n.T(ctx, "admin.settings.bounds", s.Explain, s.Text(s.Least), s.Text(s.Most)) + " " + s.Syntax().In(ctx)
	case s.Strict != "":
		return i18n.T(ctx, "admin.settings.bounds-asked", s.Explain, s.Least, s.Text(s.Most), s.Strict)
	}
	return i18n.T(ctx, "admin.settings.bounds", s.Explain, s.Least, s.Text(s.Most))
}

func changeRows(ctx context.Context, changes []profile.SettingChange) []view.SettingChangeRow {
	var rows []view.SettingChangeRow
	for _, c := range changes {
		rows = append(rows, view.SettingChangeRow{
			Title: c.Title.In(ctx), Before: c.Text(c.Before).In(ctx), After: c.Text(c.After).In(ctx), Rules: strings.Join(c.Rules, ", "),
			Standing: view.SettingStanding(c.Standing(c.After)),
		})
	}
	return rows
}

// importSettings asks for a file.
func (p *pages) importSettings(c echo.Context) error {
	return p.showImport(c, http.StatusOK, view.SettingsImportView{})
}

// previewSettings shows what a file would change; nothing is changed yet.
func (p *pages) previewSettings(c echo.Context) error {
	in, err := site.ReadDocumentForm(c)
	if err != nil {
		return err
	}
	if len(in.Content()) == 0 {
		return p.refuseImport(c, in.Text, site.FormErrors{"document": "admin.settings.file-choose"}, nil)
	}
	return p.preview(c, in, http.StatusOK, view.SettingsPreviewView{})
}

// preview holds a file against the settings of now.
func (p *pages) preview(c echo.Context, in site.DocumentForm, status int, v view.SettingsPreviewView) error {
	file, err := profile.ParseProfile(in.Content())
	if bad, ok := errors.AsType[*profile.ProfileFileError](err); ok {
		return p.refuseImport(c, in.Text, notImported(in), bad)
	}
	state, changes, err := p.Registry.Profile.Compare(c.Request().Context(), file.Values)
	if bad, ok := file.Problems(err); ok {
		return p.refuseImport(c, in.Text, notImported(in), bad)
	}
	if err != nil {
		return err
	}
	v.Text, v.Version, v.Changes = string(in.Content()), strconv.FormatInt(state.Version, 10), changeRows(c.Request().Context(), changes)
	page := p.Frame(c, i18n.T(c.Request().Context(), "admin.settings.file-changes"), ui.Crumb{Label: i18n.T(c.Request().Context(), "admin.settings.title"), Href: "/admin/settings"}, ui.Crumb{Label: i18n.T(c.Request().Context(), "admin.settings.import"), Href: "/admin/settings/import"})
	page.Invalid = v.Wrong != nil
	return p.Render(c, status, view.SettingsPreviewPage(page, v))
}

func notImported(in site.DocumentForm) site.FormErrors {
	return site.FormErrors{in.Field(): "admin.settings.file-wrong"}
}

func (p *pages) refuseImport(c echo.Context, text string, wrong site.FormErrors, bad *profile.ProfileFileError) error {
	v := view.SettingsImportView{Text: text, Wrong: wrong}
	if bad != nil {
		for _, problem := range bad.Problems {
			row := view.FileProblemRow{Setting: problem.Key, Text: problem.Text.In(c.Request().Context())}
			if problem.Line > 0 {
				row.Line = strconv.Itoa(problem.Line)
			}
			v.Problems = append(v.Problems, row)
		}
	}
	return p.showImport(c, http.StatusUnprocessableEntity, v)
}

func (p *pages) showImport(c echo.Context, status int, v view.SettingsImportView) error {
	page := p.Frame(c, i18n.T(c.Request().Context(), "admin.settings.import-title"), ui.Crumb{Label: i18n.T(c.Request().Context(), "admin.settings.title"), Href: "/admin/settings"})
	page.Invalid = v.Wrong != nil
	return p.Render(c, status, view.SettingsImportPage(page, v))
}

// applySettings makes the file that was looked at the profile, unless someone
// changed the settings meanwhile: then the preview comes back, with what it
// would change now.
func (p *pages) applySettings(c echo.Context) error {
	form, err := site.ReadForm(c)
	if err != nil {
		return err
	}
	in := site.DocumentForm{Text: form.Get("text")}
	file, err := profile.ParseProfile(in.Content())
	if bad, ok := errors.AsType[*profile.ProfileFileError](err); ok {
		return p.refuseImport(c, in.Text, notImported(in), bad)
	}
	change := profile.ProfileChange{Version: formVersion(form), Values: file.Values, Reason: form.Get("reason")}
	_, changes, err := p.Registry.Profile.Save(c.Request().Context(), site.Actor(c), change)
	if status, wrong := site.FormRefusal(err); wrong != nil {
		return p.preview(c, in, status, view.SettingsPreviewView{Reason: change.Reason, Wrong: wrong})
	}
	return p.Saved(c, err, "/admin/settings", savedText(changes))
}
