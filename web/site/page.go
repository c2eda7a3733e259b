package site

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"
	"schakel/static"
	"schakel/store"
	"schakel/templates/i18n"
	"schakel/templates/ui"
)

// framePage is the frame of a page without what the previous page left to say.
func (a *App) framePage(c echo.Context, title string) ui.Page {
	account := a.CurrentAccount(c)
	return ui.Page{
		Title: title, Lang: string(i18n.From(c.Request().Context()).Lang), Here: here(c), At: a.Cfg.Now(), Version: a.Cfg.Version, Asset: static.Path, Branding: a.branding(),
		User: a.userView(c, account), Nav: a.navigation(c, account),
		Crumbs: []ui.Crumb{{Label: i18n.T(c.Request().Context(), "site.start"), Href: HomeOf(account)}},
	}
}

// The names of the files of a branding; a logo is one of two.
const (
	BrandingTheme = "theme.css"
	BrandingSVG   = "logo.svg"
	BrandingPNG   = "logo.png"
)

func (a *App) branding() ui.Branding {
	branding := a.Cfg.Branding
	return ui.Branding{Name: a.Cfg.Name, Theme: branding.Path(BrandingTheme), Logo: cmp.Or(branding.Path(BrandingSVG), branding.Path(BrandingPNG))}
}

// Page is the frame of a page for whoever is asking. It shows the message that
// the previous page left, once.
func (a *App) Page(c echo.Context, title string) ui.Page {
	p := a.framePage(c, title)
	ctx := c.Request().Context()
	if text := a.sessions.PopString(ctx, keyFlashText); text != "" {
		p.Flash = &ui.Flash{Kind: ui.Kind(a.sessions.PopString(ctx, keyFlashKind)), Text: i18n.Message(text)}
	}
	return p
}

// Flash leaves a message for the next page of this reader.
func (a *App) Flash(c echo.Context, kind ui.Kind, text i18n.Message) {
	ctx := c.Request().Context()
	a.sessions.Put(ctx, keyFlashKind, string(kind))
	a.sessions.Put(ctx, keyFlashText, string(text))
}

// Render writes a component as the answer. It is rendered whole first, so that a
// failure half-way is an error page and not half a page.
func (a *App) Render(c echo.Context, status int, component templ.Component) error {
	var b bytes.Buffer
	if err := component.Render(c.Request().Context(), &b); err != nil {
		return fmt.Errorf("render page: %w", err)
	}
	c.Response().Header().Set(echo.HeaderContentType, echo.MIMETextHTMLCharsetUTF8)
	c.Response().Status = status // goes out with the first byte, behind the headers of compression
	_, err := writeWhole(c.Response(), c.Request(), b.Bytes())
	return err
}

func (a *App) userView(c echo.Context, account *store.Account) *ui.UserView {
	if account == nil {
		return nil
	}
	view := &ui.UserView{Name: account.Name, Role: i18n.Of(c.Request().Context(), "site.role", account.Role)}
	if a.Cfg.Navigation != nil && account.PartnerID != "" {
		view.PartnerName = a.Cfg.Navigation.PartnerName(c.Request().Context(), account.PartnerID)
	}
	return view
}

// SortedFields lists what is wrong by field, in the order of their names.
func SortedFields(fields map[string]i18n.Message) []ui.FieldError {
	var list []ui.FieldError
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		list = append(list, ui.FieldError{Field: name, Text: fields[name]})
	}
	return list
}
