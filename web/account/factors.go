package account

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"
	"rsc.io/qr"
	"schakel/registry"
	"schakel/store"
	view "schakel/templates/account"
	"schakel/templates/i18n"
	"schakel/templates/ui"
	"schakel/web/site"
)

// Names under which the session of a browser keeps, sealed, what belongs to the pages of factors.
const (
	keptSecret = "totp"  // the secret of an app that did not show a code yet
	keptCodes  = "codes" // recovery codes that are to be shown once
)

// mountFactors registers the pages of the own second factors. Who must get one first comes here before anything else.
func (a *logins) mountFactors() {
	own := a.Pages(site.FactorsPath, registry.OwnFactors)
	own.GET("", a.factors)
	own.GET("/app", a.appForm)
	own.POST("/app", a.addApp, a.RequireProof)
	own.GET("/passkey", a.passkeyForm)
	own.POST("/passkey", a.addPasskey, a.RequireProof)
	own.POST("/codes", a.newCodes, a.RequireProof)
	own.GET("/codes", a.codes)
	own.POST("/:id/removal", a.removeFactor, a.RequireProof)
}

// factors lists the own second factors.
func (a *logins) factors(c echo.Context) error {
	return a.showFactors(c, http.StatusOK, "")
}

func (a *logins) showFactors(c echo.Context, status int, wrong i18n.Message) error {
	ctx, s := c.Request().Context(), site.SessionOf(c)
	factors, codes, err := a.Cfg.Accounts.Factors(ctx, s.AccountID)
	if err != nil {
		return err
	}
	v := view.FactorsView{MustEnrol: s.MustEnrol, Codes: codes, Now: a.Cfg.Now(), Wrong: wrong}
	for _, f := range factors {
		v.Rows = append(v.Rows, view.FactorRow{ID: f.ID, Name: f.Name, Passkey: f.Kind == store.FactorPasskey, Since: f.CreatedAt.Time, Used: f.UsedAt.Time})
	}
	return a.Render(c, status, view.FactorsPage(a.factorsPage(c, "account.factors", "account.factors-lead"), v))
}

// factorsPage is the frame of a page of factors.
func (a *logins) factorsPage(c echo.Context, title, lead i18n.Message) ui.Page {
	ctx := c.Request().Context()
	p := a.Page(c, title.In(ctx))
	p.Lead = lead.In(ctx)
	if !site.SessionOf(c).MustEnrol {
		p.Crumbs = append(p.Crumbs, ui.Crumb{Label: i18n.T(ctx, "account.title"), Href: "/account"})
		if title != "account.factors" {
			p.Crumbs = append(p.Crumbs, ui.Crumb{Label: i18n.T(ctx, "account.factors"), Href: site.FactorsPath})
		}
		p.Crumbs = append(p.Crumbs, ui.Crumb{Label: title.In(ctx)})
	}
	return p
}

// newFactor holds the name of a new factor, and the proof that it works.
type newFactor struct{ name, proof string }

// appForm shows the secret of a new authenticator app. It stays the same until a code of it was right, or it is asked for anew.
func (a *logins) appForm(c echo.Context) error {
	return a.showApp(c, http.StatusOK, newFactor{}, nil)
}

func (a *logins) showApp(c echo.Context, status int, in newFactor, wrong site.FormErrors) error {
	account, sealed := site.SessionOf(c).Account, a.KeptSealed(c, keptSecret)
	secret, uri, err := a.Cfg.Accounts.ShowTOTP(account, sealed)
	if err != nil {
		sealed, secret, uri = a.Cfg.Accounts.NewTOTP(account)
		a.KeepSealed(c, keptSecret, sealed)
	}
	code, err := qr.Encode(uri, qr.M)
	if err != nil {
		return fmt.Errorf("draw QR code: %w", err)
	}
	p := a.factorsPage(c, "account.app", "account.app-lead")
	p.Invalid = len(wrong) > 0
	return a.Render(c, status, view.AppPage(p, view.AppView{
		Name: in.name, Secret: inFours(secret), Size: code.Size, Path: qrPath(code), URI: uri, Wrong: wrong,
	}))
}

// qrPath draws the dark squares of a QR code as an SVG path, a row at a time.
func qrPath(code *qr.Code) string {
	var path strings.Builder
	for y := range code.Size {
		for x := 0; x < code.Size; x++ {
			from := x
			for x < code.Size && code.Black(x, y) {
				x++
			}
			if x > from {
				fmt.Fprintf(&path, "M%d %dh%dv1h-%dz", from, y, x-from, x-from)
			}
		}
	}
	return path.String()
}

