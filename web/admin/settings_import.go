package admin

import (
	"errors"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"
	"schakel/registry/profile"
	view "schakel/templates/admin"
	"schakel/templates/ui"
	"schakel/web/site"
)

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
	if err != nil {
		return err
	}
	return p.Done(c, "/admin/settings", savedText(changes))
}
