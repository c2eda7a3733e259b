package templates

import "testing"

// The page of advice is what all pages are: without scripts of its own, with names and headings in order.
func TestAdvicePage(t *testing.T) {
	t.Parallel()
	p := galleryPage()
	for name, v := range map[string]AdviceView{
		"found": {
			Version: "1.0.0", VersionHref: "/v", Action: "/v/advice", API: "/r", Score: AdviceScore{Points: 64}, Sets: []AdviceScore{{"A", 64}}, Least: 80, Any: true,
			Rules: []AdviceRule{
				{ID: "EDU-26", Set: "A", Title: "<b>", Severity: "warning", State: "fails", Count: 12, Link: "https://example.nl/", Href: "#rule-a"},
				{ID: "CE-12", Title: "Name", Severity: "error", State: "holds", Link: "https://example.nl/"},
				{ID: "CE-13", Title: "No", Severity: "info", State: "not-applicable", Link: "https://example.nl/"},
			},
			Groups: []AdviceGroup{{ID: "a", Title: "<b>", Remedy: "<i>", Total: 12, More: "/v/advice?rule=a", Findings: []FindingRow{{Severity: "warning", Code: "a", Detail: "<script>", Line: 3, Column: 1, Href: "/v?line=3#L3"}}}},
		},
		"nothing": {Version: "1.0.0", VersionHref: "/v", Action: "/v/advice", Score: AdviceScore{Points: 100}},
		"one":     {Version: "1.0.0", VersionHref: "/v", Action: "/v/advice", Rule: "a", Any: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := elements(parse(t, render(t, AdvicePage(p, v))))
			checkPolicy(t, all)
			checkReferences(t, all)
			checkNames(t, all)
			checkHeadings(t, all)
		})
	}
}
