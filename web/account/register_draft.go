package account

import (
	"errors"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/registry/partners"
	view "schakel/templates/account"
	"schakel/templates/i18n"
	"schakel/templates/ui"
	"schakel/web/site"
)

// draftCookie holds what opens the registration that a browser has begun.
const draftCookie = "schakel-registration"

func (p *pages) draftToken(c echo.Context) string {
	cookie, err := c.Cookie(p.CookieName(draftCookie))
	if err != nil {
		return ""
	}
	return cookie.Value
}

// rememberDraft has the browser keep a token; an empty one is forgotten.
func (p *pages) rememberDraft(c echo.Context, token string) {
	age := int(registry.DraftLifetime / time.Second)
	if token == "" {
		age = -1
	}
	path := "/register"
	if p.HTTPS() {
		path = "/" // as __Host- asks
	}
	c.SetCookie(&http.Cookie{ // #nosec G124 -- Secure wherever the portal is reached over https
		Name: p.CookieName(draftCookie), Value: token, Path: path, MaxAge: age, HttpOnly: true, Secure: p.HTTPS(), SameSite: http.SameSiteLaxMode,
	})
}

// saveDraft keeps what was typed for this browser.
func (p *pages) saveDraft(c echo.Context, in partners.Registration) error {
	token, err := p.Registry.Partners.SaveDraft(c.Request().Context(), p.draftToken(c), in)
	if e, ok := errors.AsType[*registry.ThrottledError](err); ok {
		return throttledRegistration(c, e)
	}
	if err != nil {
		return err
	}
	p.rememberDraft(c, token)
	return nil
}

// forgetDraft removes the draft of this browser, if it has one.
func (p *pages) forgetDraft(c echo.Context) error {
	token := p.draftToken(c)
	if token == "" {
		return nil
	}
	p.rememberDraft(c, "")
	return p.Registry.Partners.ForgetDraft(c.Request().Context(), token)
}

// keepForLater keeps what was typed, right or wrong, and offers a link by mail.
func (p *pages) keepForLater(c echo.Context, in registrationForm) error {
	if err := p.saveDraft(c, in.Registration); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, "/register/saved")
}

// registerSaved offers to go on, here and in another browser.
func (p *pages) registerSaved(c echo.Context) error {
	return p.showSaved(c, http.StatusOK, "", nil)
}

func (p *pages) showSaved(c echo.Context, status int, typed string, wrong site.FormErrors) error {
	ctx := c.Request().Context()
	d, ok, err := p.Registry.Partners.Draft(ctx, p.draftToken(c))
	if err != nil || !ok {
		return errors.Join(err, c.Redirect(http.StatusSeeOther, "/register"))
	}
	if status == http.StatusOK {
		typed = d.Contact.Email
	}
	page := p.Page(c, i18n.T(ctx, "account.later-title"))
	page.Invalid = len(wrong) > 0
	return p.Render(c, status, view.SavedPage(page, view.SavedView{
		Steps: view.RegisterStepsOf(ctx, askedStep("", d.Registration)), Email: typed, KeptUntil: d.ExpiresAt, NoMail: p.NoMail() && !p.Mailbox, Wrong: wrong,
	}))
}

// mailDraft mails the link that opens the draft of this browser anywhere, to the address that is typed.
func (p *pages) mailDraft(c echo.Context) error {
	return site.Submit(c, func(form site.Form) string { return form.Get("email") }, func(email string) error {
		ctx, token := c.Request().Context(), p.draftToken(c)
		d, ok, err := p.Registry.Partners.Draft(ctx, token)
		if err != nil || !ok {
			return errors.Join(err, c.Redirect(http.StatusSeeOther, "/register"))
		}
		d.Contact.Email, d.Addr, d.Language = email, c.RealIP(), i18n.From(ctx).Lang
		if err := p.saveDraft(c, d.Registration); err != nil {
			return err
		}
		err = p.Registry.Partners.MailDraft(ctx, token, c.RealIP())
		if e, ok := errors.AsType[*registry.ThrottledError](err); ok {
			return throttledRegistration(c, e)
		}
		return p.Saved(c, err, "/register/saved", i18n.M("account.draft-mailed", registry.CleanEmail(email)))
	}, p.showSaved)
}

// dropDraft removes what this browser keeps.
func (p *pages) dropDraft(c echo.Context) error {
	if err := p.forgetDraft(c); err != nil {
		return err
	}
	p.Flash(c, ui.KindOK, "account.draft-forgotten")
	return c.Redirect(http.StatusSeeOther, "/register")
}

// resumeForm shows who opened the link in the mail the button that goes on; programs that look at mails press none.
func (p *pages) resumeForm(c echo.Context) error {
	works, err := p.Registry.Partners.ResumeLinkWorks(c.Request().Context(), c.Param("token"))
	if err != nil {
		return err
	}
	if !works {
		return resumeProblem(registry.ErrLinkDead)
	}
	page := p.Page(c, i18n.T(c.Request().Context(), "account.resume-title"))
	return p.Render(c, http.StatusOK, view.ResumePage(page, c.Request().URL.EscapedPath()))
}

// resume opens a draft in this browser.
func (p *pages) resume(c echo.Context) error {
	token, err := p.Registry.Partners.ResumeDraft(c.Request().Context(), c.Param("token"))
	if err != nil {
		return resumeProblem(err)
	}
	p.rememberDraft(c, token)
	return c.Redirect(http.StatusSeeOther, "/register")
}

func resumeProblem(err error) error {
	if errors.Is(err, registry.ErrLinkDead) {
		return site.NewProblem(http.StatusNotFound, "link-dead", "account.resume-dead")
	}
	return err
}
