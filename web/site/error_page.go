package site

import (
	"context"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/templates/i18n"
	"schakel/templates/ui"
)

// RegistryProblem is the answer to a refusal of the register.
func RegistryProblem(e *registry.Error) *Problem {
	status := http.StatusBadRequest
	switch e.Code {
	case registry.CodeForbidden, registry.CodeSecondPerson:
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
	page := a.framePage(c, errorTitle(c.Request().Context(), p.Status))
	return a.Render(c, p.Status, ui.ErrorPage(page, f))
}

func errorTitle(ctx context.Context, status int) string {
	switch status {
	case http.StatusNotFound:
		return i18n.T(ctx, "site.title-404")
	case http.StatusGone:
		return i18n.T(ctx, "site.title-410")
	case http.StatusForbidden:
		return i18n.T(ctx, "site.title-403")
	case http.StatusTooManyRequests:
		return i18n.T(ctx, "site.title-429")
	case http.StatusRequestEntityTooLarge:
		return i18n.T(ctx, "site.title-413")
	case http.StatusServiceUnavailable, http.StatusInternalServerError:
		return i18n.T(ctx, "site.title-500")
	}
	return i18n.T(ctx, "site.title-other")
}

// nextStep suggests the next step to the reader.
func (a *App) nextStep(c echo.Context, p *Problem) (text, label, href string) {
	ctx, home := c.Request().Context(), HomeOf(a.CurrentAccount(c))
	switch p.Status {
	case http.StatusGone:
		return i18n.T(ctx, "site.next-410"), i18n.T(ctx, "site.go-contracts"), "/contracts"
	case http.StatusNotFound:
		return i18n.T(ctx, "site.next-404"), i18n.T(ctx, "site.go-start"), home
	case http.StatusForbidden:
		return i18n.T(ctx, "site.next-403"), i18n.T(ctx, "site.go-start"), home
	case http.StatusInternalServerError:
		return i18n.T(ctx, "site.next-500"), i18n.T(ctx, "site.go-start"), home
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		return i18n.T(ctx, "site.next-503"), i18n.T(ctx, "site.go-start"), home
	}
	return i18n.T(ctx, "site.next-other"), i18n.T(ctx, "site.go-start"), home
}

// RoutesProblems registers the pages that explain problems, for anyone.
func (a *App) RoutesProblems() {
	g := a.Pages("", registry.Anyone)
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
		v = append(v, t.view(c.Request().Context()))
	}
	ctx := c.Request().Context()
	page := a.Page(c, i18n.T(ctx, "site.problems"))
	page.Lead = i18n.T(ctx, "site.problems-lead")
	return a.Render(c, http.StatusOK, ui.ProblemsPage(page, v))
}

// problemPage explains one problem; its address is the type of the problem.
func (a *App) problemPage(c echo.Context) error {
	t, known := ProblemTextOf(c.Param("code"))
	if !known {
		return echo.ErrNotFound
	}
	ctx := c.Request().Context()
	page := a.Page(c, i18n.T(ctx, "site.problem", t.Code))
	page.Crumbs = append(page.Crumbs, ui.Crumb{Label: i18n.T(ctx, "site.problems"), Href: "/problems"}, ui.Crumb{Label: t.Code})
	return a.Render(c, http.StatusOK, ui.ProblemPage(page, t.view(ctx)))
}

func (t problemText) view(ctx context.Context) ui.ProblemView {
	return ui.ProblemView{
		Code: t.Code, Status: t.Status, Title: statusTitle(t.Status).In(ctx),
		Means: i18n.Of(ctx, "site.problem-means", t.Code), Remedy: i18n.Of(ctx, "site.problem-remedy", t.Code),
	}
}
