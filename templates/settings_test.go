package templates

import (
	"testing"

	"github.com/a-h/templ"
)

// The pages of the settings keep the rules that hold for all pages, with
// everything on them and with nothing.
func TestSettingsPages(t *testing.T) {
	t.Parallel()
	p := galleryPage()
	row := func(s SettingStanding) SettingRow {
		return SettingRow{Title: "Key", Value: "Not looked at", Asked: "Required", Rules: "IDEM-02, OPEN-04", Relaxes: "IDEM-02", Standing: s}
	}
	changes := []SettingChangeRow{{Title: "Key", Before: "Required", After: "Not looked at", Rules: "IDEM-02", Standing: "relaxed"}}
	form := SettingsFormView{
		Version: "3", Wrong: map[string]string{"a.ttl": "Choose more.", "reason": "Too long."}, Changes: changes,
		Errors: []FieldError{{Field: "a.ttl", Text: "Lifetime: choose more."}, {Field: "reason", Text: "Too long."}},
		Groups: []SettingFormGroup{{Title: "A", Fields: []SettingField{
			{Options: true, Field: Field{Name: "a.key", Label: "Key", Hint: "Whether.", Required: true, Options: []Option{{Value: "on", Label: "On", Hint: "What the profile asks for."}, {Value: "off", Label: "Off"}}}},
			{Field: Field{Name: "a.ttl", Label: "Lifetime", Value: "1h", Error: "Choose more.", Required: true}},
		}}},
	}
	for name, page := range map[string]templ.Component{
		"settings": SettingsPage(p, SettingsView{
			Groups:  []SettingGroup{{Key: "a", Title: "A", Rows: []SettingRow{row("strict"), row("tighter"), row("relaxed"), row("optional")}}},
			Relaxed: []SettingRow{row("relaxed")}, Now: now(), Message: "Changed meanwhile.",
			Strict: &Danger{ID: "strict", Label: "Back", Button: "Back", Action: "/b", ReasonName: "reason", ReasonError: "Say why."},
		}),
		"nothing relaxed": SettingsPage(p, SettingsView{Now: now()}),
		"form":            SettingsFormPage(p, form),
		"import":          SettingsImportPage(p, SettingsImportView{Text: "x", Wrong: map[string]string{"text": "Wrong."}, Problems: []FileProblemRow{{Line: "3", Setting: "a.ttl", Text: "Choose more."}}}),
		"preview":         SettingsPreviewPage(p, SettingsPreviewView{Text: "x", Version: "3", Changes: changes}),
		"no changes":      SettingsPreviewPage(p, SettingsPreviewView{}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := elements(parse(t, render(t, page)))
			checkPolicy(t, all)
			checkReferences(t, all)
			checkNames(t, all)
			checkHeadings(t, all)
		})
	}
}
