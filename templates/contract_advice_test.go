package templates

import (
	"testing"

	view "schakel/templates/contracts"
	"schakel/templates/ui/uitest"
)

// The page of advice follows the rules of all pages: without scripts of its own, with names and headings in order.
func TestAdvicePage(t *testing.T) {
	t.Parallel()
	p := galleryPage()
	for name, v := range map[string]view.AdviceView{
		"found": {
			Version: "1.0.0", VersionHref: "/v", Action: "/v/advice", API: "/r", Score: view.AdviceScore{Points: 64}, Sets: []view.AdviceScore{{Name: "A", Points: 64}}, Least: 80, Any: true,
			Rules: []view.AdviceRule{
				{ID: "EDU-26", Set: "A", Title: "<b>", Severity: "warning", State: "fails", Count: 12, Link: "https://example.nl/", Href: "#rule-a"},
				{ID: "CE-12", Title: "Name", Severity: "error", State: "holds", Link: "https://example.nl/"},
				{ID: "CE-13", Title: "No", Severity: "info", State: "not-applicable", Link: "https://example.nl/"},
			},
			Groups: []view.AdviceGroup{{ID: "a", Title: "<b>", Remedy: "<i>", Total: 12, More: "/v/advice?rule=a", Findings: []view.FindingRow{{Severity: "warning", Code: "a", Detail: "<script>", Line: 3, Column: 1, Href: "/v?line=3#L3"}}}},
		},
		"nothing": {Version: "1.0.0", VersionHref: "/v", Action: "/v/advice", Score: view.AdviceScore{Points: 100}},
		"one":     {Version: "1.0.0", VersionHref: "/v", Action: "/v/advice", Rule: "a", Any: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := uitest.Elements(uitest.Parse(t, uitest.Render(t, view.AdvicePage(p, v))))
			uitest.CheckPolicy(t, all)
			uitest.CheckReferences(t, all)
			uitest.CheckNames(t, all)
			uitest.CheckHeadings(t, all)
		})
	}
}
