package admin

import (
	"context"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"
	"schakel/registry/profile"
	view "schakel/templates/admin"
	"schakel/templates/i18n"
	"schakel/templates/ui"
)

// rulesDoc names the guide that lists the rules with their tests.
const rulesDoc = "rules"

// moreTests is the end of a cell that names some tests of a rule and counts the others.
var moreTests = regexp.MustCompile(` and (\d+) more$`)

// conformance shows each rule with the tests that prove it, and how the settings of this installation relate to it.
func (p *pages) conformance(c echo.Context) error {
	ctx := c.Request().Context()
	v, err := p.conformanceView(ctx)
	if err != nil {
		return err
	}
	page := p.Frame(c, i18n.T(ctx, "admin.conformance.title"))
	page.Lead = i18n.T(ctx, "admin.conformance.lead")
	page.Actions = ui.LinkButton(ui.Secondary, "JSON", "/admin/conformance.json")
	return p.Render(c, http.StatusOK, view.ConformancePage(page, v))
}

// conformanceJSON answers the same for programs, in English.
func (p *pages) conformanceJSON(c echo.Context) error {
	ctx := i18n.With(c.Request().Context(), i18n.NewLocale(i18n.English, nil))
	v, err := p.conformanceView(ctx)
	if err != nil {
		return err
	}
	type setting struct {
		Key      string `json:"key"`
		Value    string `json:"value"`
		Asked    string `json:"asked,omitempty"`
		Standing string `json:"standing"`
	}
	type rule struct {
		ID       string    `json:"id"`
		Chapter  string    `json:"chapter"`
		Level    string    `json:"level"`
		Text     string    `json:"text"`
		Tests    []string  `json:"tests"`
		More     int       `json:"moreTests,omitempty"`
		Reason   string    `json:"noTestBecause,omitempty"`
		Settings []setting `json:"settings"`
	}
	out := struct {
		Version string `json:"version"`
		Tested  string `json:"tested,omitempty"`
		Relaxed int    `json:"relaxedSettings"`
		Rules   []rule `json:"rules"`
	}{v.Version, v.Tested, len(v.Relaxed), []rule{}}
	for _, chapter := range v.Chapters {
		for _, r := range chapter.Rules {
			one := rule{r.ID, chapter.Title, r.Level, r.Text, r.Tests, r.More, r.Reason, []setting{}}
			for _, s := range r.Settings {
				one.Settings = append(one.Settings, setting{s.Key, s.Value, s.Asked, string(s.Standing)})
			}
			out.Rules = append(out.Rules, one)
		}
	}
	return c.JSON(http.StatusOK, out)
}

func (p *pages) conformanceView(ctx context.Context) (view.ConformanceView, error) {
	v := view.ConformanceView{Version: p.Cfg.Version, Tested: p.Tested}
	state, err := p.Registry.Profile.Load(ctx)
	if err != nil {
		return v, err
	}
	values, about := state.Values(), map[string][]view.SettingRow{}
	for _, s := range profile.Settings() {
		row := p.settingRow(ctx, s, values[s.Key])
		for _, rule := range s.Rules {
			about[rule] = append(about[rule], row)
		}
		if row.Standing == "relaxed" {
			v.Relaxed = append(v.Relaxed, row)
		}
	}
	for _, doc := range p.Docs {
		if doc.Name == rulesDoc {
			v.Chapters = readRules(doc.Markdown, about)
		}
	}
	for _, chapter := range v.Chapters {
		for _, r := range chapter.Rules {
			v.Rules++
			if len(r.Tests) > 0 {
				v.Proven++
			}
		}
	}
	return v, nil
}

// readRules reads the chapters of the guide: a heading, and a table of id, level, text and proof.
func readRules(markdown string, about map[string][]view.SettingRow) (chapters []view.ConformanceChapter) {
	for line := range strings.Lines(markdown) {
		line = strings.TrimSpace(line)
		if title, ok := strings.CutPrefix(line, "## "); ok {
			chapters = append(chapters, view.ConformanceChapter{ID: "chapter-" + strconv.Itoa(len(chapters)+1), Title: title})
			continue
		}
		cells := strings.Split(strings.TrimSuffix(strings.TrimPrefix(line, "| "), " |"), " | ")
		if len(chapters) == 0 || !strings.HasPrefix(line, "| ") || len(cells) != 4 || cells[0] == "rule" {
			continue
		}
		r := view.ConformanceRule{ID: cells[0], Level: cells[1], Text: cells[2], Tests: []string{}, Settings: about[cells[0]]}
		if reason, none := strings.CutPrefix(cells[3], "no test: "); none {
			r.Reason = reason
		} else {
			named := cells[3]
			if more := moreTests.FindStringSubmatch(named); more != nil {
				r.More, _ = strconv.Atoi(more[1])
				named = strings.TrimSuffix(named, more[0])
			}
			r.Tests = strings.Split(named, ", ")
		}
		last := &chapters[len(chapters)-1]
		last.Rules = append(last.Rules, r)
	}
	return chapters
}
