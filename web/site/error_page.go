package site

import (
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/templates/ui"
)

// RegistryProblem is the answer to a refusal of the register.
func RegistryProblem(e *registry.Error) *Problem {
	status := http.StatusBadRequest
	switch e.Code {
	case registry.CodeForbidden:
		status = http.StatusForbidden
	case registry.CodeConflict:
		status = http.StatusConflict
	case registry.CodeNotFound:
		status = http.StatusNotFound
	case registry.CodeGone:
		status = http.StatusGone
	case registry.CodeDigestMissing:
		status = http.StatusPreconditionRequired
	case registry.CodeDraftChanged:
		status = http.StatusPreconditionFailed
	}
	p := NewProblem(status, e.Code, e.Message)
	for _, f := range SortedFields(e.Fields) {
		p.Errors = append(p.Errors, ProblemError{Pointer: "/" + f.Field, Code: e.Code, Detail: f.Text})
	}
	return p
}

// errorPage shows a problem to a person. It works without a session too: the
// error may be that there is none.
func (a *App) errorPage(c echo.Context, p *Problem) error {
	a.setLocale(c)
	a.recognise(c)
	f := ui.Failure{Status: p.Status, Detail: p.Detail.In(c.Request().Context())}
	f.NextText, f.NextLabel, f.NextHref = a.nextStep(c, p)
	if p.Logged {
		f.Reference = RequestIDOf(c)
	}
	page := a.framePage(c, errorTitle(p.Status))
	return a.Render(c, p.Status, ui.ErrorPage(page, f))
}

func errorTitle(status int) string {
	switch status {
	case http.StatusNotFound:
		return "Page not found"
	case http.StatusGone:
		return "This version is withdrawn"
	case http.StatusForbidden:
		return "This is not for you to see"
	case http.StatusTooManyRequests:
		return "Too many tries"
	case http.StatusRequestEntityTooLarge:
		return "Too large"
	case http.StatusServiceUnavailable, http.StatusInternalServerError:
		return "Something went wrong"
	}
	return "This could not be done"
}

// nextStep suggests the next step to the reader.
func (a *App) nextStep(c echo.Context, p *Problem) (text, label, href string) {
	home := HomeOf(a.CurrentAccount(c))
	switch p.Status {
	case http.StatusGone:
		return "Look for another version of the contract.", "Go to the contracts", "/contracts"
	case http.StatusNotFound:
		return "Check the address, or find your way from the start.", "Go to the start", home
	case http.StatusForbidden:
		return "Go back, and log in with another account if you have one.", "Go to the start", home
	case http.StatusInternalServerError:
		return "Try again. If it keeps happening, give the reference below to the administrator.", "Go to the start", home
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		return "Wait a moment and try again.", "Go to the start", home
	}
	return "Go back and mend what the message says.", "Go to the start", home
}

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
