package account

import (
	"cmp"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/registry/profile"
	"schakel/store"
	view "schakel/templates/account"
	"schakel/templates/i18n"
	"schakel/templates/ui"
	"schakel/web/site"
)

// setupForm shows the form with which the first administrator is made.
func (a *logins) setupForm(c echo.Context) error {
	if err := a.Cfg.Accounts.CheckSetupLink(c.Request().Context(), c.Param("token")); err != nil {
		return linkProblem(err)
	}
	return a.showSetup(c, http.StatusOK, view.SetupView{Start: view.StartStrict}, nil)
}

// setup makes the first administrator, saves the settings that it chose to start with, and logs in.
func (a *logins) setup(c echo.Context) error {
	var password string
	read := func(form site.Form) view.SetupView {
		password = form.Raw("password")
		return view.SetupView{Name: form.Get("name"), Email: form.Get("email"), Start: cmp.Or(form.Get("start"), view.StartStrict)}
	}
	return site.Submit(c, read, func(in view.SetupView) error {
		if in.Start != view.StartStrict && in.Start != view.StartLenient {
			return registry.Invalid(map[string]i18n.Message{"start": "account.setup-start-wrong"})
		}
		account, err := a.Cfg.Accounts.CreateAdministrator(c.Request().Context(), c.Param("token"), in.Name, in.Email, password)
		if err != nil {
			return linkProblem(err)
		}
		to, err := a.LoginByLink(c, account, site.HomeOf(&account))
		if err != nil {
			return err
		}
		a.Flash(c, ui.KindOK, "account.setup-done")
		if in.Start == view.StartLenient {
			if err := a.startLenient(c, account); err != nil {
				a.Cfg.Log.ErrorContext(c.Request().Context(), "save lenient settings", "error", err)
				a.Flash(c, ui.KindWarning, "account.setup-lenient-failed")
			}
		}
		return c.Redirect(http.StatusSeeOther, to)
	}, a.showSetup)
}

// startLenient relaxes the rules that the page of the first start named.
func (a *logins) startLenient(c echo.Context, account store.Account) error {
	if a.profiles == nil {
		return errors.New("this program has no settings")
	}
	ctx, profiles := c.Request().Context(), a.profiles
	state, err := profiles.Load(ctx)
	if err != nil {
		return err
	}
	values := state.Values()
	for _, change := range profile.Relaxations(profile.LenientProfile()) {
		values[change.Key] = change.After
	}
	_, _, err = profiles.Save(ctx, registry.AccountActor(account), profile.ProfileChange{
		Version: state.Version, Values: values, Reason: i18n.T(ctx, "account.setup-reason"),
	})
	return err
}

func (a *logins) showSetup(c echo.Context, status int, v view.SetupView, wrong site.FormErrors) error {
	ctx := c.Request().Context()
	v.Wrong = wrong
	v.Action = c.Request().URL.EscapedPath()
	for _, change := range profile.Relaxations(profile.LenientProfile()) {
		v.Relaxations = append(v.Relaxations, view.Relaxation{
			Title: change.Title.In(ctx), Strict: change.Text(change.Before).In(ctx), Lenient: change.Text(change.After).In(ctx),
		})
	}
	p := a.Page(c, i18n.T(ctx, "account.setup"))
	p.Lead = i18n.T(ctx, "account.setup-lead")
	p.Invalid = len(v.Wrong) > 0
	return a.Render(c, status, view.SetupPage(p, v))
}

// linkProblem is the answer to a one-time link that does not work.
func linkProblem(err error) error {
	if errors.Is(err, registry.ErrLinkDead) {
		return site.NewProblem(http.StatusNotFound, "link-dead", "account.link-dead")
	}
	return err
}