// inFours writes a long text in groups that can be typed over.
func inFours(text string) string {
	var groups []string
	for ; len(text) > 4; text = text[4:] {
		groups = append(groups, text[:4])
	}
	return strings.Join(append(groups, text), " ")
}

// addApp adds the app that shows a right code.
func (a *logins) addApp(c echo.Context) error {
	read := func(form site.Form) newFactor { return newFactor{form.Get("name"), form.Raw("code")} }
	return site.Submit(c, read, func(in newFactor) error {
		s, sealed := site.SessionOf(c), a.KeptSealed(c, keptSecret)
		if sealed == "" {
			return c.Redirect(http.StatusSeeOther, site.FactorsPath+"/app")
		}
		codes, err := a.Cfg.Accounts.AddTOTP(c.Request().Context(), s, in.name, sealed, in.proof)
		if err != nil {
			return err
		}
		a.KeepSealed(c, keptSecret, "")
		return a.factorAdded(c, codes)
	}, a.showApp)
}

// passkeyForm asks a browser for a passkey.
func (a *logins) passkeyForm(c echo.Context) error {
	return a.showPasskey(c, http.StatusOK, newFactor{}, nil)
}

func (a *logins) showPasskey(c echo.Context, status int, in newFactor, wrong site.FormErrors) error {
	options, challenge, err := a.Cfg.Accounts.PasskeyOptions(c.Request().Context(), site.SessionOf(c).Account)
	if err != nil {
		return err
	}
	a.KeepChallenge(c, challenge)
	p := a.factorsPage(c, "account.passkey", "account.passkey-lead")
	p.Invalid = len(wrong) > 0
	return a.Render(c, status, view.PasskeyPage(p, view.PasskeyView{Name: in.name, Options: options, Wrong: wrong}))
}

// addPasskey adds the passkey that the browser made.
func (a *logins) addPasskey(c echo.Context) error {
	read := func(form site.Form) newFactor { return newFactor{form.Get("name"), form.Raw("passkey")} }
	return site.Submit(c, read, func(in newFactor) error {
		codes, err := a.Cfg.Accounts.AddPasskey(c.Request().Context(), site.SessionOf(c), in.name, in.proof, a.TakeChallenge(c))
		if err != nil {
			return err
		}
		return a.factorAdded(c, codes)
	}, a.showPasskey)
}

// factorAdded shows the recovery codes that came with the first factor, or the list.
func (a *logins) factorAdded(c echo.Context, codes []string) error {
	a.Flash(c, ui.KindOK, "account.factor-added")
	return a.showCodesNext(c, codes)
}

// newCodes replaces the recovery codes.
func (a *logins) newCodes(c echo.Context) error {
	codes, err := a.Cfg.Accounts.NewRecoveryCodes(c.Request().Context(), site.SessionOf(c).Account)
	if _, wrong := site.FormRefusal(err); wrong != nil {
		return a.showFactors(c, http.StatusConflict, wrong[""])
	}
	if err != nil {
		return err
	}
	return a.showCodesNext(c, codes)
}

func (a *logins) showCodesNext(c echo.Context, codes []string) error {
	if len(codes) == 0 {
		return c.Redirect(http.StatusSeeOther, site.FactorsPath)
	}
	a.KeepSealed(c, keptCodes, a.Cfg.Accounts.SealForm(site.SessionOf(c).AccountID, keptCodes, strings.Join(codes, " ")))
	return c.Redirect(http.StatusSeeOther, site.FactorsPath+"/codes")
}

// codes shows new recovery codes, once.
func (a *logins) codes(c echo.Context) error {
	text, err := a.Cfg.Accounts.OpenForm(site.SessionOf(c).AccountID, keptCodes, a.KeptSealed(c, keptCodes))
	if err != nil {
		return c.Redirect(http.StatusSeeOther, site.FactorsPath) // shown already
	}
	a.KeepSealed(c, keptCodes, "")
	account := site.SessionOf(c).Account
	p := a.factorsPage(c, "account.codes", "account.codes-lead")
	return a.Render(c, http.StatusOK, view.CodesPage(p, strings.Fields(text), site.HomeOf(&account)))
}

// removeFactor removes one of the own factors.
func (a *logins) removeFactor(c echo.Context) error {
	err := a.Cfg.Accounts.RemoveFactor(c.Request().Context(), site.SessionOf(c).Account, c.Param("id"))
	if _, wrong := site.FormRefusal(err); wrong != nil {
		return a.showFactors(c, http.StatusConflict, wrong[""])
	}
	if err != nil {
		return err
	}
	a.Flash(c, ui.KindOK, "account.factor-removed")
	return c.Redirect(http.StatusSeeOther, site.FactorsPath)
}
