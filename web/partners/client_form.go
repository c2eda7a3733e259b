package partners

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"
	"schakel/registry/identity"
	"schakel/registry/identity/token"
	"schakel/store"
	"schakel/templates/i18n"
	view "schakel/templates/partners"
	"schakel/templates/ui"
	"schakel/web/site"
)

// newClient shows the form for another client.
func (d ownerPages) newClient(c echo.Context) error {
	if owner, err := d.Owner(c); err != nil || site.Waits(c.Request().Context(), owner) != "" {
		return d.Closed(c, err, "/clients")
	}
	in := identity.NewClient{AuthMethod: d.Registry.Clients.AuthMethods(c.Request().Context())[0]}
	if scopes, err := site.NewForm(c.QueryParams()); err == nil {
		in.Scopes = scopes.List("scopes") // that a link asks for; others are no boxes of the form
	}
	return d.showClientForm(c, http.StatusOK, store.Client{}, in, nil)
}

// createClient adds a client, and makes a key pair for one with private_key_jwt that brings no keys of its own. Its secret
// or private key is on the answer to this request, and never again: it is not put into the session on its way to another page.
func (d ownerPages) createClient(c echo.Context) error {
	owner, err := d.Owner(c)
	if err != nil {
		return err
	}
	return site.SubmitAbout(c, store.Client{}, readClient, func(in identity.NewClient) error {
		var pair token.KeyPair
		if in.AuthMethod == token.PrivateKeyJWT && strings.TrimSpace(in.JWKS) == "" && strings.TrimSpace(in.JWKSURI) == "" && !in.CertificateKeys {
			if pair, err = token.NewKeyPair(); err != nil {
				return err
			}
		}
		in.JWKS += pair.Public
		made, secret, err := d.Registry.Clients.Create(c.Request().Context(), site.Actor(c), owner.ID, in)
		switch {
		case err != nil:
			return d.Settled(c, err, d.Href("/clients"), "")
		case pair.Private != "":
			d.Engine.Changed()
			return d.showKey(c, owner, made, pair)
		case secret != "":
			d.Engine.Changed()
			return d.showClient(c, http.StatusOK, owner, made, func(v *view.ClientView) { v.Secret = secret })
		}
		return d.Done(c, d.Href("/clients/"+made.ID), i18n.M("partners.client.is-added", made.Name))
	}, d.showClientForm)
}

// editClient shows the form with what a client has and asked for.
func (d ownerPages) editClient(c echo.Context) error {
	owner, client, err := d.ownClient(c)
	if err != nil || site.Waits(c.Request().Context(), owner) != "" || client.Status != store.ClientActive {
		return d.Closed(c, err, "/clients/"+client.ID)
	}
	asked := identity.AskedKeys(client)
	return d.showClientForm(c, http.StatusOK, client, identity.NewClient{
		Name: client.Name, AuthMethod: client.AuthMethod, JWKS: asked.JWKS, JWKSURI: asked.JWKSURI,
		Scopes:             slices.Concat(client.Scopes, client.RequestedScopes),
		PublishTypes:       slices.Concat(client.PublishTypes, client.RequestedTypes),
		PublishSources:     slices.Concat(client.PublishSources, client.RequestedSources),
		CertificateSubject: asked.CertificateSubject, CertificateBound: asked.CertificateBound, DPoPBound: asked.DPoPBound, CertificateKeys: asked.CertificateKeys,
	}, nil)
}

// updateClient changes a client; what is new of it and not free is requested.
func (d ownerPages) updateClient(c echo.Context) error {
	_, client, err := d.ownClient(c)
	if err != nil {
		return err
	}
	read := func(form site.Form) identity.NewClient {
		in := readClient(form)
		in.AuthMethod = client.AuthMethod
		return in
	}
	return site.SubmitAbout(c, client, read, func(in identity.NewClient) error {
		changed, err := d.Registry.Clients.Update(c.Request().Context(), site.Actor(c), client.ID, in)
		text := i18n.Message("partners.client.saved")
		if err == nil && changed.Waiting() {
			text = "partners.client.saved-waits"
		}
		return d.Settled(c, err, d.Href("/clients/"+client.ID), text)
	}, d.showClientForm)
}

func readClient(form site.Form) identity.NewClient {
	return identity.NewClient{
		Name: form.Get("name"), AuthMethod: form.Get("authMethod"), JWKS: form.Get("jwks"), JWKSURI: form.Get("jwksUri"),
		Scopes: form.List("scopes"), PublishTypes: strings.Fields(form.Get("publishTypes")), PublishSources: strings.Fields(form.Get("publishSources")),
		SourceReason:       form.Get("sourceReason"),
		CertificateSubject: form.Get("certificateSubject"), CertificateBound: form.Get("certificateBound") != "", DPoPBound: form.Get("dpopBound") != "", CertificateKeys: form.Get("certificateKeys") != "",
	}
}

func (d ownerPages) showClientForm(c echo.Context, status int, client store.Client, in identity.NewClient, wrong site.FormErrors) error {
	decides := d.Registry.Clients.Decides(c.Request().Context(), site.Actor(c))
	v := view.ClientFormView{
		Action: d.Href("/clients"), Cancel: d.Href("/clients"), New: client.ID == "", Name: in.Name, Method: in.AuthMethod,
		JWKS: in.JWKS, JWKSURI: in.JWKSURI, Methods: clientMethods(c.Request().Context(), d.Registry.Clients.AuthMethods(c.Request().Context())), Scopes: d.scopeOptions(c.Request().Context(), in.Scopes, decides),
		PublishTypes: strings.Join(in.PublishTypes, "\n"), PublishSources: strings.Join(in.PublishSources, "\n"), Decides: decides, SourceReason: in.SourceReason, Wrong: wrong,
		Certificates: d.Registry.Clients.Certificates(), CertificateSubject: in.CertificateSubject, CertificateBound: in.CertificateBound, DPoPBound: in.DPoPBound, CertificateKeys: in.CertificateKeys,
	}
	title := i18n.T(c.Request().Context(), "partners.client.add-one")
	if client.ID != "" {
		title, v.Action, v.Cancel = i18n.T(c.Request().Context(), "partners.client.change"), d.Href("/clients/"+client.ID), d.Href("/clients/"+client.ID)
	}
	page := d.PageFrame(c, title, d.crumbsToClients(c.Request().Context(), client)...)
	page.Invalid = len(wrong) > 0
	return d.Render(c, status, view.ClientFormPage(page, v))
}

// scopeOptions explains each scope, and marks those that wait for an administrator.
func (d ownerPages) scopeOptions(ctx context.Context, chosen []string, decides bool) []ui.Option {
	var options []ui.Option
	free := d.Registry.Clients.FreeScopes(ctx)
	for _, s := range identity.AllScopes() {
		o := ui.Option{Value: s, Label: s, Hint: i18n.Of(ctx, "partners.scope", s), Selected: slices.Contains(chosen, s)}
		if !decides && !slices.Contains(free, s) {
			o.Hint = i18n.T(ctx, "partners.client.scope-waits", o.Hint)
		}
		options = append(options, o)
	}
	return options
}

// clientMethods lists the methods of authentication of a client of ours.
func clientMethods(ctx context.Context, methods []string) []ui.Option {
	var options []ui.Option
	for _, m := range methods {
		options = append(options, ui.Option{Value: m, Label: m, Hint: i18n.Of(ctx, "partners.client.method", m)})
	}
	return options
}
