package templates

import (
	"testing"

	"github.com/a-h/templ"
	view "schakel/templates/admin"
	"schakel/templates/ui"
	"schakel/templates/ui/uitest"
)

// The pages of the settings keep the rules that hold for all pages, with
// everything on them and with nothing.
func TestSettingsPages(t *testing.T) {
	t.Parallel()
	p := galleryPage()
	row := func(s view.SettingStanding) view.SettingRow {
		return view.SettingRow{Title: "Key", Value: "Not looked at", Asked: "Required", Rules: "IDEM-02, OPEN-04", Relaxes: "IDEM-02", Standing: s}
	}
	changes := []view.SettingChangeRow{{Title: "Key", Before: "Required", After: "Not looked at", Rules: "IDEM-02", Standing: "relaxed"}}
	form := view.SettingsFormView{
		Version: "3", Wrong: map[string]string{"a.ttl": "Choose more.", "reason": "Too long."}, Changes: changes,
		Errors: []ui.FieldError{{Field: "a.ttl", Text: "Lifetime: choose more."}, {Field: "reason", Text: "Too long."}},
		Groups: []view.SettingFormGroup{{Title: "A", Fields: []view.SettingField{
			{Options: true, Field: ui.Field{Name: "a.key", Label: "Key", Hint: "Whether.", Required: true, Options: []ui.Option{{Value: "on", Label: "On", Hint: "What the profile asks for."}, {Value: "off", Label: "Off"}}}},
			{Field: ui.Field{Name: "a.ttl", Label: "Lifetime", Value: "1h", Error: "Choose more.", Required: true}},
		}}},
	}
	for name, page := range map[string]templ.Component{
		"settings": view.SettingsPage(p, view.SettingsView{
			Groups:  []view.SettingGroup{{Key: "a", Title: "A", Rows: []view.SettingRow{row("strict"), row("tighter"), row("relaxed"), row("optional")}}},
			Relaxed: []view.SettingRow{row("relaxed")}, Now: uitest.Now(), Message: "Changed meanwhile.",
			Strict: &ui.Danger{ID: "strict", Label: "Back", Button: "Back", Action: "/b", ReasonName: "reason", ReasonError: "Say why."},
		}),
		"nothing relaxed": view.SettingsPage(p, view.SettingsView{Now: uitest.Now()}),
		"form":            view.SettingsFormPage(p, form),
		"import":          view.SettingsImportPage(p, view.SettingsImportView{Text: "x", Wrong: map[string]string{"text": "Wrong."}, Problems: []view.FileProblemRow{{Line: "3", Setting: "a.ttl", Text: "Choose more."}}}),
		"preview":         view.SettingsPreviewPage(p, view.SettingsPreviewView{Text: "x", Version: "3", Changes: changes}),
		"no changes":      view.SettingsPreviewPage(p, view.SettingsPreviewView{}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := uitest.Elements(uitest.Parse(t, uitest.Render(t, page)))
			uitest.CheckPolicy(t, all)
			uitest.CheckReferences(t, all)
			uitest.CheckNames(t, all)
			uitest.CheckHeadings(t, all)
		})
	}
}
