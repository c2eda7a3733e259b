package contracts

import (
	"context"
	"net/http"
	"net/url"
	"slices"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/registry/contracts/contract"
	"schakel/registry/contracts/lint"
	"schakel/registry/sorted"
	"schakel/store"
	view "schakel/templates/contracts"
	"schakel/templates/i18n"
	"schakel/templates/ui"
	"schakel/web/site"
)

// advicePage shows how well a version of a contract keeps the NL API Design Rules
// and what the profile asks of events, with each finding and its line.
func (p *pages) advicePage(c echo.Context) error {
	ctx := c.Request().Context()
	reader, about, err := p.readable(c)
	if err != nil {
		return err
	}
	version, report, err := p.Registry.Advice.On(ctx, reader, about.ID, c.Param("version"))
	if err != nil {
		return err
	}
	settings, err := p.Registry.Profile.Current(ctx)
	if err != nil {
		return err
	}
	v := adviceView(ctx, report, site.ContractVersionHref(about.ID, version.Version), adviceFilter{
		severity: site.PageChoice(c, "severity", []string{contract.SeverityError, contract.SeverityWarning, contract.SeverityInfo}),
		state:    site.PageChoice(c, "state", []string{string(lint.Fails), string(lint.Holds), string(lint.NotApplicable)}),
		rule:     site.Clean(c.QueryParam("rule")),
	})
	v.Version, v.Least, v.API = version.Version, settings.MinScore, versionPath(about.ID, version.Version)
	page := p.Frame(c, i18n.T(ctx, "contracts.advice.heading", about.Title, version.Version), ui.Crumb{Label: i18n.T(ctx, "contracts.word.contracts"), Href: "/contracts"},
		ui.Crumb{Label: about.Title, Href: site.ContractHref(about.ID)}, ui.Crumb{Label: version.Version, Href: v.VersionHref})
	page.Badge = ui.State(version.Status)
	page.Actions = ui.LinkButton(ui.Secondary, i18n.T(ctx, "contracts.advice.document-and-versions"), v.VersionHref)
	return p.Render(c, http.StatusOK, view.AdvicePage(page, v))
}

// adviceFilter selects findings of the advice; rule is the code of one rule.
type adviceFilter struct{ severity, state, rule string }

func (f adviceFilter) takes(o lint.Outcome) bool {
	if f.rule != "" {
		return o.Code == f.rule
	}
	return (f.severity == "" || o.Severity == f.severity) && (f.state == "" || string(o.State) == f.state)
}

// shownFindings limits the findings shown of a rule when others are on the page too.
const shownFindings = 10

func adviceView(ctx context.Context, report lint.Report, here string, filter adviceFilter) view.AdviceView {
	v := view.AdviceView{
		VersionHref: here, Action: here + "/advice", Score: view.AdviceScore{Points: report.Score}, Any: len(report.Findings) > 0,
		Severity: filter.severity, State: filter.state, Rule: filter.rule,
	}
	for _, set := range lint.Sets() {
		if points, applies := report.SetScore(set); applies {
			v.Sets = append(v.Sets, view.AdviceScore{Name: i18n.Message(set).In(ctx), Points: points})
		}
	}
	if len(v.Sets) < 2 {
		v.Sets = nil // it is the score itself
	}
	byRule := map[string][]contract.Finding{}
	for _, f := range report.Findings {
		byRule[f.Code] = append(byRule[f.Code], f)
	}
	for _, o := range report.Outcomes {
		if !filter.takes(o) {
			continue
		}
		v.Rules = append(v.Rules, adviceRule(ctx, o))
		if found := byRule[o.Code]; len(found) > 0 {
			v.Groups = append(v.Groups, adviceGroup(ctx, o, found, v, filter))
		}
	}
	order := []string{string(lint.Fails), string(lint.Holds), string(lint.NotApplicable)}
	sorted.Stable(v.Rules, func(a, b view.AdviceRule) int {
		return slices.Index(order, a.State) - slices.Index(order, b.State)
	})
	return v
}

func adviceRule(ctx context.Context, o lint.Outcome) view.AdviceRule {
	r := view.AdviceRule{ID: o.ID, Set: i18n.Message(o.Set).In(ctx), Title: o.Title.In(ctx), Severity: o.Severity, State: string(o.State), Count: o.Count, Link: o.Link}
	if o.State == lint.Fails {
		r.Href = "#rule-" + o.Code
	}
	return r
}

func adviceGroup(ctx context.Context, o lint.Outcome, found []contract.Finding, v view.AdviceView, filter adviceFilter) view.AdviceGroup {
	g := view.AdviceGroup{ID: o.Code, Title: o.Title.In(ctx), Remedy: i18n.Message(o.Remedy).In(ctx), Total: o.Count}
	if filter.rule == "" && len(found) > shownFindings {
		found, g.More = found[:shownFindings], v.Action+"?"+url.Values{"rule": {o.Code}}.Encode()
	}
	g.Findings = findingRows(ctx, found, v.VersionHref)
	for i := range g.Findings {
		g.Findings[i].Remedy = "" // told once, below the list
	}
	return g
}

// fillScore adds the score to the page of a version where it takes no time: that of
// a large document is told once it was asked for.
func (p *pages) fillScore(c echo.Context, reader registry.Reader, v *view.VersionView, version store.ContractVersion) error {
	report, ok, err := p.Registry.Advice.AtOnce(c.Request().Context(), reader, version)
	if err != nil || !ok {
		return err
	}
	v.Score = &view.AdviceScore{Points: report.Score}
	return nil
}
