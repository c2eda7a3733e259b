package web

import (
	"errors"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"
	"schakel/registry/profile"
	view "schakel/templates/admin"
	"schakel/templates/ui"
)

// importSettings asks for a file.
func (p *portal) importSettings(c echo.Context) error {
	return p.showImport(c, http.StatusOK, view.SettingsImportView{})
}

// previewSettings shows what a file would change; nothing is changed yet.
func (p *portal) previewSettings(c echo.Context) error {
	in, err := readDocumentForm(c)
	if err != nil {
		return err
	}
	if len(in.content()) == 0 {
		return p.refuseImport(c, in.text, formErrors{"document": "Choose a file, or paste it."}, nil)
	}
	return p.preview(c, in, http.StatusOK, view.SettingsPreviewView{})
}

// preview holds a file against the settings of now.
func (p *portal) preview(c echo.Context, in documentForm, status int, v view.SettingsPreviewView) error {
	file, err := profile.ParseProfile(in.content())
	if bad, ok := errors.AsType[*profile.ProfileFileError](err); ok {
		return p.refuseImport(c, in.text, notImported(in), bad)
	}
	state, changes, err := p.Registry.Profile.Compare(c.Request().Context(), file.Values)
	if bad, ok := file.Problems(err); ok {
		return p.refuseImport(c, in.text, notImported(in), bad)
	}
	if err != nil {
		return err
	}
	v.Text, v.Version, v.Changes = string(in.content()), strconv.FormatInt(state.Version, 10), changeRows(changes)
	page := p.frame(c, "What the file changes", ui.Crumb{Label: "Settings", Href: "/admin/settings"}, ui.Crumb{Label: "Import a file", Href: "/admin/settings/import"})
	page.Invalid = v.Wrong != nil
	return p.render(c, status, view.SettingsPreviewPage(page, v))
}

func notImported(in documentForm) formErrors {
	return formErrors{in.field(): "This cannot be imported as it is, and nothing was changed; see what is wrong below."}
}

func (p *portal) refuseImport(c echo.Context, text string, wrong formErrors, bad *profile.ProfileFileError) error {
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

func (p *portal) showImport(c echo.Context, status int, v view.SettingsImportView) error {
	page := p.frame(c, "Import settings", ui.Crumb{Label: "Settings", Href: "/admin/settings"})
	page.Invalid = v.Wrong != nil
	return p.render(c, status, view.SettingsImportPage(page, v))
}

// applySettings makes the file that was looked at the profile, unless someone
// changed the settings meanwhile: then the preview comes back, with what it
// would change now.
func (p *portal) applySettings(c echo.Context) error {
	form, err := readForm(c)
	if err != nil {
		return err
	}
	in := documentForm{text: form.Get("text")}
	file, err := profile.ParseProfile(in.content())
	if bad, ok := errors.AsType[*profile.ProfileFileError](err); ok {
		return p.refuseImport(c, in.text, notImported(in), bad)
	}
	change := profile.ProfileChange{Version: formVersion(form), Values: file.Values, Reason: form.Get("reason")}
	_, changes, err := p.Registry.Profile.Save(c.Request().Context(), actor(c), change)
	if status, wrong := formRefusal(err); wrong != nil {
		return p.preview(c, in, status, view.SettingsPreviewView{Reason: change.Reason, Wrong: wrong})
	}
	if err != nil {
		return err
	}
	return p.done(c, "/admin/settings", savedText(changes))
}
