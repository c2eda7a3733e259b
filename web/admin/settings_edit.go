package admin

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"
	"schakel/registry/profile"
	view "schakel/templates/admin"
	"schakel/templates/i18n"
	"schakel/templates/ui"
	"schakel/web/site"
)

// editSettings shows the form with the settings of now.
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
		return p.Saved(c, err, "/admin/settings", i18n.Message(savedText(changes)))
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

func savedText(changes []profile.SettingChange) string {
	if len(changes) == 0 {
		return "Nothing was changed."
	}
	return ui.Plural(len(changes), "setting was", "settings were") + " changed. All parts work by it within two seconds."
}

func (p *pages) showSettingsForm(c echo.Context, status int, in settingsForm, wrong site.FormErrors) error {
	v := view.SettingsFormView{Version: strconv.FormatInt(in.version, 10), Reason: in.reason, Wrong: wrong, Changes: changeRows(in.changes)}
	for _, group := range profile.Groups() {
		shown := view.SettingFormGroup{Title: group.Title}
		for _, s := range profile.Settings() {
			if s.Group() == group.Key {
				shown.Fields = append(shown.Fields, settingField(s, in.values[s.Key], wrong[s.Key]))
			}
		}
		v.Groups = append(v.Groups, shown)
	}
	page := p.Frame(c, "Change settings", ui.Crumb{Label: "Settings", Href: "/admin/settings"})
	page.Invalid = wrong != nil
	v.Errors = settingErrors(wrong)
	return p.Render(c, status, view.SettingsFormPage(page, v))
}

// settingErrors names the setting in each line of the summary, in the order of the form.
func settingErrors(wrong site.FormErrors) []ui.FieldError {
	var list []ui.FieldError
	for _, s := range profile.Settings() {
		if text := wrong[s.Key]; text != "" {
			list = append(list, ui.FieldError{Field: s.Key, Text: i18n.M("%s: %s", s.Title, text)})
		}
	}
	return append(list, wrong.Summary("reason")...)
}

// settingField asks for a setting. What the profile asks for is named.
func settingField(s profile.Setting, value string, wrong i18n.Message) view.SettingField {
	f := ui.Field{Name: s.Key, Label: s.Title, Hint: s.Explain + " (" + strings.Join(s.Rules, ", ") + ")", Value: value, Error: i18n.Message(wrong), Required: true}
	for _, choice := range s.Choices {
		option := ui.Option{Value: choice.Value, Label: choice.Text, Selected: choice.Value == value}
		switch s.Standing(choice.Value) {
		case profile.StandingStrict:
			option.Hint = "What the profile asks for."
		case profile.StandingRelaxed:
			option.Hint = "Relaxes " + strings.Join(s.Relaxes(), ", ") + "."
		}
		f.Options = append(f.Options, option)
	}
	if s.Choices == nil {
		f.Hint += " From " + s.Least + " to " + s.Text(s.Most) + "."
		if s.Strict != "" {
			f.Hint += " The profile asks for " + s.Strict + "."
		}
	}
	return view.SettingField{Field: f, Options: s.Choices != nil}
}

func changeRows(changes []profile.SettingChange) []view.SettingChangeRow {
	var rows []view.SettingChangeRow
	for _, c := range changes {
		rows = append(rows, view.SettingChangeRow{
			Title: c.Title, Before: c.Text(c.Before), After: c.Text(c.After), Rules: strings.Join(c.Rules, ", "),
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
		return p.refuseImport(c, in.Text, site.FormErrors{"document": "Choose a file, or paste it."}, nil)
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
	v.Text, v.Version, v.Changes = string(in.Content()), strconv.FormatInt(state.Version, 10), changeRows(changes)
	page := p.Frame(c, "What the file changes", ui.Crumb{Label: "Settings", Href: "/admin/settings"}, ui.Crumb{Label: "Import a file", Href: "/admin/settings/import"})
	page.Invalid = v.Wrong != nil
	return p.Render(c, status, view.SettingsPreviewPage(page, v))
}

func notImported(in site.DocumentForm) site.FormErrors {
	return site.FormErrors{in.Field(): "This cannot be imported as it is, and nothing was changed; see what is wrong below."}
}

func (p *pages) refuseImport(c echo.Context, text string, wrong site.FormErrors, bad *profile.ProfileFileError) error {
	v := view.SettingsImportView{Text: text, Wrong: wrong}
	if bad != nil {
		for _, problem := range bad.Problems {
			row := view.FileProblemRow{Setting: problem.Key, Text: problem.Text}
			if problem.Line > 0 {
				row.Line = strconv.Itoa(problem.Line)
			}
			v.Problems = append(v.Problems, row)
		}
	}
	return p.showImport(c, http.StatusUnprocessableEntity, v)
}

func (p *pages) showImport(c echo.Context, status int, v view.SettingsImportView) error {
	page := p.Frame(c, "Import settings", ui.Crumb{Label: "Settings", Href: "/admin/settings"})
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
	return p.Saved(c, err, "/admin/settings", i18n.Message(savedText(changes)))
}
