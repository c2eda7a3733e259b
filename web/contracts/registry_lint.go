package contracts

import (
	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/registry/contracts/lint"
)

// LintAnswer is the advice on a document.
type LintAnswer struct {
	Score    int              `json:"score"`
	Sets     []lintSetAnswer  `json:"sets"`
	Rules    []lintRuleAnswer `json:"rules"`
	Findings []FindingAnswer  `json:"findings"`
}

type lintSetAnswer struct {
	Name  string `json:"name"`
	Score int    `json:"score"`
}

// lintRuleAnswer is a rule and how the document does by it.
type lintRuleAnswer struct {
	Code     string `json:"code"`
	ID       string `json:"id"`
	Set      string `json:"set"`
	Title    string `json:"title"`
	Severity string `json:"severity"`
	State    string `json:"state"`
	Count    int    `json:"count"`
	Link     string `json:"link"`
}

func newLintAnswer(r lint.Report) *LintAnswer {
	answer := &LintAnswer{Score: r.Score, Sets: []lintSetAnswer{}, Findings: newFindingAnswers(r.Findings)}
	for _, set := range lint.Sets() {
		if score, applies := r.SetScore(set); applies {
			answer.Sets = append(answer.Sets, lintSetAnswer{set, score})
		}
	}
	for _, o := range r.Outcomes {
		answer.Rules = append(answer.Rules, lintRuleAnswer{o.Code, o.ID, o.Set, o.Title, o.Severity, string(o.State), o.Count, o.Link})
	}
	return answer
}

// lintOf is the advice on a version that the reader may see.
func (m *handlers) lintOf(c echo.Context, reader registry.Reader, id, version string) (*LintAnswer, error) {
	_, report, err := m.Registry.Advice.On(c.Request().Context(), reader, id, version)
	if err != nil {
		return nil, err
	}
	return newLintAnswer(report), nil
}
