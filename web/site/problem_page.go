package web

import (
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"
	"schakel/templates/ui"
)

// routesProblems registers the pages that explain problems, for anyone.
func (a *App) routesProblems() {
	g := a.pages("")
	g.GET("/problems", a.problemsPage)
	g.GET("/problems/:code", a.problemPage)
}

// typed makes the type of a problem the address of the page that explains it.
func (a *App) typed(p Problem) Problem {
	if _, known := problemTextOf(p.Code); known && p.Type == noType {
		p.Type = a.absolute("/problems/" + p.Code)
	}
	return p
}

func problemTextOf(code string) (problemText, bool) {
	all := problemTexts()
	i := slices.IndexFunc(all, func(t problemText) bool { return t.code == code })
	if i < 0 {
		return problemText{}, false
	}
	return all[i], true
}

// problemsPage lists the problems that the APIs answer.
func (a *App) problemsPage(c echo.Context) error {
	var v []ui.ProblemView
	for _, t := range problemTexts() {
		v = append(v, t.view())
	}
	page := a.page(c, "Problems")
	page.Lead = "What the APIs for machines answer when a request fails, as application/problem+json, and what to do about it."
	return a.render(c, http.StatusOK, ui.ProblemsPage(page, v))
}

// problemPage explains one problem; its address is the type of the problem.
func (a *App) problemPage(c echo.Context) error {
	t, known := problemTextOf(c.Param("code"))
	if !known {
		return echo.ErrNotFound
	}
	page := a.page(c, "Problem "+t.code)
	page.Crumbs = append(page.Crumbs, ui.Crumb{Label: "Problems", Href: "/problems"}, ui.Crumb{Label: t.code})
	return a.render(c, http.StatusOK, ui.ProblemPage(page, t.view()))
}

func (t problemText) view() ui.ProblemView {
	return ui.ProblemView{Code: t.code, Status: t.status, Title: http.StatusText(t.status), Means: t.means, Remedy: t.remedy}
}
