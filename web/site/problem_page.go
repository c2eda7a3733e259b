package site

import (
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"
	"schakel/templates/ui"
)

// RoutesProblems registers the pages that explain problems, for anyone.
func (a *App) RoutesProblems() {
	g := a.Pages("")
	g.GET("/problems", a.problemsPage)
	g.GET("/problems/:code", a.problemPage)
}

// typed makes the type of a problem the address of the page that explains it.
func (a *App) typed(p Problem) Problem {
	if _, known := ProblemTextOf(p.Code); known && p.Type == noType {
		p.Type = a.Absolute("/problems/" + p.Code)
	}
	return p
}

// ProblemTextOf finds the explanation of a problem by its code.
func ProblemTextOf(code string) (problemText, bool) {
	all := ProblemTexts()
	i := slices.IndexFunc(all, func(t problemText) bool { return t.Code == code })
	if i < 0 {
		return problemText{}, false
	}
	return all[i], true
}

// problemsPage lists the problems that the APIs answer.
func (a *App) problemsPage(c echo.Context) error {
	var v []ui.ProblemView
	for _, t := range ProblemTexts() {
		v = append(v, t.view())
	}
	page := a.Page(c, "Problems")
	page.Lead = "What the APIs for machines answer when a request fails, as application/problem+json, and what to do about it."
	return a.Render(c, http.StatusOK, ui.ProblemsPage(page, v))
}

// problemPage explains one problem; its address is the type of the problem.
func (a *App) problemPage(c echo.Context) error {
	t, known := ProblemTextOf(c.Param("code"))
	if !known {
		return echo.ErrNotFound
	}
	page := a.Page(c, "Problem "+t.Code)
	page.Crumbs = append(page.Crumbs, ui.Crumb{Label: "Problems", Href: "/problems"}, ui.Crumb{Label: t.Code})
	return a.Render(c, http.StatusOK, ui.ProblemPage(page, t.view()))
}

func (t problemText) view() ui.ProblemView {
	return ui.ProblemView{Code: t.Code, Status: t.Status, Title: http.StatusText(t.Status), Means: t.Means, Remedy: t.Remedy}
}
