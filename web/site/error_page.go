package site

import (
	"net/http"

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
	a.recognise(c)
	f := ui.Failure{Status: p.Status, Detail: p.Detail}
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
